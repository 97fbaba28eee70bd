// The driver's functions by name.
#pragma once

#include <string_view>

namespace coalesce::cudart {

// The newest form of the function that a client of CUDA `version` (12000: 12.0) knows. Null: none.
const void* driver_function(std::string_view name, unsigned version, bool per_thread_stream);

}  // namespace coalesce::cudart
