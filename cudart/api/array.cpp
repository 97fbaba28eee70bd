#include "cudart/api/array.h"

#include <memory>
#include <unordered_map>

#include "cudart/api/capture.h"
#include "cudart/api/memory.h"
#include "cudart/api/stream.h"

namespace coalesce::cudart {
namespace {

constexpr size_t kRowAlignment = 32;  // bytes

struct Arrays {
  std::unordered_map<const cudaArray*, std::unique_ptr<cudaArray>> all;
};
auto& arrays() { return held<Arrays>().all; }

// Limits are cudaDeviceProp's maxTexture1D, maxTexture2D, maxTexture2DGather, maxTexture3D, maxTexture3DAlt and
// maxTexture2DLayered.
bool fits_a_texture(const cudaExtent& e, unsigned flags) {
  const bool layered = (flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
  if ((flags & cudaArrayTextureGather) != 0)
    return !layered && e.depth == 0 && e.height != 0 && e.width <= 32768 && e.height <= 32768;
  if (layered) return e.width <= 32768 && e.height <= 32768 && e.depth != 0 && e.depth <= 2048;
  if (e.depth != 0 && e.height == 0) return false;
  if (e.depth > 16384) return e.width <= 8192 && e.height <= 8192 && e.depth <= 32768;
  if (e.depth != 0) return e.width <= 16384 && e.height <= 16384;
  return e.width <= 131072 && e.height <= 65536;
}

bool fits(size_t at, size_t count, size_t size) { return at <= size && count <= size - at; }

cudaError_t make(cudaArray** out, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags,
                 const char* name) {
  if (out == nullptr || format == nullptr) return note(cudaErrorInvalidValue);
  return call_outside_captures([&](Runtime& r) {
    *out = nullptr;
    if (flags > cudaArrayFlags) return cudaErrorInvalidValue;
    const size_t texel = texel_bytes(*format);
    if (texel == 0) return cudaErrorInvalidChannelDescriptor;
    if (extent.width == 0 || !fits_a_texture(extent, flags)) return cudaErrorInvalidValue;
    if ((flags & cudaArrayCubemap) != 0 && (extent.width != extent.height || extent.depth % 6 != 0)) {
      return cudaErrorInvalidValue;
    }
    auto array = std::make_unique<cudaArray>();
    *array = {*format, extent, flags};
    size_t bytes = 0;
    if (__builtin_mul_overflow(extent.width, texel, &bytes) || bytes > SIZE_MAX - kRowAlignment) {
      return cudaErrorMemoryAllocation;
    }
    array->row = (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
    if (__builtin_mul_overflow(array->row, array->rows(), &array->slice) ||
        __builtin_mul_overflow(array->slice, array->slices(), &bytes)) {
      return cudaErrorMemoryAllocation;
    }
    void* at = nullptr;
    if (const cudaError_t error = allocate(r, &at, bytes, machine::Origin::device, name); error != cudaSuccess) {
      return error;
    }
    array->address = address_of(at);
    *out = array.get();
    arrays()[*out] = std::move(array);
    return cudaSuccess;
  });
}

}  // namespace

size_t texel_bytes(const cudaChannelFormatDesc& f) {
  if (f.f < cudaChannelFormatKindSigned || f.f > cudaChannelFormatKindFloat) return 0;
  if (f.x != 8 && f.x != 16 && f.x != 32) return 0;
  if (f.f == cudaChannelFormatKindFloat && f.x == 8) return 0;
  const bool one = f.y == 0 && f.z == 0 && f.w == 0, two = f.y == f.x && f.z == 0 && f.w == 0;
  const bool four = f.y == f.x && f.z == f.x && f.w == f.x;
  return static_cast<size_t>(f.x) / 8 * (one ? 1 : two ? 2 : four ? 4 : 0);
}

bool is_array(const cudaArray* array) { return arrays().contains(array); }

bool layout_of_array(const cudaArray& a, const cudaPos& at, const cudaExtent& extent, Layout& out) {
  if (!fits(at.x, extent.width, a.extent.width) || !fits(at.y, extent.height, a.rows()) ||
      !fits(at.z, extent.depth, a.slices())) {
    return false;
  }
  out = {a.address + at.z * a.slice + at.y * a.row + at.x * texel_bytes(a.format), a.row, a.slice};
  return true;
}

COALESCE_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

COALESCE_API cudaError_t cudaMallocArray(cudaArray** array, const cudaChannelFormatDesc* format, size_t width,
                                         size_t height, unsigned flags) {
  return make(array, format, {width, height, 0}, flags, "cudaMallocArray");
}
COALESCE_API cudaError_t cudaMalloc3DArray(cudaArray** array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                           unsigned flags) {
  return make(array, format, extent, flags, "cudaMalloc3DArray");
}

COALESCE_API cudaError_t cudaFreeArray(cudaArray* array) {
  return call_outside_captures([&](Runtime& r) {
    if (array == nullptr) return cudaSuccess;
    if (!is_array(array)) return cudaErrorInvalidResourceHandle;
    r.memory().release(array->address);
    arrays().erase(array);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                                          cudaArray* array) {
  return call([&](Runtime&) {
    if (!is_array(array)) return cudaErrorInvalidResourceHandle;
    if (format != nullptr) *format = array->format;
    if (extent != nullptr) *extent = array->extent;
    if (flags != nullptr) *flags = array->flags;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, const cudaArray* array) {
  if (format == nullptr) return note(cudaErrorInvalidValue);
  return cudaArrayGetInfo(format, nullptr, nullptr, const_cast<cudaArray*>(array));
}

namespace {

// `x` and `box.width` are in bytes here.
cudaError_t copy_array(const cudaArray* array, size_t x, size_t y, Box box, const Layout& other, bool to_array,
                       cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&](Runtime& r) {
    if (!is_array(array)) return cudaErrorInvalidResourceHandle;
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (!fits(x, box.width, array->extent.width * texel_bytes(array->format)) || !fits(y, box.height, array->rows())) {
      return cudaErrorInvalidValue;
    }
    const Layout ours{array->address + y * array->row + x, array->row};
    return submit(r, stream, CopyOperation{box, to_array ? ours : other, to_array ? other : ours, kind});
  });
}

// `count` bytes that run on from row to row.
cudaError_t copy_line(const cudaArray* array, size_t x, size_t y, uint64_t other, size_t count, bool to_array,
                      cudaMemcpyKind kind, cudaStream_t stream) {
  size_t row = 0;
  const cudaError_t known = call([&](Runtime&) {
    if (!is_array(array)) return cudaErrorInvalidResourceHandle;
    row = array->extent.width * texel_bytes(array->format);
    return x < row ? cudaSuccess : cudaErrorInvalidValue;
  });
  if (known != cudaSuccess) return known;
  while (count > 0) {
    const bool whole_rows = x == 0 && count >= row;
    const Box box = whole_rows ? Box{row, count / row} : Box{count < row - x ? count : row - x};
    if (const cudaError_t error = copy_array(array, x, y, box, {other, row}, to_array, kind, stream);
        error != cudaSuccess) {
      return error;
    }
    other += box.bytes();
    count -= box.bytes();
    y += box.height;
    x = 0;
  }
  return cudaSuccess;
}

}  // namespace

COALESCE_API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray* to, size_t x, size_t y, const void* from, size_t pitch,
                                                  size_t width, size_t height, cudaMemcpyKind kind,
                                                  cudaStream_t stream) {
  if (width > pitch) return note(cudaErrorInvalidPitchValue);
  return copy_array(to, x, y, {width, height}, {address_of(from), pitch}, true, kind, stream);
}
COALESCE_ALIAS(cudaMemcpy2DToArrayAsync_ptsz, cudaMemcpy2DToArrayAsync);
COALESCE_API cudaError_t cudaMemcpy2DToArray(cudaArray* to, size_t x, size_t y, const void* from, size_t pitch,
                                             size_t width, size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArray);

COALESCE_API cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, const cudaArray* from, size_t x, size_t y,
                                                    size_t width, size_t height, cudaMemcpyKind kind,
                                                    cudaStream_t stream) {
  if (width > pitch) return note(cudaErrorInvalidPitchValue);
  return copy_array(from, x, y, {width, height}, {address_of(to), pitch}, false, kind, stream);
}
COALESCE_ALIAS(cudaMemcpy2DFromArrayAsync_ptsz, cudaMemcpy2DFromArrayAsync);
COALESCE_API cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, const cudaArray* from, size_t x, size_t y,
                                               size_t width, size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpy2DFromArray_ptds, cudaMemcpy2DFromArray);

COALESCE_API cudaError_t cudaMemcpyToArrayAsync(cudaArray* to, size_t x, size_t y, const void* from, size_t count,
                                                cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_line(to, x, y, address_of(from), count, true, kind, stream);
}
COALESCE_ALIAS(cudaMemcpyToArrayAsync_ptsz, cudaMemcpyToArrayAsync);
COALESCE_API cudaError_t cudaMemcpyToArray(cudaArray* to, size_t x, size_t y, const void* from, size_t count,
                                           cudaMemcpyKind kind) {
  return cudaMemcpyToArrayAsync(to, x, y, from, count, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpyToArray_ptds, cudaMemcpyToArray);

COALESCE_API cudaError_t cudaMemcpyFromArrayAsync(void* to, const cudaArray* from, size_t x, size_t y, size_t count,
                                                  cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_line(from, x, y, address_of(to), count, false, kind, stream);
}
COALESCE_ALIAS(cudaMemcpyFromArrayAsync_ptsz, cudaMemcpyFromArrayAsync);
COALESCE_API cudaError_t cudaMemcpyFromArray(void* to, const cudaArray* from, size_t x, size_t y, size_t count,
                                             cudaMemcpyKind kind) {
  return cudaMemcpyFromArrayAsync(to, from, x, y, count, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpyFromArray_ptds, cudaMemcpyFromArray);

COALESCE_API cudaError_t cudaMemcpy2DArrayToArray(cudaArray* to, size_t to_x, size_t to_y, const cudaArray* from,
                                                  size_t from_x, size_t from_y, size_t width, size_t height,
                                                  cudaMemcpyKind kind) {
  Layout source;
  const cudaError_t known = call([&](Runtime&) {
    if (!is_array(from)) return cudaErrorInvalidResourceHandle;
    if (!fits(from_x, width, from->extent.width * texel_bytes(from->format)) || !fits(from_y, height, from->rows())) {
      return cudaErrorInvalidValue;
    }
    source = {from->address + from_y * from->row + from_x, from->row};
    return cudaSuccess;
  });
  return known != cudaSuccess ? known : copy_array(to, to_x, to_y, {width, height}, source, true, kind, nullptr);
}
COALESCE_ALIAS(cudaMemcpy2DArrayToArray_ptds, cudaMemcpy2DArrayToArray);

}  // namespace coalesce::cudart
