// Texture and surface objects: arrays or memory, and how kernels read them. One level of detail; no colour spaces.
#include "cudart/api/texture.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "cudart/api/array.h"
#include "cudart/api/unsupported.h"
#include "cudart/api/version.h"

namespace coalesce::cudart {
namespace {

struct Object {
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};  // of textures
  bool is_surface = false;
};

struct TextureObjects {
  std::unordered_map<unsigned long long, Object> all;
};
auto& objects() { return held<TextureObjects>().all; }

// Limits of textures of memory that is no array: alignments in bytes, the most texels and bytes, and those of a pitched
// texture.
constexpr size_t kAlignment = 512, kPitchAlignment = 32;
constexpr size_t kMostTexels = size_t{1} << 30, kMostBytes = size_t{1} << 32;
constexpr size_t kMostWidth = 131072, kMostHeight = 65000, kMostPitch = 2097120;

size_t most_texels(const cudaChannelFormatDesc& format) {
  return std::min(kMostTexels, kMostBytes / texel_bytes(format));
}

// Allocations begin at multiples of the alignment on a GPU, here at smaller ones: the offset counts.
bool is_aligned(Runtime& r, uint64_t address) {
  const machine::Allocation* a = r.memory().find(address);
  return (a == nullptr ? address : address - a->base) % kAlignment == 0;
}

bool fits(Runtime& r, const cudaResourceDesc& resource, const machine::Texture& t,
          const cudaChannelFormatDesc& format) {
  if (resource.resType == cudaResourceTypeArray) return true;
  if (!is_aligned(r, t.address)) return false;
  if (resource.resType == cudaResourceTypeLinear)
    return resource.res.linear.sizeInBytes / texel_bytes(format) <= most_texels(format);
  const auto& p = resource.res.pitch2D;
  return p.pitchInBytes % kPitchAlignment == 0 && p.pitchInBytes <= kMostPitch && p.width <= kMostWidth &&
         p.height <= kMostHeight;
}

// The resource's texels. cudaErrorNotSupported: mipmapped arrays.
cudaError_t texels(Runtime& r, const cudaResourceDesc& resource, machine::Texture& t) {
  cudaChannelFormatDesc format{};
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const cudaArray* a = resource.res.array.array;
      if (!is_array(a)) return cudaErrorInvalidResourceHandle;
      format = a->format;
      t.address = a->address;
      t.row = a->row;
      t.slice = a->slice;
      t.size = {static_cast<uint32_t>(a->extent.width), static_cast<uint32_t>(a->rows()),
                static_cast<uint32_t>(a->slices())};
      break;
    }
    case cudaResourceTypeLinear:
      format = resource.res.linear.desc;
      t.address = address_of(resource.res.linear.devPtr);
      if (texel_bytes(format) != 0)
        t.size[0] = static_cast<uint32_t>(resource.res.linear.sizeInBytes / texel_bytes(format));
      break;
    case cudaResourceTypePitch2D:
      format = resource.res.pitch2D.desc;
      t.address = address_of(resource.res.pitch2D.devPtr);
      t.row = resource.res.pitch2D.pitchInBytes;
      t.size = {static_cast<uint32_t>(resource.res.pitch2D.width), static_cast<uint32_t>(resource.res.pitch2D.height),
                1};
      break;
    case cudaResourceTypeMipmappedArray:
      return cudaErrorNotSupported;
    default:
      return cudaErrorInvalidValue;
  }
  if (texel_bytes(format) == 0) return cudaErrorInvalidChannelDescriptor;
  if (t.address == 0 || t.size[0] == 0 || t.size[1] == 0 || !fits(r, resource, t, format)) return cudaErrorInvalidValue;
  t.channel_bytes = static_cast<uint8_t>(format.x / 8);
  t.channels = static_cast<uint8_t>(texel_bytes(format) / t.channel_bytes);
  t.kind = format.f == cudaChannelFormatKindFloat    ? machine::TexelKind::real
           : format.f == cudaChannelFormatKindSigned ? machine::TexelKind::signed_integer
                                                     : machine::TexelKind::unsigned_integer;
  return cudaSuccess;
}

