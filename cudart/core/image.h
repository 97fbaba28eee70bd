// Finds the PTX text behind an address that start-up code registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/api/machine_code.h"

namespace coalesce::cudart {

struct Image {
  std::vector<std::string> ptx;  // the texts to load; several for programs of separately compiled files
  uint32_t most_registers = 0;   // of a thread, 0: as many as it needs
  std::string problem, hint;     // where `ptx` is empty: why, and what to do about it, a line each
  bool newer = false;            // and it is text for an architecture that the device is not
};

// `image`: a wrapper (what __cudaRegisterFatBinary gets), a fat binary, PTX text, or what linked_image() made. Reads
// only memory that is mapped: inside a loaded file no further than its segment, otherwise no further than `bytes` (0:
// unknown, the image itself is trusted to say). Throws FatbinError.
Image read_image(const void* image, size_t bytes, uint32_t major, uint32_t minor);

// The machine code of an architecture (90: 9.0) that the image has beside its PTX. Empty: it has none. Does not throw.
machine::MachineCodes machine_code_in(const void* image, size_t bytes, uint32_t architecture);

// 121: the PTX of this wrapper or fat binary is for compute_121 and later only, and `device` (90: 9.0) is older. 0:
// there is PTX that the device can take, or none at all. Does not throw.
uint32_t needed_architecture(const void* image, uint32_t device);

// The image as a copy that needs nothing of the caller's but what a wrapper points to. Throws FatbinError.
std::string copy_image(const void* image, size_t bytes);

// Several texts as one image: what linking at run time (cuLink) makes.
std::string linked_image(const std::vector<std::string>& ptx, uint32_t most_registers);

}  // namespace coalesce::cudart
