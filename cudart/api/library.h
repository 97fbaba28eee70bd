// Modules that programs load at run time, for the runtime's API and the driver's.
#pragma once

#include <string>

#include "cudart/core/runtime.h"

namespace coalesce::cudart {

// Loads an image that the library owns from now on. `most_registers`: of a thread, 0 for as many as it needs.
// `problem`: why it cannot be loaded. Under the lock.
cudaError_t load_library(Runtime& r, cudaLibrary_t* library, std::string image, uint32_t most_registers,
                         std::string& problem);

}  // namespace coalesce::cudart
