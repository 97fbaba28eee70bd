// The shared part of the programs that print the codes of CUDA: a call, its code, the last error after it.
#pragma once
#include <cuda_runtime.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>
static sigjmp_buf env;
static void on_segv(int) { siglongjmp(env, 1); }
#define T(e)                                                       \
  do {                                                             \
    cudaGetLastError();                                            \
    if (sigsetjmp(env, 1) == 0) {                                  \
      const cudaError_t r = (e);                                   \
      printf("%s\t%d\t%d\n", #e, (int)r, (int)cudaGetLastError()); \
    } else                                                         \
      printf("%s\tcrash\n", #e);                                   \
    fflush(stdout);                                                \
  } while (0)
__global__ void nothing() {}
__global__ void takes(int* p) {
  if (p) *p = 1;
}
__device__ int variable[8];
static cudaError_t go(dim3 g, dim3 b, size_t s = 0, cudaStream_t st = nullptr) {
  nothing<<<g, b, s, st>>>();
  return cudaPeekAtLastError();
}

// The arguments of the calls, under the names that stand in tests/truth/error_codes.txt.
static void *p, *q, *h, *out;
static char host[4096];
static size_t z;
static int i;
static float ms;
static cudaStream_t s, s2;
static cudaEvent_t e, e2, untimed;
static void prepare() {
  signal(SIGSEGV, on_segv);
  cudaFree(0);
  cudaMalloc(&p, 4096);
  cudaMalloc(&q, 4096);
  cudaMallocHost(&h, 4096);
  cudaStreamCreate(&s);
  cudaStreamCreate(&s2);
  cudaEventCreate(&e);
  cudaEventCreate(&e2);
  cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
}
