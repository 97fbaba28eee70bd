// Ctrl-C during a launch: the launch ends early, what it counted is recorded, then the signal does what it would have
// done.
#pragma once

#include "machine/api/machine.h"

namespace coalesce::cudart {

// While it lives, SIGINT and SIGTERM stop the machine's running launch. Signals that the program handles or ignores
// itself are left alone. The handlers stay: at other times they do as the default does. Under the runtime's lock.
class InterruptGuard {
 public:
  explicit InterruptGuard(machine::Machine& machine);
  ~InterruptGuard() { release(); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Returns the signal that came, or 0.
  int release();
};

// Ends the process as `signal` does by default.
void raise_default(int signal);

}  // namespace coalesce::cudart
