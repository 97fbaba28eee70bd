// The place of a thread's local array: registers if the compiler knows every index, else local memory.
//
//   registers [--n N] [--block B] [--rung NAME]     n >= 0 results (default 2^20), B from 1 to 1024 (256)
//
// Each thread keeps 16 numbers and adds them up with weights. No instruction computes a register's number, so an array
// with a variable index lies in memory, even a thread's own.
#include "../program.h"

constexpr int kSize = 16;

// The thread's numbers: a few steps of a generator, so that no two are alike and nothing is loaded.
__host__ __device__ inline unsigned int next(unsigned int x) { return x * 1664525u + 1013904223u; }

// Rung 1. All loops are unrolled, so every index is a constant.
// Counters: no local access at all; one store a thread.
__global__ void constant_indices(unsigned int* out, size_t n, int) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned int own[kSize], x = static_cast<unsigned int>(i);
#pragma unroll
  for (int k = 0; k < kSize; ++k) own[k] = x = next(x);
  unsigned int sum = 0;
#pragma unroll
  for (int k = 0; k < kSize; ++k) sum += own[(k * 5 + 3) % kSize] * (k + 1);
  out[i] = sum;
}

// Rung 2. The same, but where the walk through the array begins is known only at run time.
// Counters: 16 numbers written to local memory and 16 read back. Lanes' local memories are interleaved word by word, so
// lanes with the same index touch 4 sectors, like a coalesced access. (ptxas may widen what the PTX does word by word.)
__global__ void runtime_indices(unsigned int* out, size_t n, int start) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned int own[kSize], x = static_cast<unsigned int>(i);
#pragma unroll
  for (int k = 0; k < kSize; ++k) own[k] = x = next(x);
  unsigned int sum = 0;
#pragma unroll
  for (int k = 0; k < kSize; ++k) sum += own[(k * 5 + start) & (kSize - 1)] * (k + 1);
  out[i] = sum;
}

// Rung 3. Each lane begins somewhere else.
// Counters: as many local loads, but lanes with different indices are rows apart: up to 32 sectors a request instead
// of 4.
__global__ void lanes_apart(unsigned int* out, size_t n, int start) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned int own[kSize], x = static_cast<unsigned int>(i);
#pragma unroll
  for (int k = 0; k < kSize; ++k) own[k] = x = next(x);
  unsigned int sum = 0;
  const int first = start + static_cast<int>(threadIdx.x);
#pragma unroll
  for (int k = 0; k < kSize; ++k) sum += own[(k * 5 + first) & (kSize - 1)] * (k + 1);
  out[i] = sum;
}

// Rung 4. Rung 1 with the order that two blocks of 1024 threads fit a processor at once, which caps a thread at 32
// registers. Counters: here as rung 1's. What does not fit is spilled to local memory by ptxas, after PTX: only a GPU's
// compiler report
// (-Xptxas -v) or its counters show it.
__global__ void __launch_bounds__(1024, 2) register_cap(unsigned int* out, size_t n, int) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned int own[kSize], x = static_cast<unsigned int>(i);
#pragma unroll
  for (int k = 0; k < kSize; ++k) own[k] = x = next(x);
  unsigned int sum = 0;
#pragma unroll
  for (int k = 0; k < kSize; ++k) sum += own[(k * 5 + 3) % kSize] * (k + 1);
  out[i] = sum;
}

struct Rung {
  const char* name;
  void (*kernel)(unsigned int*, size_t, int);
  bool apart;
};

const Rung kRungs[] = {{"constant_indices", constant_indices, false},
                       {"runtime_indices", runtime_indices, false},
                       {"lanes_apart", lanes_apart, true},
                       {"register_cap", register_cap, false}};

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 1 << 20, 0, 1ull << 31, Option::any}, {"--block", 256, 1, 1024, Option::any}});
  const size_t n = program["--n"];
  const unsigned int block = static_cast<unsigned int>(program["--block"]);
  Array<unsigned int> out(n);
  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    out.spoil();
    if (n) rung.kernel<<<blocks_for(n, block), block>>>(out.get(), n, 3);
    CHECK_KERNEL();
    const std::vector<unsigned int> result = out.download();
    bool right = true;
    for (size_t i = 0; i < n; ++i) {
      unsigned int own[kSize], x = static_cast<unsigned int>(i), sum = 0;
      for (int k = 0; k < kSize; ++k) own[k] = x = next(x);
      const int first = 3 + (rung.apart ? static_cast<int>(i % block) : 0);
      for (int k = 0; k < kSize; ++k) sum += own[(k * 5 + first) % kSize] * (k + 1);
      right = right && result[i] == sum;
    }
    program.result(rung.name, right);
  }
  return program.end();
}
