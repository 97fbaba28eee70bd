// Reads NVIDIA's machine code, an ELF file ("cubin"), as far as estimates of time need it. Takes any bytes, reads none
// beyond them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace coalesce::cudart {

// Registers of a thread, by the kernel's name. What is malformed is left out.
std::map<std::string, uint32_t> registers_of_cubin(std::string_view cubin);

}  // namespace coalesce::cudart
