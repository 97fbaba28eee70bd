// Modules that programs load at run time, for the runtime's API and the driver's.
#pragma once

#include <string>

#include "cudart/core/runtime.h"

namespace coalesce::cudart {

// When code that cannot be compiled is refused: a module at once, a library when something of it is asked for.
enum class Refuse { now, when_used };

// Loads an image that the library owns from now on. `most_registers`: of a thread, 0 for as many as it needs.
// `problem`: why it cannot be loaded. Under the lock.
cudaError_t load_library(Runtime& r, cudaLibrary_t* library, std::string image, uint32_t most_registers, Refuse when,
                         std::string& problem);

}  // namespace coalesce::cudart
