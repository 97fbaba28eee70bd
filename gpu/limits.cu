// Measures the limits of this GPU by kernels of our own: bytes read a second, bytes copied a second (read and written
// both counted), and the cost of a launch. Prints one JSON object: lists in bytes per second and in seconds, one entry
// a repetition.
//
//   limits [MEBIBYTES]     size of the arrays (default 1024), several times the L2 cache of any GPU
//
// Every thread has several 16-byte loads in flight; the grid fills the chip once and strides over the array.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "limits/measure.h"

constexpr int kThreads = 512, kUnroll = 4, kRepetitions = 15;

__global__ void read_all(const uint4* in, size_t n, unsigned int* never) {
  const size_t stride = static_cast<size_t>(gridDim.x) * kThreads;
  size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  unsigned int bits = 0;
  for (; i + (kUnroll - 1) * stride < n; i += kUnroll * stride) {
    uint4 v[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) v[k] = __ldcs(in + i + k * stride);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) bits |= v[k].x | v[k].y | v[k].z | v[k].w;
  }
  for (; i < n; i += stride) bits |= in[i].x;
  if (bits == 0xffffffffu) *never = bits;  // the array holds zeros in its highest bits
}

__global__ void copy_all(const uint4* in, uint4* out, size_t n) {
  const size_t stride = static_cast<size_t>(gridDim.x) * kThreads;
  size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; i + (kUnroll - 1) * stride < n; i += kUnroll * stride) {
    uint4 v[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) v[k] = __ldcs(in + i + k * stride);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) __stcs(out + i + k * stride, v[k]);
  }
  for (; i < n; i += stride) out[i] = in[i];
}

__global__ void fill(unsigned int* out, size_t n) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    out[i] = static_cast<unsigned int>(i * 2654435761u) >> 1;
}

__global__ void nothing() {}

void print(const char* name, const std::vector<double>& values, const char* end) {
  std::printf("\"%s\":[", name);
  for (size_t i = 0; i < values.size(); ++i) std::printf("%s%.9g", i ? "," : "", values[i]);
  std::printf("]%s", end);
}

int main(int argc, char** argv) {
  const size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024) << 20, n = bytes / sizeof(uint4);
  int device = 0, processors = 0, l2 = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  uint4 *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  const int blocks = processors * 4;  // 2048 threads a multiprocessor
  fill<<<blocks, kThreads>>>(reinterpret_cast<unsigned int*>(in), bytes / 4);
  fill<<<blocks, kThreads>>>(reinterpret_cast<unsigned int*>(out), bytes / 4);
  CHECK(cudaDeviceSynchronize());

  std::vector<double> read =
      times_of([&] { read_all<<<blocks, kThreads>>>(in, n, reinterpret_cast<unsigned int*>(out)); }, kRepetitions, 2);
  std::vector<double> copy = times_of([&] { copy_all<<<blocks, kThreads>>>(in, out, n); }, kRepetitions, 2);
  for (double& s : read) s = static_cast<double>(bytes) / s;
  for (double& s : copy) s = 2 * static_cast<double>(bytes) / s;

  // A launch that does nothing: the time to the next of many in a row, and until the host has waited for it.
  using Clock = std::chrono::steady_clock;
  std::vector<double> following, waited;
  for (int i = -2; i < kRepetitions; ++i) {
    constexpr int kMany = 1000;
    const auto start = Clock::now();
    for (int k = 0; k < kMany; ++k) nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    const auto between = Clock::now();
    nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    const auto stop = Clock::now();
    if (i < 0) continue;
    following.push_back(std::chrono::duration<double>(between - start).count() / kMany);
    waited.push_back(std::chrono::duration<double>(stop - between).count());
  }
  std::printf("{\"bytes\":%zu,\"l2_bytes\":%d,", bytes, l2);
  print("read", read, ",");
  print("copy", copy, ",");
  print("launch_following", following, ",");
  print("launch_waited", waited, "}\n");
  return 0;
}
