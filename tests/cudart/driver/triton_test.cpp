// Kernels as Triton compiles them, by the driver's functions, as Triton's own launcher calls them.
#include "driver_api.h"
#include "driver_functions.h"
#include "tests/triton/definition.h"

namespace coalesce::cudart {
namespace {

using Is = triton::Argument::Is;

class TritonDriver : public Driver, public ::testing::WithParamInterface<triton::Case> {};

TEST_P(TritonDriver, LoadsAndLaunches) {
  const triton::Case& c = GetParam();
  cudaLibrary_t module = nullptr;
  cudaKernel_t function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, c.ptx.c_str()), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, c.entry.c_str()), CUDA_SUCCESS);
  if (c.shared > 48 * 1024) {
    ASSERT_EQ(cuFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(c.shared)),
              CUDA_SUCCESS);
  }
  struct alignas(64) Word {
    uint8_t bytes[128];
  };
  std::vector<Word> words(c.arguments.size());
  std::vector<void*> parameters;
  std::vector<CUdeviceptr> memory(c.arguments.size());
  for (std::size_t k = 0; k < c.arguments.size(); ++k) {
    const triton::Argument& a = c.arguments[k];
    parameters.push_back(&words[k]);
    if (a.is == Is::value) {
      std::memcpy(&words[k], &a.value, sizeof a.value);
      continue;
    }
    const std::vector<uint8_t> bytes = triton::bytes_of(a);
    ASSERT_EQ(cuMemAlloc_v2(&memory[k], bytes.size()), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyHtoD_v2(memory[k], bytes.data(), bytes.size()), CUDA_SUCCESS);
    std::memcpy(&words[k], &memory[k], sizeof memory[k]);
    if (a.is != Is::described) continue;
    const uint64_t dims[] = {a.shape[1], a.shape[0]}, stride = a.shape[1] * triton::width_of(a.kind);
    const uint32_t box[] = {a.box[1], a.box[0]}, steps[] = {1, 1};
    ASSERT_EQ(cuTensorMapEncodeTiled(&words[k], triton::tensor_type(a.kind), 2, reinterpret_cast<void*>(memory[k]),
                                     dims, &stride, box, steps, 0, a.swizzle, 2, 0),
              CUDA_SUCCESS);
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.value.clusterDim[0] = c.cluster;
  cluster.value.clusterDim[1] = cluster.value.clusterDim[2] = 1;
  CUlaunchConfig config{};
  config.gridDimX = c.grid[0] * c.cluster, config.gridDimY = c.grid[1], config.gridDimZ = c.grid[2];
  config.blockDimX = c.threads, config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = c.shared;
  config.attrs = &cluster;
  config.numAttrs = c.cluster > 1 ? 1 : 0;
  ASSERT_EQ(cuLaunchKernelEx(&config, function, parameters.data(), nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const std::vector<triton::Expected> expected = triton::expected(c);
  std::size_t result = 0;
  for (std::size_t k = 0; k < c.arguments.size(); ++k) {
    if (c.arguments[k].result()) {
      std::vector<uint8_t> bytes(c.arguments[k].count * triton::width_of(c.arguments[k].kind));
      ASSERT_EQ(cuMemcpyDtoH_v2(bytes.data(), memory[k], bytes.size()), CUDA_SUCCESS);
      if (expected.empty())
        EXPECT_EQ(triton::digest(bytes), c.digests.at(result));
      else
        EXPECT_EQ(triton::wrong_with(expected.at(result), c.arguments[k].kind, bytes), "");
      ++result;
    }
    if (memory[k] != 0) {
      EXPECT_EQ(cuMemFree_v2(memory[k]), CUDA_SUCCESS);
    }
  }
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Kernels, TritonDriver, testing::ValuesIn(triton::cases(COALESCE_SOURCE_DIR)),
                         [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace coalesce::cudart
