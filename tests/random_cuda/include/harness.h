// The beginning and the end of every generated source: buffers of the host and of the device, their comparison, and
// main(). Compiled without CUDA the programs run on the emulated host alone.
#pragma once

// nvcc asks the host's compiler for -O3, which takes longer than all else.
#if defined(__CUDACC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDA_ARCH__)
#pragma GCC optimize("O0")
#endif

#include <math.h>
#include <string.h>
#ifndef __CUDA_ARCH__
#include <stdio.h>
#include <stdlib.h>

#include <type_traits>
#include <vector>
#endif

#ifndef __CUDACC__
#include "vectors.h"
#endif

// After the headers above: these turn CUDA's names into macros.
#include "types.h"
#include "warp.h"
// The names of CUDA's device functions begin here.
#include "intrinsics.h"

#ifndef __CUDA_ARCH__
namespace rc {

struct Run {
  u32 seed;
  u64 sum = 0;  // of all buffers at the end
  bool differs = false;

  void difference(const char* buffer, size_t index, u64 device, u64 host) {
    if (differs) return;
    differs = true;
    printf("seed %u: %s[%zu] is 0x%llx on the device, 0x%llx on the host\n", seed, buffer, index, device, host);
  }
  // After a launch: what became of it. Nothing can be launched after one that failed.
  void finish_launch(const char* kernel) {
#ifdef __CUDACC__
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    if (error == cudaSuccess) return;
    printf("seed %u: %s failed: %s\n", seed, kernel, cudaGetErrorString(error));
    exit(1);
#else
    (void)kernel;
#endif
  }
};

#ifdef __CUDACC__
#define RC_ON_DEVICE(name, grid, block, dynamic, arguments) name<<<grid, block, dynamic>>> arguments
#else
#define RC_ON_DEVICE(name, grid, block, dynamic, arguments) (void)0
#endif
#define LAUNCH(name, grid, block, dynamic, on_device, on_host) \
  RC_ON_DEVICE(name, (grid), (block), dynamic, on_device);     \
  run.finish_launch(#name);                                    \
  rc::emulate((grid), (block), [&] { name##_on_host on_host; })

// Words that look like anything: small and large values, and floating-point numbers of all sizes.
inline u64 next(u64& state) {
  state += 0x9e3779b97f4a7c15ull;
  u64 x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  x ^= x >> 31;
  return x % 5 == 0 ? x >> 56 : x;
}
inline void fill(void* at, size_t bytes, u64 state) {
  for (size_t i = 0; i < bytes; i += 8) {
    const u64 word = next(state);
    memcpy(static_cast<char*>(at) + i, &word, bytes - i < 8 ? bytes - i : 8);
  }
}
// A value of any type made of such words, and a moderate number in place of each that is floating-point.
template <class T>
T value(u64 state) {
  if constexpr (std::is_floating_point_v<T>) {
    return T(i64(next(state)) >> (next(state) % 60)) / T(16);
  } else {
    T x;
    fill(&x, sizeof x, state);
    return x;
  }
}

// Elements that are not set at first. Not std::vector, which takes a compiler long: sources have hundreds of types.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : data_(new T[count]), size_(count) {}
  ~Array() { delete[] data_; }
  Array(const Array&) = delete;
  T* data() { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_;
  size_t size_;
};

// `count` elements, on the host and on the device: alike at first, compared at the end.
template <class T>
class Buffer {
 public:
  Buffer(Run& run, const char* name, size_t count, u64 state, bool managed) : run_(run), name_(name), host(count) {
    for (size_t i = 0; i < count; ++i) host[i] = value<T>(state + i);
#ifdef __CUDACC__
    const size_t bytes = count * sizeof(T);
    if (managed) {
      cudaMallocManaged(&device, bytes);
      memcpy(device, host.data(), bytes);
    } else {
      cudaMalloc(&device, bytes);
      cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice);
    }
#endif
    (void)managed;
  }
  ~Buffer() {
#ifdef __CUDACC__
    cudaFree(device);
#endif
  }
  Buffer(const Buffer&) = delete;

  void compare() {
    for (size_t i = 0; i < host.size(); ++i) run_.sum = mix(run_.sum, host[i]);
#ifdef __CUDACC__
    Array<T> result(host.size());
    cudaMemcpy(result.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < host.size(); ++i)
      if (bits(result[i]) != bits(host[i])) run_.difference(name_, i, u64(bits(result[i])), u64(bits(host[i])));
#endif
  }

 private:
  Run& run_;
  const char* name_;

 public:
  Array<T> host;
  T* device = nullptr;
};

struct Program {
  u32 seed;
  void (*run)(Run&);
};

// Runs the programs whose seeds are named, or all. `--sums` prints a line for each with the sum of its buffers.
inline int run_programs(const Program* programs, size_t count, int argc, char** argv) {
  bool sums = false;
  std::vector<u32> wanted;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--sums") == 0)
      sums = true;
    else
      wanted.push_back(u32(strtoul(argv[i], nullptr, 10)));
  }
#ifdef __CUDACC__
  // How much a recursive function needs no compiler knows. A GPU reserves it for every thread that it can hold.
  const char* stack = getenv("STACK");
  cudaDeviceSetLimit(cudaLimitStackSize, stack ? strtoul(stack, nullptr, 10) : 65536);
#endif
  int failures = 0;
  for (size_t i = 0; i < count; ++i) {
    bool named = wanted.empty();
    for (u32 seed : wanted) named = named || seed == programs[i].seed;
    if (!named) continue;
    Run run{programs[i].seed};
    programs[i].run(run);
    failures += run.differs;
    if (sums) printf("sum %u %016llx\n", run.seed, run.sum);
  }
  return failures != 0;
}

}  // namespace rc
#endif