cudaError_t reading(const cudaTextureDesc& d, bool mixes_integers, machine::Texture& t) {
  for (int k = 0; k < 3; ++k) {
    if (d.addressMode[k] < 0 || d.addressMode[k] > 3) return cudaErrorInvalidValue;
    t.mode[static_cast<size_t>(k)] = static_cast<machine::AddressMode>(d.addressMode[k]);
  }
  std::memcpy(t.border.data(), d.borderColor, sizeof d.borderColor);
  if (d.filterMode != cudaFilterModePoint && d.filterMode != cudaFilterModeLinear) return cudaErrorInvalidValue;
  t.linear = d.filterMode == cudaFilterModeLinear;
  t.normalised = d.normalizedCoords != 0;
  t.fractions = d.readMode == cudaReadModeNormalizedFloat;
  const bool real = t.kind == machine::TexelKind::real, narrow = !real && t.channel_bytes < 4;
  if (t.linear && !real && !(t.fractions && narrow) && !mixes_integers) return cudaErrorInvalidFilterSetting;
  return t.fractions && !narrow ? cudaErrorInvalidNormSetting : cudaSuccess;
}

cudaError_t keep(Runtime& r, unsigned long long* handle, const machine::Texture& t, const Object& object) {
  *handle = r.machine().textures().add(t);
  objects()[*handle] = object;
  return cudaSuccess;
}

cudaError_t destroy(unsigned long long handle, bool surface) {
  return call([&](Runtime& r) {
    if (handle == 0) return cudaSuccess;
    const auto at = objects().find(handle);
    if (at == objects().end()) return cudaSuccess;
    if (at->second.is_surface != surface) return cudaErrorInvalidValue;
    objects().erase(at);
    r.machine().textures().remove(handle);
    return cudaSuccess;
  });
}

template <typename T>
cudaError_t describe(T* out, size_t bytes, unsigned long long handle, bool surface, T Object::* what) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    const auto at = objects().find(handle);
    if (at == objects().end() || at->second.is_surface != surface) return cudaErrorInvalidValue;
    std::memcpy(out, &(at->second.*what), bytes);
    return cudaSuccess;
  });
}

size_t texture_desc_bytes() {
  return runtime_version() >= 12000 ? sizeof(cudaTextureDesc) : offsetof(cudaTextureDesc, seamlessCubemap);
}

}  // namespace

cudaError_t create_texture(unsigned long long* handle, const cudaResourceDesc* resource, const cudaTextureDesc* texture,
                           const void* view, bool mixes_integers) {
  static std::atomic<bool> said{false};
  if (handle == nullptr || resource == nullptr) return note(cudaErrorInvalidValue);
  if (texture == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (view != nullptr) return refuse("cudaCreateTextureObject with a resource view", said);
  if (texture->sRGB != 0) return refuse("cudaCreateTextureObject with sRGB", said);
  if (resource->resType == cudaResourceTypeMipmappedArray) return refuse("cudaCreateTextureObject with mipmaps", said);
  return call([&](Runtime& r) {
    machine::Texture t;
    if (const cudaError_t error = texels(r, *resource, t); error != cudaSuccess) return error;
    if (const cudaError_t error = reading(*texture, mixes_integers, t); error != cudaSuccess) return error;
    Object object{*resource};
    std::memcpy(&object.texture, texture, texture_desc_bytes());
    return keep(r, handle, t, object);
  });
}

COALESCE_API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* format,
                                                              int device) {
  if (width == nullptr || format == nullptr) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (!r.is_device(device)) return cudaErrorInvalidDevice;
    if (texel_bytes(*format) == 0) return cudaErrorInvalidChannelDescriptor;
    *width = most_texels(*format);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaCreateTextureObject(unsigned long long* handle, const cudaResourceDesc* resource,
                                                 const cudaTextureDesc* texture, const void* view) {
  return create_texture(handle, resource, texture, view, false);
}
COALESCE_API cudaError_t cudaCreateSurfaceObject(unsigned long long* handle, const cudaResourceDesc* resource) {
  if (handle == nullptr || resource == nullptr || resource->resType != cudaResourceTypeArray) {
    return note(cudaErrorInvalidValue);
  }
  return call([&](Runtime& r) {
    machine::Texture t;
    if (const cudaError_t error = texels(r, *resource, t); error != cudaSuccess) return error;
    Object object{*resource};
    object.is_surface = true;
    return keep(r, handle, t, object);
  });
}
COALESCE_API cudaError_t cudaDestroyTextureObject(unsigned long long handle) { return destroy(handle, false); }
COALESCE_API cudaError_t cudaDestroySurfaceObject(unsigned long long handle) { return destroy(handle, true); }

COALESCE_API cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* out, unsigned long long handle) {
  return describe(out, sizeof *out, handle, false, &Object::resource);
}
COALESCE_API cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* out, unsigned long long handle) {
  return describe(out, texture_desc_bytes(), handle, false, &Object::texture);
}
COALESCE_API cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* out, unsigned long long handle) {
  return describe(out, sizeof *out, handle, true, &Object::resource);
}

}  // namespace coalesce::cudart
