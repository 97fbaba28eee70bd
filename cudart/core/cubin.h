// Reads NVIDIA's machine code, an ELF file ("cubin"): registers and sizes, for estimates of time, and the PTX that
// ptxas keeps in it for debuggers. Takes any bytes, reads none beyond them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine/api/machine_code.h"

namespace coalesce::cudart {

// The kernels that say how many registers they need. What is malformed is left out.
machine::MachineCodes machine_code_of_cubin(std::string_view cubin);

// The PTX that the machine code was made of, without comments and line directives: nvcc and ptxas keep it with
// -lineinfo or -G. Empty: it is not there.
std::string ptx_of_cubin(std::string_view cubin);

// A cubin in memory, whose own headers say how long it is; not more than `at_most` bytes (0: unknown). The header
// alone, or nothing, where the rest cannot be read.
std::string copy_of_cubin(const void* cubin, uint64_t at_most);

}  // namespace coalesce::cudart
