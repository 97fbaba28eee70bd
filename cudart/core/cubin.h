// Reads NVIDIA's machine code, an ELF file ("cubin"): registers, for estimates of time, and the PTX that ptxas keeps in
// it for debuggers. Takes any bytes, reads none beyond them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace coalesce::cudart {

// Registers of a thread, by the kernel's name. What is malformed is left out.
std::map<std::string, uint32_t> registers_of_cubin(std::string_view cubin);

// The PTX that the machine code was made of, without comments and line directives: nvcc and ptxas keep it with
// -lineinfo or -G. Empty: it is not there.
std::string ptx_of_cubin(std::string_view cubin);

// A cubin in memory, whose own headers say how long it is; not more than `at_most` bytes (0: unknown). The header
// alone, or nothing, where the rest cannot be read.
std::string copy_of_cubin(const void* cubin, uint64_t at_most);

}  // namespace coalesce::cudart
