// Finds the PTX text behind an address that start-up code registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coalesce::cudart {

struct Image {
  std::vector<std::string> ptx;  // the texts to load; several for programs of separately compiled files
  std::string problem, hint;     // where `ptx` is empty: why, and what to do about it, a line each
};

// `image`: a wrapper (what __cudaRegisterFatBinary gets), a fat binary, or PTX text. Reads only memory that is mapped:
// inside a loaded file no further than its segment, otherwise no further than `bytes` (0: unknown, the image itself is
// trusted to say). Throws FatbinError.
Image read_image(const void* image, size_t bytes, uint32_t major, uint32_t minor);

}  // namespace coalesce::cudart
