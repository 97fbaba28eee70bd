// Ctrl-C during a launch: the launch ends early, what it counted is recorded, then the signal does what it would have
// done.
#pragma once

#include <signal.h>

#include "machine/machine.h"

namespace coalesce::cudart {

// While it lives, SIGINT and SIGTERM stop the machine's running launch. Signals that the program handles or ignores
// itself are left alone.
class InterruptGuard {
 public:
  explicit InterruptGuard(machine::Machine& machine);
  ~InterruptGuard() { release(); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Restores the program's handling. Returns the signal that came, or 0.
  int release();

 private:
  struct sigaction before_[2];
  bool installed_[2] = {false, false};
};

// Ends the process as `signal` does by default.
void raise_default(int signal);

}  // namespace coalesce::cudart
