#include "api.h"

namespace coalesce::cudart {
namespace {

using Launching = WithModule;

TEST_F(Launching, StoresThroughEveryForm) {
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), sizeof(int)), cudaSuccess);
  const auto value_there = [&] {
    int host = -1;
    EXPECT_EQ(cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  };
  EXPECT_EQ(run_store(device, 41), cudaSuccess);
  EXPECT_EQ(value_there(), 41);

  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(__cudaGetKernel(&kernel, &store_), cudaSuccess);
  int value = 42;
  void* arguments[] = {&device, &value};
  EXPECT_EQ(__cudaLaunchKernel(kernel, {}, {}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(value_there(), 42);

  cudaLibrary_t library = nullptr;
  ASSERT_EQ(cudaLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "store"), cudaSuccess);
  value = 43;
  EXPECT_EQ(cudaLaunchKernel(kernel, {}, {}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(value_there(), 43);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "none"), cudaErrorSymbolNotFound);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  EXPECT_EQ(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
}

TEST_F(Launching, ConfigurationsAreAStack) {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
  __cudaPushCallConfiguration({1}, {2}, 3, nullptr);
  __cudaPushCallConfiguration({4}, {5}, 6, nullptr);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ(grid.x + block.x + shared, 15u);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ(grid.x + block.x + shared, 6u);
}

TEST_F(Launching, ChecksTheConfiguration) {
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), sizeof(int)), cudaSuccess);
  struct Case {
    dim3 grid, block;
    size_t shared;
    cudaError_t error;
  };
  constexpr unsigned kMost = ~0u;
  const Case cases[] = {
      {{1}, {1024}, 0, cudaSuccess},
      {{1}, {1025}, 0, cudaErrorInvalidValue},
      {{1}, {32, 32, 2}, 0, cudaErrorInvalidValue},
      {{1}, {1, 1, 65}, 0, cudaErrorInvalidValue},
      {{0}, {1}, 0, cudaErrorInvalidValue},
      {{1, 0}, {1}, 0, cudaErrorInvalidValue},
      {{1}, {1, 1, 0}, 0, cudaErrorInvalidValue},
      {{1, 65536}, {1}, 0, cudaErrorInvalidValue},
      {{1, 1, 65536}, {1}, 0, cudaErrorInvalidValue},
      {{0x8000'0000u}, {1}, 0, cudaErrorInvalidValue},
      {{kMost, kMost, kMost}, {kMost, kMost, kMost}, 0, cudaErrorInvalidValue},  // products that overflow
      {{1}, {65536, 65536}, 0, cudaErrorInvalidValue},
      {{1}, {1}, 48 * 1024, cudaSuccess},
      {{1}, {1}, 48 * 1024 + 1, cudaErrorInvalidValue},
      {{1}, {1}, SIZE_MAX, cudaErrorInvalidValue},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(run_store(device, 1, c.grid, c.block, c.shared), c.error) << "case " << (&c - cases);
    EXPECT_EQ(cudaGetLastError(), c.error);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Launching, LargeSharedMemoryNeedsOptingIn) {
  const auto run = [&](size_t shared) { return cudaLaunchKernel(&big_, {}, {}, nullptr, shared, nullptr); };
  constexpr size_t kStatic = 40960, kDefault = 48 * 1024, kMost = 227 * 1024;
  EXPECT_EQ(run(kDefault - kStatic), cudaSuccess);
  EXPECT_EQ(run(kDefault - kStatic + 1), cudaErrorInvalidValue);
  const auto allow = [&](int bytes) {
    return cudaFuncSetAttribute(&big_, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  };
  EXPECT_EQ(allow(kMost - kStatic + 1), cudaErrorInvalidValue);
  EXPECT_EQ(allow(-1), cudaErrorInvalidValue);
  EXPECT_EQ(allow(kMost - kStatic), cudaSuccess);
  EXPECT_EQ(run(kMost - kStatic), cudaSuccess);
  cudaFuncAttributes attributes;
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, &big_), cudaSuccess);
  EXPECT_EQ(attributes.sharedSizeBytes, kStatic);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, static_cast<int>(kMost - kStatic));
}

TEST_F(Launching, WhatIsNoKernel) {
  char stranger = 0;
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaLaunchKernel(&stranger, {}, {}, nullptr, 0, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaLaunchKernel(nullptr, {}, {}, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(__cudaGetKernel(&kernel, &stranger), cudaErrorInvalidDeviceFunction);
  __cudaRegisterFunction(handle_, &stranger, nullptr, "not_in_the_ptx", -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  EXPECT_EQ(cudaLaunchKernel(&stranger, {}, {}, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
}

TEST_F(Launching, TooManyCooperativeBlocks) {
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), sizeof(int)), cudaSuccess);
  int value = 1;
  void* arguments[] = {&device, &value};
  // 1024 threads: at most two such blocks on each of the 132 multiprocessors.
  EXPECT_EQ(cudaLaunchCooperativeKernel(&store_, {264}, {1024}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchCooperativeKernel(&store_, {265}, {1024}, arguments, 0, nullptr),
            cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(Launching, ModulesThatCannotBeUsed) {
  const auto launch_from = [](const void* data) {
    Wrapper wrapper;
    wrapper.data = data;
    char stub = 0;
    void** handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &stub, nullptr, "store", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    const cudaError_t error = cudaLaunchKernel(&stub, {}, {}, nullptr, 0, nullptr);
    EXPECT_EQ(cudaLaunchKernel(&stub, {}, {}, nullptr, 0, nullptr), error) << "the second time";
    __cudaUnregisterFatBinary(handle);
    return error;
  };
  // Static: found in this program's segments, so that sizes are checked against them.
  static const uint32_t empty[] = {kFatbinMagic, 0x0010'0001, 0, 0};
  static const uint32_t endless[] = {kFatbinMagic, 0x0010'0001, 0xffff'ffff, 0x7fff'ffff};
  static const uint32_t nonsense[] = {0x1234'5678, 0, 0, 0};
  static const char bad_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry store( {";
  EXPECT_EQ(launch_from(empty), cudaErrorNoKernelImageForDevice);
  EXPECT_EQ(launch_from(endless), cudaErrorInvalidKernelImage);
  EXPECT_EQ(launch_from(nonsense), cudaErrorInvalidKernelImage);
  EXPECT_EQ(launch_from(bad_ptx), cudaErrorInvalidPtx);
}

TEST_F(Launching, AFaultStaysUntilReset) {
  EXPECT_EQ(run_store(nullptr, 1), cudaSuccess) << "launches are asynchronous";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "calls have it again, this one does not";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress) << "sticky";
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  Properties13 properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess) << "needs no context";
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  EXPECT_EQ(run_store(static_cast<int*>(pointer), 7), cudaSuccess) << "modules load again";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Errors, NamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

}  // namespace
}  // namespace coalesce::cudart
