// The runtime's types in memory: our own declarations, as far as we use them. Names of values are CUDA's, so that code
// reads as CUDA's documentation; all are in our namespace. tests/cudart/abi/abi_test.cpp compares sizes, offsets and
// values with the real headers where they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

// An exported function. The definition stands inside our namespace; C linkage makes the name global.
#define COALESCE_API extern "C" __attribute__((visibility("default")))
// A second exported name for `target`, which must be defined above in the same file. The _ptsz and _ptds forms
// (per-thread default stream) are such names: every stream's work is done when the call returns, so both defaults
// behave the same.
#define COALESCE_ALIAS(name, target) \
  extern "C" __attribute__((visibility("default"), alias(#target))) decltype(target) name

namespace coalesce::cudart {

enum cudaError_t : int {
#define X(name, number, text) name = number,
#include "cudart/core/errors.def"
#undef X
};

enum cudaMemcpyKind : int {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

enum cudaMemoryType : int {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};

enum cudaLimit : int {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
  cudaLimitDevRuntimeSyncDepth = 3,
  cudaLimitDevRuntimePendingLaunchCount = 4,
  cudaLimitMaxL2FetchGranularity = 5,
  cudaLimitPersistingL2CacheSize = 6,
};
inline constexpr int kLimits = 7;

enum cudaFuncAttribute : int {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeClusterDimMustBeSet = 10,
  cudaFuncAttributeRequiredClusterWidth = 11,
  cudaFuncAttributeRequiredClusterHeight = 12,
  cudaFuncAttributeRequiredClusterDepth = 13,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
  cudaFuncAttributeClusterSchedulingPolicyPreference = 15,
};

enum cudaMemPoolAttr : int {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic = 2,
  cudaMemPoolReuseAllowInternalDependencies = 3,
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrReservedMemHigh = 6,
  cudaMemPoolAttrUsedMemCurrent = 7,
  cudaMemPoolAttrUsedMemHigh = 8,
};

enum cudaLaunchAttributeID : int {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributeDeviceUpdatableKernelNode = 13,
};

inline constexpr unsigned cudaHostAllocMapped = 0x2, cudaHostAllocMask = 0x7;
inline constexpr unsigned cudaHostRegisterMask = 0xf;
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDisableTiming = 2;
inline constexpr unsigned cudaEventInterprocess = 4;
inline constexpr unsigned cudaEventMask = 7;
inline constexpr unsigned cudaMemAttachGlobal = 1;
inline constexpr unsigned cudaMemAttachHost = 2;
inline constexpr unsigned cudaDeviceMask = 0xff;
inline constexpr int cudaCpuDeviceId = -1;
inline constexpr int cudaInvalidDeviceId = -2;

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

struct cudaUUID_t {
  char bytes[16];
};
struct cudaIpcHandle {  // cudaIpcMemHandle_t and cudaIpcEventHandle_t
  char reserved[64];
};
struct cudaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPos {
  size_t x, y, z;
};

struct cudaArray;  // array.h
struct cudaMemcpy3DParms {
  cudaArray* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
struct cudaMemcpy3DPeerParms {
  cudaArray* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  int srcDevice;
  cudaArray* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  int dstDevice;
  cudaExtent extent;
};

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

// 12's and 13's; 11's ends with preferredShmemCarveout.
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
  int cluster[6];  // since 12: must be set, width, height, depth, policy, more than 8 blocks
  int reserved[16];
};

struct cudaMemLocation {
  int type;  // 0 none, 1 device, 2 host, 3 host NUMA node, 4 host NUMA node of this thread
  int id;
};
struct cudaMemAccessDesc {
  cudaMemLocation location;
  int flags;
};
struct cudaMemPoolProps {
  int allocType, handleTypes;
  cudaMemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  char padding[4];
  union alignas(8) {
    char bytes[64];
    int cooperative;
    unsigned clusterDim[3];
    int programmaticStreamSerializationAllowed;
  } value;
};

using cudaHostFn_t = void (*)(void* data);

// Handles. Ours are pointers to our own objects, checked against the live ones before use.
struct Stream;
struct Event;
struct Pool;
struct Kernel;
struct Library;
using cudaStream_t = Stream*;
using cudaEvent_t = Event*;
using cudaMemPool_t = Pool*;
using cudaKernel_t = Kernel*;
using cudaLibrary_t = Library*;
using cudaStreamCallback_t = void (*)(cudaStream_t stream, cudaError_t status, void* data);

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

}  // namespace coalesce::cudart
