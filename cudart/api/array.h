// CUDA arrays: texels in rows and slices of an allocation of the device.
#pragma once

#include "cudart/api/range.h"
#include "cudart/api/texture_abi.h"

namespace coalesce::cudart {

struct cudaArray {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // in texels, as the program gave it: 0 for the dimensions it does not have
  unsigned flags = 0;
  uint64_t address = 0;
  size_t row = 0, slice = 0;  // bytes from row to row, from slice to slice

  size_t rows() const { return extent.height != 0 ? extent.height : 1; }
  size_t slices() const { return extent.depth != 0 ? extent.depth : 1; }
};

// Bytes of a texel. 0: 1, 2 or 4 channels of 8, 16 or 32 bits are what there is.
size_t texel_bytes(const cudaChannelFormatDesc& format);
bool is_array(const cudaArray* array);
// The place of texel `at`, for a copy of `extent` texels from there. False: it does not fit.
bool layout_of_array(const cudaArray& array, const cudaPos& at, const cudaExtent& extent, Layout& out);

}  // namespace coalesce::cudart
