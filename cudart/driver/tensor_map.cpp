// Descriptions of tensors for bulk copies.
#include "machine/isa/tensor_map.h"

#include <cstdint>
#include <cstring>

#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {
namespace {

constexpr uintptr_t kMapAlignment = 64;  // bytes

CUresult encode(void* to, const machine::TensorWords& words, bool im2col) {
  if (to == nullptr || reinterpret_cast<uintptr_t>(to) % kMapAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  machine::TensorMap map;
  if (!machine::describe_tensor(words, im2col, map).empty()) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(to, &map, sizeof map);
  return CUDA_SUCCESS;
}

}  // namespace

COALESCE_API CUresult cuTensorMapEncodeTiled(void* map, unsigned type, uint32_t rank, void* address,
                                             const uint64_t* dims, const uint64_t* strides, const uint32_t* box,
                                             const uint32_t* steps, unsigned interleave, unsigned swizzle, unsigned l2,
                                             unsigned fill) {
  machine::TensorWords w;
  w.type = type, w.rank = rank, w.address = reinterpret_cast<uint64_t>(address);
  w.dims = dims, w.strides = strides, w.box = box, w.steps = steps;
  w.interleave = interleave, w.swizzle = swizzle, w.l2 = l2, w.fill = fill;
  return encode(map, w, false);
}

COALESCE_API CUresult cuTensorMapEncodeIm2col(void* map, unsigned type, uint32_t rank, void* address,
                                              const uint64_t* dims, const uint64_t* strides, const int32_t* lower,
                                              const int32_t* upper, uint32_t channels, uint32_t pixels,
                                              const uint32_t* steps, unsigned interleave, unsigned swizzle, unsigned l2,
                                              unsigned fill) {
  machine::TensorWords w;
  w.type = type, w.rank = rank, w.address = reinterpret_cast<uint64_t>(address);
  w.dims = dims, w.strides = strides, w.lower = lower, w.upper = upper, w.channels = channels, w.pixels = pixels;
  w.steps = steps, w.interleave = interleave, w.swizzle = swizzle, w.l2 = l2, w.fill = fill;
  return encode(map, w, true);
}

COALESCE_API CUresult cuTensorMapReplaceAddress(void* map, void* address) {
  machine::TensorMap m;
  if (map == nullptr || reinterpret_cast<uintptr_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(&m, map, sizeof m);
  if (!m.valid()) return CUDA_ERROR_INVALID_VALUE;
  m.address = reinterpret_cast<uint64_t>(address);
  std::memcpy(map, &m, sizeof m);
  return CUDA_SUCCESS;
}

}  // namespace coalesce::cudart
