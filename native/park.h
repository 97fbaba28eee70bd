// A process may end while a kernel is being compiled. LLVM's own destructors would then run under the compiler's feet,
// and waiting for it would keep a program from ending: so the compiling thread stops for good between two passes, where
// it holds no lock, and the process ends without it.
#pragma once

namespace coalesce::native {

// While one lives, the process does not run its exit handlers before the thread has parked (or is through).
class Compiling {
 public:
  Compiling();
  ~Compiling();
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;
};

// Asks the exit to wait for Compiling. To be called after LLVM has been loaded: exit handlers run last to first. Again
// is no harm.
void park_at_exit();

// Between two passes: returns at once, or, when the process is ending, never.
void park_here(void*);

}  // namespace coalesce::native
