// Modules that programs load at run time, for the runtime's API and the driver's.
#pragma once

#include <string>

#include "cudart/core/runtime.h"

namespace coalesce::cudart {

// Loads an image that the library owns from now on. `problem`: why that is not possible. Under the lock.
cudaError_t load_library(Runtime& r, cudaLibrary_t* library, std::string image, std::string& problem);

}  // namespace coalesce::cudart
