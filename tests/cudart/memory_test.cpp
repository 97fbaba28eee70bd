#include <cstring>
#include <numeric>
#include <vector>

#include "api.h"

namespace coalesce::cudart {
namespace {

using Copying = WithModule;

TEST_F(Copying, StaysWithinAllocations) {
  char* a = nullptr;
  char host[4096] = {};
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&a), 1000), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(a, host, 1000, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(a, host, 1001, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(a + 1, host, 1000, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host, a + 999, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host, a + 999, 2, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(a, host, SIZE_MAX, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(a, 0, 1001), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host, 0, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(nullptr, host, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaFree(a), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(a, host, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue) << "freed";
  EXPECT_EQ(cudaMemcpy(host, a, 1, cudaMemcpyDefault), cudaErrorInvalidValue) << "freed";
  EXPECT_EQ(cudaFree(a), cudaErrorInvalidValue) << "twice";
}

TEST_F(Copying, KindsMustFitTheMemory) {
  char *device = nullptr, *pinned = nullptr, *managed = nullptr;
  char host[16] = {};
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), 16), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 16), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), 16, 1), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host, device, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, host, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, host, 16, static_cast<cudaMemcpyKind>(5)), cudaErrorInvalidMemcpyDirection);
  for (char* any : {device, pinned, managed}) {
    EXPECT_EQ(cudaMemcpy(any, host, 16, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(any, host, 16, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(cudaMemset(any, 1, 16), cudaSuccess);
  }
  for (char* reachable : {pinned, managed}) EXPECT_EQ(reachable[15], 1);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST_F(Copying, BoxesOfTwoAndThreeDimensions) {
  constexpr size_t kWidth = 24, kHeight = 5, kDepth = 3;
  std::vector<unsigned char> from(kWidth * kHeight * kDepth), to(from.size());
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  char* device = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(reinterpret_cast<void**>(&device), &pitch, kWidth, kHeight * kDepth), cudaSuccess);
  EXPECT_EQ(pitch % 512, 0u);

  EXPECT_EQ(cudaMemcpy2D(device, pitch, from.data(), kWidth, kWidth, kHeight * kDepth, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(device, pitch, from.data(), kWidth - 1, kWidth, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2D(device, pitch, from.data(), kWidth, kWidth, kHeight * kDepth + 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(device, SIZE_MAX, from.data(), kWidth, kWidth, 3, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);

  cudaMemcpy3DParms p{};
  p.srcPtr = {device, pitch, kWidth, kHeight};
  p.dstPtr = {to.data(), kWidth, kWidth, kHeight};
  p.srcPos = {4, 1, 1};
  p.dstPos = {4, 1, 1};
  p.extent = {kWidth - 4, kHeight - 1, kDepth - 1};
  p.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&p), cudaSuccess);
  for (size_t z = 0; z < kDepth; ++z) {
    for (size_t y = 0; y < kHeight; ++y) {
      for (size_t x = 0; x < kWidth; ++x) {
        const size_t i = (z * kHeight + y) * kWidth + x;
        EXPECT_EQ(to[i], z >= 1 && y >= 1 && x >= 4 ? from[i] : 0) << x << ' ' << y << ' ' << z;
      }
    }
  }
  EXPECT_EQ(cudaMemset2D(device, pitch, 9, kWidth, 2), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(to.data(), device + pitch, kWidth, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(to[kWidth - 1], 9);
}

TEST_F(Copying, Symbols) {
  const int in[4] = {1, 2, 3, 4};
  int out[4] = {};
  EXPECT_EQ(cudaMemcpyToSymbol(&table_, in, 16, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyFromSymbol(out, &table_, 8, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], 4);
  EXPECT_EQ(cudaMemcpyToSymbol(&table_, in, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&table_, in, 4, SIZE_MAX, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&table_, in, 4, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyToSymbol(&store_, in, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
  size_t size = 0;
  EXPECT_EQ(cudaGetSymbolSize(&size, &table_), cudaSuccess);
  EXPECT_EQ(size, 16u);
}

TEST_F(Copying, RegisteredHostMemory) {
  std::vector<int> memory(1000, 5);
  int* p = memory.data();
  const size_t bytes = memory.size() * sizeof(int);
  cudaPointerAttributes a{};
  ASSERT_EQ(cudaPointerGetAttributes(&a, p), cudaSuccess);
  EXPECT_EQ(a.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostRegister(p, bytes, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(p, bytes, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(p + 10, 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaPointerGetAttributes(&a, p + 3), cudaSuccess);
  EXPECT_EQ(a.type, cudaMemoryTypeHost);
  EXPECT_EQ(run_store(p + 3, 77), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(memory[3], 77);
  EXPECT_EQ(cudaFreeHost(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(p), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(p), cudaErrorHostMemoryNotRegistered);
}

TEST_F(Copying, SizesAndExhaustion) {
  void* p = &p;
  EXPECT_EQ(cudaMalloc(&p, 0), cudaSuccess);
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&p, SIZE_MAX), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  size_t free = 0, total = 0, after = 0, pitch = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocPitch(&p, &pitch, SIZE_MAX / 2, 4), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaMallocAsync(&p, 1 << 20, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&after, nullptr), cudaSuccess);
  EXPECT_LE(after, free - (1 << 20));
  EXPECT_EQ(cudaFreeAsync(p, nullptr), cudaSuccess);
}

TEST_F(Copying, StreamsAndEvents) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  cudaEvent_t start = nullptr, end = nullptr, untimed = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle) << "not recorded";
  EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(untimed, stream), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
  EXPECT_GE(ms, 0.0f);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end, nullptr), cudaErrorInvalidResourceHandle);
}

TEST(Properties, AgreeInEveryLayout) {
  Properties12 p12;
  Properties13 p13;
  ASSERT_EQ(cudaGetDeviceProperties_v2(&p12, 0), cudaSuccess);
  ASSERT_EQ(cudaGetDeviceProperties(&p13, 0), cudaSuccess);
  EXPECT_STREQ(p12.name, p13.name);
#define SAME(type, member, extent) EXPECT_EQ(std::memcmp(&p12.member, &p13.member, sizeof p12.member), 0) << #member;
#define NONE(type, member, extent)
  COALESCE_PROPERTIES(SAME, NONE)
  COALESCE_PROPERTIES_SINCE_12(SAME)
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, 16, 0), cudaSuccess);
  EXPECT_EQ(value, p13.multiProcessorCount);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, 13, 0), cudaSuccess);
  EXPECT_EQ(value, p12.clockRate);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, 9999, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceProperties(&p13, 1), cudaErrorInvalidDevice);
  cudaGetLastError();
}

}  // namespace
}  // namespace coalesce::cudart
