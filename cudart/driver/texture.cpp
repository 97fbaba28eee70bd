// Arrays, texture objects and surface objects: the runtime's, described in the driver's words.
#include "cudart/api/texture.h"

#include <array>
#include <atomic>
#include <cstdio>

#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {
namespace {

struct Format {
  int number, bits;
  cudaChannelFormatKind kind;
};
constexpr Format kFormats[] = {{0x01, 8, cudaChannelFormatKindUnsigned},  {0x02, 16, cudaChannelFormatKindUnsigned},
                               {0x03, 32, cudaChannelFormatKindUnsigned}, {0x08, 8, cudaChannelFormatKindSigned},
                               {0x09, 16, cudaChannelFormatKindSigned},   {0x0a, 32, cudaChannelFormatKindSigned},
                               {0x10, 16, cudaChannelFormatKindFloat},    {0x20, 32, cudaChannelFormatKindFloat}};

// Zeros: no format that is known.
cudaChannelFormatDesc channels(int format, unsigned count) {
  for (const Format& f : kFormats)
    if (f.number == format && (count == 1 || count == 2 || count == 4))
      return {f.bits, count > 1 ? f.bits : 0, count > 2 ? f.bits : 0, count > 2 ? f.bits : 0, f.kind};
  return {};
}

CUresult describe(CUDA_ARRAY3D_DESCRIPTOR* out, cudaArray* array) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaChannelFormatDesc format{};
  cudaExtent extent{};
  unsigned flags = 0;
  const CUresult result = in_context([&] { return cudaArrayGetInfo(&format, &extent, &flags, array); });
  if (result != CUDA_SUCCESS) return result;
  *out = {extent.width, extent.height, extent.depth, 0, format.z != 0 ? 4u : format.y != 0 ? 2u : 1u, flags};
  for (const Format& f : kFormats)
    if (f.bits == format.x && f.kind == format.f) out->Format = f.number;
  return CUDA_SUCCESS;
}

CUresult translate(const CUDA_RESOURCE_DESC* from, cudaResourceDesc& to) {
  if (from == nullptr || from->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  to = {};
  to.resType = static_cast<cudaResourceType>(from->resType);
  switch (to.resType) {
    case cudaResourceTypeArray:
      to.res.array.array = from->res.array.hArray;
      return CUDA_SUCCESS;
    case cudaResourceTypeLinear: {
      const auto& l = from->res.linear;
      to.res.linear = {pointer_of(l.devPtr), channels(l.format, l.numChannels), l.sizeInBytes};
      return CUDA_SUCCESS;
    }
    case cudaResourceTypePitch2D: {
      const auto& p = from->res.pitch2D;
      to.res.pitch2D = {pointer_of(p.devPtr), channels(p.format, p.numChannels), p.width, p.height, p.pitchInBytes};
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_NOT_SUPPORTED;  // mipmapped arrays
  }
}

// True if texels are integers of fewer than 32 bits, which may be read as integers or as fractions.
bool holds_integers(const CUDA_RESOURCE_DESC& r, const cudaResourceDesc& same) {
  cudaChannelFormatDesc format{};
  if (same.resType == cudaResourceTypeArray) {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (describe(&d, r.res.array.hArray) == CUDA_SUCCESS) format = channels(d.Format, d.NumChannels);
  } else {
    format = same.resType == cudaResourceTypeLinear ? same.res.linear.desc : same.res.pitch2D.desc;
  }
  return format.f != cudaChannelFormatKindFloat && format.x < 32;
}

}  // namespace

COALESCE_API CUresult cuArray3DCreate_v2(cudaArray** array, const CUDA_ARRAY3D_DESCRIPTOR* d) {
  if (array == nullptr || d == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaChannelFormatDesc format = channels(d->Format, d->NumChannels);
  if (format.x == 0) return CUDA_ERROR_INVALID_VALUE;
  return in_context([&] { return cudaMalloc3DArray(array, &format, {d->Width, d->Height, d->Depth}, d->Flags); });
}
COALESCE_API CUresult cuArrayCreate_v2(cudaArray** array, const CUDA_ARRAY_DESCRIPTOR* d) {
  if (d == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR same{d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
  return cuArray3DCreate_v2(array, &same);
}
COALESCE_API CUresult cuArrayDestroy(cudaArray* array) {
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return after_init([&] { return cudaFreeArray(array); });
}
COALESCE_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, cudaArray* array) {
  return describe(out, array);
}
COALESCE_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, cudaArray* array) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR d{};
  const CUresult result = describe(&d, array);
  if (result == CUDA_SUCCESS) *out = {d.Width, d.Height, d.Format, d.NumChannels};
  return result;
}

COALESCE_API CUresult cuTexObjectCreate(unsigned long long* texture, const CUDA_RESOURCE_DESC* resource,
                                        const CUDA_TEXTURE_DESC* how, const void* view) {
  if (texture == nullptr || how == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaResourceDesc same{};
  if (const CUresult result = translate(resource, same); result != CUDA_SUCCESS) return result;
  cudaTextureDesc t{};
  std::copy_n(how->addressMode, 3, t.addressMode);
  std::copy_n(how->borderColor, 4, t.borderColor);
  t.filterMode = how->filterMode;
  t.sRGB = (how->flags & CU_TRSF_SRGB) != 0;
  t.normalizedCoords = (how->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  const bool as_fractions = (how->flags & CU_TRSF_READ_AS_INTEGER) == 0 && holds_integers(*resource, same);
  t.readMode = as_fractions ? cudaReadModeNormalizedFloat : 0;
  t.maxAnisotropy = how->maxAnisotropy;
  return in_context([&] { return create_texture(texture, &same, &t, view, true); });
}
COALESCE_API CUresult cuTexObjectDestroy(unsigned long long texture) {
  return after_init([&] { return cudaDestroyTextureObject(texture); });
}
COALESCE_API CUresult cuSurfObjectCreate(unsigned long long* surface, const CUDA_RESOURCE_DESC* resource) {
  cudaResourceDesc same{};
  if (const CUresult result = translate(resource, same); result != CUDA_SUCCESS) return result;
  return in_context([&] { return cudaCreateSurfaceObject(surface, &same); });
}
COALESCE_API CUresult cuSurfObjectDestroy(unsigned long long surface) {
  return after_init([&] { return cudaDestroySurfaceObject(surface); });
}

}  // namespace coalesce::cudart
