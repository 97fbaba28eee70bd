// Programs of tests/hazards: kernels with one mistake each, and the same kernels put right. `coalesce check` has to
// find the first and to be silent about the second; other checkers can be asked about the same programs.
//
//   PROGRAM wrong         runs all kernels with their mistake, but for those that end a launch
//   PROGRAM right         runs all kernels put right
//   PROGRAM NAME wrong    runs one; `PROGRAM list` names those that end a launch, `names` all
//                                (with `right`: there is no wrong form)
//
// Each kernel stands for one bug and has its name. A line that is to be reported ends in `HERE: hazard`.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

using uint = unsigned int;

// Strong accesses of the PTX memory model. As macros, so that the line that uses one is the access's.
#define STORE(order, p, v) asm volatile("st." order ".global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory")
#define LOAD(order, p)                                                                    \
  ({                                                                                      \
    uint value_;                                                                          \
    asm volatile("ld." order ".global.u32 %0, [%1];" : "=r"(value_) : "l"(p) : "memory"); \
    value_;                                                                               \
  })
#define ADD(order, p, v)                                                                                    \
  ({                                                                                                        \
    uint value_;                                                                                            \
    asm volatile("atom." order ".global.add.u32 %0, [%1], %2;" : "=r"(value_) : "l"(p), "r"(v) : "memory"); \
    value_;                                                                                                 \
  })
#define store_release_block(p, v) STORE("release.cta", p, v)
#define store_release(p, v) STORE("release.gpu", p, v)
#define store_relaxed(p, v) STORE("relaxed.gpu", p, v)
#define load_relaxed(p) LOAD("relaxed.gpu", p)
#define load_acquire(p) LOAD("acquire.gpu", p)
#define load_acquire_block(p) LOAD("acquire.cta", p)
#define add_acq_rel(p, v) ADD("acq_rel.gpu", p, v)
#define add_acq_rel_block(p, v) ADD("acq_rel.cta", p, v)
#define add_relaxed(p, v) ADD("relaxed.gpu", p, v)
__device__ inline void fence_block() { asm volatile("fence.acq_rel.cta;" : : : "memory"); }
__device__ inline void fence_device() { asm volatile("fence.acq_rel.gpu;" : : : "memory"); }

constexpr int kInts = 4096;

struct Data {
  int *in, *out;  // kInts each: 1, 2, 3 ...; zeros
  uint* words;    // 64 zeros
  int* raw;       // kInts that nothing has written
};

struct Case {
  const char* name;
  void (*run[2])(const Data&);  // wrong, right; null: there is none
  bool ends;                    // the wrong one ends its launch
};

// Calls of kernel<Right>(in, out, words, raw).
#define LAUNCH(name, right, blocks, threads) \
  [](const Data& d) { name<right><<<blocks, threads>>>(d.in, d.out, d.words, d.raw); }
#define CASE(name, blocks, threads) \
  {#name, {LAUNCH(name, false, blocks, threads), LAUNCH(name, true, blocks, threads)}, false}
#define ENDS(name, blocks, threads) \
  {#name, {LAUNCH(name, false, blocks, threads), LAUNCH(name, true, blocks, threads)}, true}
#define RIGHT(name, blocks, threads) {#name, {nullptr, LAUNCH(name, true, blocks, threads)}, false}
#define KERNEL(name)                                                                           \
  template <bool Right>                                                                        \
  __global__ void name([[maybe_unused]] const int* in, int* out, [[maybe_unused]] uint* words, \
                       [[maybe_unused]] int* raw)

inline int run(const Case& c, bool right) {
  Data d{};
  const size_t bytes = kInts * sizeof(int);
  cudaMalloc(&d.in, bytes);
  cudaMalloc(&d.out, bytes);
  cudaMalloc(&d.words, 64 * sizeof(uint));
  cudaMalloc(&d.raw, bytes);
  static int host[kInts];
  for (int i = 0; i < kInts; ++i) host[i] = i + 1;
  cudaMemcpy(d.in, host, bytes, cudaMemcpyHostToDevice);
  cudaMemset(d.out, 0, bytes);
  cudaMemset(d.words, 0, 64 * sizeof(uint));
  c.run[right](d);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "%s: %s\n", c.name, cudaGetErrorString(error));
  cudaFree(d.in);
  cudaFree(d.out);
  cudaFree(d.words);
  cudaFree(d.raw);
  return error == cudaSuccess || c.ends ? 0 : 1;
}

template <size_t N>
int run_cases(const Case (&cases)[N], int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "list")) {
    for (const Case& c : cases)
      if (c.ends) std::printf("%s\n", c.name);
    return 0;
  }
  if (argc == 2 && !std::strcmp(argv[1], "names")) {
    for (const Case& c : cases) std::printf("%s%s\n", c.name, c.run[0] ? "" : " right");
    return 0;
  }
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "error: list; names; wrong; right; NAME wrong|right\n");
    return 2;
  }
  const bool right = !std::strcmp(argv[argc - 1], "right");
  int failed = 0;
  for (const Case& c : cases)
    if (c.run[right] && (argc == 3 ? !std::strcmp(argv[1], c.name) : right || !c.ends)) failed |= run(c, right);
  return failed;
}
