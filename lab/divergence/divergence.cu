// Two kinds of work, and who does which: lanes side by side, whole warps, or every lane both with the result picked
// afterwards.
//
//   divergence [--n N] [--block B] [--rung NAME]     n >= 0 (default 2^20), B from 1 to 1024 (256)
//
// Half of the elements are treated one way and half the other way, in all rungs; which half differs.
#include "../program.h"

constexpr int kRounds = 8;

__host__ __device__ inline unsigned int first_step(unsigned int x) { return x * 3 + 1; }
__host__ __device__ inline unsigned int second_step(unsigned int x) { return (x ^ (x >> 3)) + 7; }

// The numbers of rounds come as arguments, so that the loops stay loops and the branches stay branches.
__device__ inline unsigned int first_way(unsigned int x, int rounds) {
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) x = first_step(x);
  return x;
}
__device__ inline unsigned int second_way(unsigned int x, int rounds) {
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) x = second_step(x);
  return x;
}

// Rung 1. Even lanes go one way, odd lanes the other.
// Counters: one divergent branch in each warp, after which it executes both ways, each with 16 of 32 lanes.
__global__ void adjacent_lanes(const unsigned int* in, unsigned int* out, size_t n, int rounds) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (threadIdx.x % 2 == 0) {
    out[i] = first_way(in[i], rounds);
  } else {
    out[i] = second_way(in[i], rounds);
  }
}

// Rung 2. Even warps go one way, odd warps the other.
// Counters: as many branches, none divergent; all lanes on, and well over a third fewer warp instructions: a warp
// executes one way only.
__global__ void whole_warps(const unsigned int* in, unsigned int* out, size_t n, int rounds) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (threadIdx.x / 32 % 2 == 0) {
    out[i] = first_way(in[i], rounds);
  } else {
    out[i] = second_way(in[i], rounds);
  }
}

// Rung 3. Rung 1 without its branch: every lane goes both ways, step by step, and keeps one result.
// Counters: no divergent branch and all lanes on, though half of what they do is thrown away: mean active lanes look
// perfect, which is why one looks at the instructions too.
__global__ void predicated(const unsigned int* in, unsigned int* out, size_t n, int rounds) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const bool first = threadIdx.x % 2 == 0;
  unsigned int x = in[i];
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const unsigned int one = first_step(x), other = second_step(x);
    x = first ? one : other;
  }
  out[i] = x;
}

struct Rung {
  const char* name;
  void (*kernel)(const unsigned int*, unsigned int*, size_t, int);
  bool by_warp;
};

const Rung kRungs[] = {
    {"adjacent_lanes", adjacent_lanes, false}, {"whole_warps", whole_warps, true}, {"predicated", predicated, false}};

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 1 << 20, 0, 1ull << 30, Option::any}, {"--block", 256, 1, 1024, Option::any}});
  const size_t n = program["--n"];
  const unsigned int block = static_cast<unsigned int>(program["--block"]);
  std::vector<unsigned int> host(n);
  for (size_t i = 0; i < n; ++i) host[i] = static_cast<unsigned int>(element(i));
  const Array<unsigned int> in(host);
  Array<unsigned int> out(n);
  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    out.spoil();
    if (n) rung.kernel<<<blocks_for(n, block), block>>>(in.get(), out.get(), n, kRounds);
    CHECK_KERNEL();
    const std::vector<unsigned int> result = out.download();
    bool right = true;
    for (size_t i = 0; i < n; ++i) {
      const size_t thread = i % block;
      unsigned int x = host[i];
      for (int r = 0; r < kRounds; ++r)
        x = (rung.by_warp ? thread / 32 : thread) % 2 == 0 ? first_step(x) : second_step(x);
      right = right && result[i] == x;
    }
    program.result(rung.name, right);
  }
  return program.end();
}
