// Our declarations of CUDA's types against the real ones, where a toolkit is installed. All checks are at compile time.
#include <gtest/gtest.h>

#if __has_include("/usr/local/cuda/include/cuda_runtime_api.h")
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cudart/api/graph_abi.h"
#include "cudart/api/properties.h"
#include "cudart/api/texture_abi.h"
#include "cudart/core/abi.h"

namespace real {
// The real headers, inside a namespace: their names would otherwise meet ours. The path is where the toolkit installs
// itself.
#include "/usr/local/cuda/include/cuda_runtime_api.h"
}  // namespace real

namespace ours = coalesce::cudart;

#define SAME_SIZE(type) static_assert(sizeof(ours::type) == sizeof(real::type), #type)
#define SAME_PLACE(type, member) \
  static_assert(offsetof(ours::type, member) == offsetof(real::type, member), #type "::" #member)

#define X(name, number, text) static_assert(static_cast<int>(ours::name) == static_cast<int>(real::name), #name);
#include "cudart/core/errors.def"
#undef X

SAME_SIZE(cudaPitchedPtr);
SAME_SIZE(cudaExtent);
SAME_SIZE(cudaPos);
SAME_SIZE(cudaMemcpy3DParms);
SAME_PLACE(cudaMemcpy3DParms, srcPtr);
SAME_PLACE(cudaMemcpy3DParms, dstArray);
SAME_PLACE(cudaMemcpy3DParms, dstPtr);
SAME_PLACE(cudaMemcpy3DParms, extent);
SAME_PLACE(cudaMemcpy3DParms, kind);
SAME_SIZE(cudaChannelFormatDesc);
SAME_SIZE(cudaTextureDesc);
SAME_PLACE(cudaTextureDesc, borderColor);
SAME_PLACE(cudaTextureDesc, normalizedCoords);
SAME_PLACE(cudaTextureDesc, seamlessCubemap);
SAME_PLACE(cudaResourceDesc, res.linear.sizeInBytes);
SAME_PLACE(cudaResourceDesc, res.pitch2D.pitchInBytes);
static_assert(sizeof(ours::cudaResourceDesc) <= sizeof(real::cudaResourceDesc), "the rest is reserved");
SAME_SIZE(cudaMemcpy3DPeerParms);
SAME_PLACE(cudaMemcpy3DPeerParms, srcDevice);
SAME_PLACE(cudaMemcpy3DPeerParms, dstDevice);
SAME_PLACE(cudaMemcpy3DPeerParms, extent);
SAME_PLACE(cudaPointerAttributes, devicePointer);
SAME_PLACE(cudaPointerAttributes, hostPointer);
SAME_SIZE(cudaFuncAttributes);
SAME_PLACE(cudaFuncAttributes, preferredShmemCarveout);
SAME_PLACE(cudaFuncAttributes, reserved);
SAME_SIZE(cudaMemLocation);
SAME_SIZE(cudaMemAccessDesc);
SAME_SIZE(cudaMemPoolProps);
SAME_PLACE(cudaMemPoolProps, location);
SAME_SIZE(cudaLaunchAttribute);
static_assert(offsetof(ours::cudaLaunchAttribute, value) == offsetof(real::cudaLaunchAttribute, val));
SAME_SIZE(cudaLaunchConfig_t);
SAME_PLACE(cudaLaunchConfig_t, attrs);
SAME_SIZE(cudaKernelNodeParams);
SAME_PLACE(cudaKernelNodeParams, sharedMemBytes);
SAME_PLACE(cudaKernelNodeParams, extra);
SAME_SIZE(cudaMemsetParams);
SAME_PLACE(cudaMemsetParams, elementSize);
SAME_PLACE(cudaMemsetParams, height);
SAME_SIZE(cudaHostNodeParams);
SAME_SIZE(cudaMemcpyNodeParams);
SAME_PLACE(cudaMemcpyNodeParams, copyParams);
SAME_SIZE(cudaMemAllocNodeParams);
SAME_PLACE(cudaMemAllocNodeParams, dptr);
SAME_SIZE(cudaGraphNodeParams);
SAME_PLACE(cudaGraphNodeParams, memcpy);
SAME_SIZE(cudaGraphInstantiateParams);
SAME_SIZE(cudaGraphExecUpdateResultInfo);

static_assert(int{ours::cudaMemcpyDefault} == int{real::cudaMemcpyDefault});
static_assert(int{ours::cudaMemoryTypeManaged} == int{real::cudaMemoryTypeManaged});
static_assert(int{ours::cudaLimitPersistingL2CacheSize} == int{real::cudaLimitPersistingL2CacheSize});
static_assert(int{ours::cudaFuncAttributeClusterSchedulingPolicyPreference} ==
              int{real::cudaFuncAttributeClusterSchedulingPolicyPreference});
static_assert(int{ours::cudaMemPoolAttrUsedMemHigh} == int{real::cudaMemPoolAttrUsedMemHigh});
static_assert(int{ours::cudaLaunchAttributeCooperative} == int{real::cudaLaunchAttributeCooperative});
static_assert(int{ours::cudaLaunchAttributeClusterDimension} == int{real::cudaLaunchAttributeClusterDimension});

// The whole structure of the version whose header is here, field by field.
#if CUDART_VERSION >= 13000
using Properties = ours::Properties13;
#define OLD(type, name, extent)
#elif CUDART_VERSION >= 12000
using Properties = ours::Properties12;
#define OLD(type, name, extent) \
  static_assert(offsetof(Properties, name) == offsetof(real::cudaDeviceProp, name), #name);
#endif
#if CUDART_VERSION >= 12000
static_assert(sizeof(Properties) == sizeof(real::cudaDeviceProp));
#define FIELD(type, name, extent) \
  static_assert(offsetof(Properties, name) == offsetof(real::cudaDeviceProp, name), #name);
COALESCE_PROPERTIES(FIELD, OLD)
COALESCE_PROPERTIES_SINCE_12(FIELD)
#endif

TEST(Abi, AgreesWithTheToolkit) { SUCCEED() << "checked while compiling"; }
#else
TEST(Abi, AgreesWithTheToolkit) { GTEST_SKIP() << "no CUDA toolkit where this was built"; }
#endif
