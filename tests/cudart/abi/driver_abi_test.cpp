// Our declarations of the driver's types against the real ones, where a toolkit is installed. All checks are at compile
// time.
#include <gtest/gtest.h>

#if __has_include("/usr/local/cuda/include/cuda.h")
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cudart/driver/abi.h"

namespace real_driver {
#include "/usr/local/cuda/include/cuda.h"
}  // namespace real_driver

namespace coalesce::cudart {

#define SAME_SIZE(type) static_assert(sizeof(type) == sizeof(real_driver::type), #type)
#define SAME_PLACE(type, member) static_assert(offsetof(type, member) == offsetof(real_driver::type, member), #member)

#define X(name, number) static_assert(static_cast<int>(name) == static_cast<int>(real_driver::name), #name);
#include "cudart/driver/errors.def"
#undef X

SAME_SIZE(CUDA_MEMCPY2D);
SAME_PLACE(CUDA_MEMCPY2D, srcArray);
SAME_PLACE(CUDA_MEMCPY2D, dstXInBytes);
SAME_PLACE(CUDA_MEMCPY2D, dstPitch);
SAME_PLACE(CUDA_MEMCPY2D, Height);
SAME_SIZE(CUDA_MEMCPY3D);
SAME_PLACE(CUDA_MEMCPY3D, srcHeight);
SAME_PLACE(CUDA_MEMCPY3D, dstXInBytes);
SAME_PLACE(CUDA_MEMCPY3D, dstHeight);
SAME_PLACE(CUDA_MEMCPY3D, Depth);
SAME_SIZE(CUDA_ARRAY_DESCRIPTOR);
SAME_SIZE(CUDA_ARRAY3D_DESCRIPTOR);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(CUDA_RESOURCE_DESC);
SAME_PLACE(CUDA_RESOURCE_DESC, res.linear.sizeInBytes);
SAME_PLACE(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes);
SAME_PLACE(CUDA_RESOURCE_DESC, flags);
SAME_SIZE(CUDA_TEXTURE_DESC);
SAME_PLACE(CUDA_TEXTURE_DESC, flags);
SAME_PLACE(CUDA_TEXTURE_DESC, borderColor);
SAME_SIZE(CUlaunchConfig);
SAME_PLACE(CUlaunchConfig, hStream);
SAME_PLACE(CUlaunchConfig, numAttrs);
SAME_SIZE(CUDA_KERNEL_NODE_PARAMS);
SAME_PLACE(CUDA_KERNEL_NODE_PARAMS, kernelParams);
SAME_PLACE(CUDA_KERNEL_NODE_PARAMS, kern);
SAME_SIZE(CUDA_MEMSET_NODE_PARAMS);
SAME_SIZE(CUmemAllocationProp);
SAME_SIZE(CUdevprop);

TEST(Abi, TheDriversAgreesWithTheToolkit) { SUCCEED(); }

}  // namespace coalesce::cudart
#else
TEST(Abi, TheDriversAgreesWithTheToolkit) { GTEST_SKIP() << "no CUDA toolkit under /usr/local/cuda"; }
#endif
