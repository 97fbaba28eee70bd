// cudaDeviceProp as CUDA 11, 12 and 13 lay it out. One list of fields; fields that only some versions have are marked.
#pragma once

#include "cudart/core/abi.h"

namespace coalesce::cudart {

// F: in every version. OLD: dropped by 13.
// clang-format off
#define COALESCE_PROPERTIES(F, OLD) \
  F(char, name, [256]) F(cudaUUID_t, uuid, ) F(char, luid, [8]) F(unsigned, luidDeviceNodeMask, ) \
  F(size_t, totalGlobalMem, ) F(size_t, sharedMemPerBlock, ) F(int, regsPerBlock, ) F(int, warpSize, ) F(size_t, memPitch, ) \
  F(int, maxThreadsPerBlock, ) F(int, maxThreadsDim, [3]) F(int, maxGridSize, [3]) OLD(int, clockRate, ) \
  F(size_t, totalConstMem, ) F(int, major, ) F(int, minor, ) F(size_t, textureAlignment, ) F(size_t, texturePitchAlignment, ) \
  OLD(int, deviceOverlap, ) F(int, multiProcessorCount, ) OLD(int, kernelExecTimeoutEnabled, ) F(int, integrated, ) \
  F(int, canMapHostMemory, ) OLD(int, computeMode, ) F(int, maxTexture1D, ) F(int, maxTexture1DMipmap, ) \
  OLD(int, maxTexture1DLinear, ) F(int, maxTexture2D, [2]) F(int, maxTexture2DMipmap, [2]) F(int, maxTexture2DLinear, [3]) \
  F(int, maxTexture2DGather, [2]) F(int, maxTexture3D, [3]) F(int, maxTexture3DAlt, [3]) F(int, maxTextureCubemap, ) \
  F(int, maxTexture1DLayered, [2]) F(int, maxTexture2DLayered, [3]) F(int, maxTextureCubemapLayered, [2]) \
  F(int, maxSurface1D, ) F(int, maxSurface2D, [2]) F(int, maxSurface3D, [3]) F(int, maxSurface1DLayered, [2]) \
  F(int, maxSurface2DLayered, [3]) F(int, maxSurfaceCubemap, ) F(int, maxSurfaceCubemapLayered, [2]) \
  F(size_t, surfaceAlignment, ) F(int, concurrentKernels, ) F(int, ECCEnabled, ) F(int, pciBusID, ) F(int, pciDeviceID, ) \
  F(int, pciDomainID, ) F(int, tccDriver, ) F(int, asyncEngineCount, ) F(int, unifiedAddressing, ) OLD(int, memoryClockRate, ) \
  F(int, memoryBusWidth, ) F(int, l2CacheSize, ) F(int, persistingL2CacheMaxSize, ) F(int, maxThreadsPerMultiProcessor, ) \
  F(int, streamPrioritiesSupported, ) F(int, globalL1CacheSupported, ) F(int, localL1CacheSupported, ) \
  F(size_t, sharedMemPerMultiprocessor, ) F(int, regsPerMultiprocessor, ) F(int, managedMemory, ) F(int, isMultiGpuBoard, ) \
  F(int, multiGpuBoardGroupID, ) F(int, hostNativeAtomicSupported, ) OLD(int, singleToDoublePrecisionPerfRatio, ) \
  F(int, pageableMemoryAccess, ) F(int, concurrentManagedAccess, ) F(int, computePreemptionSupported, ) \
  F(int, canUseHostPointerForRegisteredMem, ) F(int, cooperativeLaunch, ) OLD(int, cooperativeMultiDeviceLaunch, ) \
  F(size_t, sharedMemPerBlockOptin, ) F(int, pageableMemoryAccessUsesHostPageTables, ) \
  F(int, directManagedMemAccessFromHost, ) F(int, maxBlocksPerMultiProcessor, ) F(int, accessPolicyMaxWindowSize, ) \
  F(size_t, reservedSharedMemPerBlock, )
#define COALESCE_PROPERTIES_SINCE_12(F) \
  F(int, hostRegisterSupported, ) F(int, sparseCudaArraySupported, ) F(int, hostRegisterReadOnlySupported, ) \
  F(int, timelineSemaphoreInteropSupported, ) F(int, memoryPoolsSupported, ) F(int, gpuDirectRDMASupported, ) \
  F(unsigned, gpuDirectRDMAFlushWritesOptions, ) F(int, gpuDirectRDMAWritesOrdering, ) \
  F(unsigned, memoryPoolSupportedHandleTypes, ) F(int, deferredMappingCudaArraySupported, ) F(int, ipcEventSupported, ) \
  F(int, clusterLaunch, ) F(int, unifiedFunctionPointers, )
// clang-format on

#define COALESCE_MEMBER(type, name, extent) type name extent;
#define COALESCE_NO_MEMBER(type, name, extent)
struct Properties11 {
  COALESCE_PROPERTIES(COALESCE_MEMBER, COALESCE_MEMBER)
};
struct Properties12 {
  COALESCE_PROPERTIES(COALESCE_MEMBER, COALESCE_MEMBER)
  COALESCE_PROPERTIES_SINCE_12(COALESCE_MEMBER)
  int reserved[63];
};
struct Properties13 {
  COALESCE_PROPERTIES(COALESCE_MEMBER, COALESCE_NO_MEMBER)
  COALESCE_PROPERTIES_SINCE_12(COALESCE_MEMBER)
  int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
  unsigned gpuPciDeviceID, gpuPciSubsystemID;
  int hostNumaMultinodeIpcSupported;
  int reserved[56];
};
#undef COALESCE_MEMBER
#undef COALESCE_NO_MEMBER

cudaError_t get_properties(Properties11* properties, int device);
cudaError_t get_properties(Properties12* properties, int device);
cudaError_t get_properties(Properties13* properties, int device);

}  // namespace coalesce::cudart
