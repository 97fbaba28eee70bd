// The driver's types in memory, as far as we use them; see core/abi.h. Handles are the runtime's: a CUstream is a
// cudaStream_t, a CUfunction a cudaKernel_t, a CUmodule and a CUlibrary are a cudaLibrary_t. tests/cudart/abi checks
// them against cuda.h where that is installed.
#pragma once

#include "cudart/api/graph_abi.h"
#include "cudart/core/abi.h"

namespace coalesce::cudart {

enum CUresult : int {
#define X(name, number) name = number,
#include "cudart/driver/errors.def"
#undef X
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
struct Context;
using CUcontext = Context*;
struct LinkState;
using CUlinkState = LinkState*;
using CUmemGenericAllocationHandle = unsigned long long;

enum CUmemorytype : int {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4,
};

struct CUDA_MEMCPY2D {
  size_t srcXInBytes, srcY;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  cudaArray* srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  cudaArray* dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  cudaArray* srcArray;
  void* reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  cudaArray* dstArray;
  void* reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

struct CUDA_ARRAY_DESCRIPTOR {
  size_t Width, Height;
  int Format;
  unsigned NumChannels;
};
struct CUDA_ARRAY3D_DESCRIPTOR {
  size_t Width, Height, Depth;
  int Format;
  unsigned NumChannels, Flags;
};

struct CUDA_RESOURCE_DESC {
  int resType;  // cudaResourceType's values
  union {
    struct {
      cudaArray* hArray;
    } array;
    struct {
      CUdeviceptr devPtr;
      int format;
      unsigned numChannels;
      size_t sizeInBytes;
    } linear;
    struct {
      CUdeviceptr devPtr;
      int format;
      unsigned numChannels;
      size_t width, height, pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned flags;
};
inline constexpr unsigned CU_TRSF_READ_AS_INTEGER = 1;
inline constexpr unsigned CU_TRSF_NORMALIZED_COORDINATES = 2;
inline constexpr unsigned CU_TRSF_SRGB = 16;
struct CUDA_TEXTURE_DESC {
  int addressMode[3], filterMode;
  unsigned flags, maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
  int reserved[12];
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  cudaStream_t hStream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

struct CUDA_LAUNCH_PARAMS {  // of one device
  cudaKernel_t function;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  cudaStream_t hStream;
  void** kernelParams;
};

struct CUDA_KERNEL_NODE_PARAMS {  // v2; v1 ends with extra
  cudaKernel_t func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void** kernelParams;
  void** extra;
  cudaKernel_t kern;
  CUcontext ctx;
};
struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};

struct CUmemAllocationProp {
  int type, requestedHandleTypes;
  cudaMemLocation location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};

struct CUdevprop {
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], sharedMemPerBlock, totalConstantMemory, SIMDWidth, memPitch,
      regsPerBlock, clockRate, textureAlign;
};

}  // namespace coalesce::cudart
