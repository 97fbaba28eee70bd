// The runtime's types of arrays, textures and surfaces; see abi.h.
#pragma once

#include "cudart/core/abi.h"

namespace coalesce::cudart {

enum cudaChannelFormatKind : int {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
};
struct cudaChannelFormatDesc {
  int x, y, z, w;  // bits of each channel
  int f;           // cudaChannelFormatKind
};

enum cudaResourceType : int {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3,
};
struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct {
      cudaArray* array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;  // width in texels
    } pitch2D;
  } res;
};

inline constexpr int cudaFilterModePoint = 0, cudaFilterModeLinear = 1;
inline constexpr int cudaReadModeNormalizedFloat = 1;
struct cudaTextureDesc {  // 11's ends with disableTrilinearOptimization
  int addressMode[3];     // 0 wrap, 1 clamp, 2 mirror, 3 border
  int filterMode, readMode, sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};

inline constexpr unsigned cudaArrayLayered = 1;
inline constexpr unsigned cudaArraySurfaceLoadStore = 2;
inline constexpr unsigned cudaArrayCubemap = 4;
inline constexpr unsigned cudaArrayTextureGather = 8;
inline constexpr unsigned cudaArrayFlags = 15;

}  // namespace coalesce::cudart
