// The distance of each kind of memory: one thread follows a chain in which every word holds the place of the next, so
// that no access can begin before the previous one has ended.
//
//   latency [--n N] [--cycles 1] [--rung NAME]     N steps of the chain, from 1 to 2^20 (default 4096)
//
// The machine counts the accesses and times nothing. On a GPU, --cycles 1 prints the clock cycles of a step.
#include "../program.h"

struct Result {
  unsigned int end;  // where the chain led
  long long cycles;
};

// Follows the chain for n steps, with the clock read before and after. The barrier keeps the compiler from moving the
// chain past the second reading.
#define FOLLOW(step)                                    \
  unsigned int at = start;                              \
  const long long before = clock64();                   \
  _Pragma("unroll 1") for (int i = 0; i < n; ++i) step; \
  __syncwarp(1u);                                       \
  const long long after = clock64();                    \
  result->end = at;                                     \
  result->cycles = after - before

// Rung 1. No memory: each step is an addition that needs the one before.
// Counters: no access but the two stores of the result.
__global__ void in_register(const unsigned int*, unsigned int, unsigned int start, int n, Result* result) {
  FOLLOW(asm volatile("add.u32 %0, %0, 1;" : "+r"(at)));
}

constexpr unsigned int kSmall = 1024;  // words of the chains in shared, constant and local memory

// Rung 2. The chain lies in shared memory.
// Counters: one shared load and one wavefront a step, and before that the copying of the chain.
__global__ void in_shared(const unsigned int* chain, unsigned int words, unsigned int start, int n, Result* result) {
  __shared__ unsigned int near[kSmall];
#pragma unroll 1  // unrolled, the assembler would make wider stores of these than the program says
  for (unsigned int i = 0; i < kSmall; ++i) near[i] = chain[i % words];
  FOLLOW(at = near[at]);
}

__constant__ unsigned int constant_chain[kSmall];

// Rung 3. In constant memory.
// Counters: constant memory has a path of its own, with no sectors or wavefronts: nothing is counted.
__global__ void in_constant(const unsigned int*, unsigned int, unsigned int start, int n, Result* result) {
  FOLLOW(at = constant_chain[at]);
}

// Rung 4. In global memory, 4 KiB: small enough for the processor's own cache (L1).
// Counters: one request and one sector a step; the distinct sectors are few, so nearly all steps find theirs in a
// cache.
__global__ void global_l1(const unsigned int* chain, unsigned int, unsigned int start, int n, Result* result) {
  FOLLOW(at = __ldca(chain + at));
}

// Rung 5. The same, past L1, as far as the cache that all processors share (L2).
// Counters: those of rung 4; where a sector comes from is not counted.
__global__ void global_l2(const unsigned int* chain, unsigned int, unsigned int start, int n, Result* result) {
  FOLLOW(at = __ldcg(chain + at));
}

// Rung 6. Words of a chain that is spread over 256 MiB, more than any L2, each visited once.
// Counters: as many requests and sectors; but now every sector is a new one: compulsory bytes are 32 a step.
__global__ void global_far(const unsigned int* chain, unsigned int, unsigned int start, int n, Result* result) {
  FOLLOW(at = __ldcg(chain + at));
}

// Rung 7. In the thread's own local memory, which is global memory by another name.
// Counters: one local request and one sector a step, and the copying of the chain.
__global__ void in_local(const unsigned int* chain, unsigned int words, unsigned int start, int n, Result* result) {
  unsigned int own[kSmall];
  for (unsigned int i = 0; i < kSmall; ++i) own[i] = chain[i % words];
  FOLLOW(at = own[at]);
}

// A chain through `count` places that lie `apart` words from each other: all of them once, then from the first again.
// The jump between places is odd, hence prime to `count`, a power of two.
std::vector<unsigned int> make_chain(size_t count, size_t apart) {
  std::vector<unsigned int> chain(count * apart);
  const size_t jump = count > 8 ? count / 8 * 3 + 1 : 1;
  for (size_t i = 0, place = 0; i < count; ++i) {
    const size_t following = (place + jump) % count;
    chain[place * apart] = static_cast<unsigned int>(following * apart);
    place = following;
  }
  return chain;
}

struct Rung {
  const char* name;
  void (*kernel)(const unsigned int*, unsigned int, unsigned int, int, Result*);
  enum { none, small, far } chain;
};

const Rung kRungs[] = {{"in_register", in_register, Rung::none},  {"in_shared", in_shared, Rung::small},
                       {"in_constant", in_constant, Rung::small}, {"global_l1", global_l1, Rung::small},
                       {"global_l2", global_l2, Rung::small},     {"global_far", global_far, Rung::far},
                       {"in_local", in_local, Rung::small}};

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 4096, 1, 1 << 20, Option::any}, {"--cycles", 0, 0, 1, Option::any}});
  const int n = static_cast<int>(program["--n"]);
  size_t places = 1;
  while (places < static_cast<size_t>(n)) places *= 2;
  const size_t words = size_t{256} << 18;  // 256 MiB
  const std::vector<unsigned int> near = make_chain(kSmall, 1), wide = make_chain(places, words / places);
  const Array<unsigned int> near_chain(near), far_chain(wide);
  CHECK(cudaMemcpyToSymbol(constant_chain, near.data(), kSmall * sizeof(unsigned int)));
  Array<Result> result(1);
  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    result.spoil();
    const bool far = rung.chain == Rung::far;
    rung.kernel<<<1, 1>>>((far ? far_chain : near_chain).get(), kSmall, 0, n, result.get());
    CHECK_KERNEL();
    unsigned int expected = 0;
    for (int i = 0; i < n; ++i)
      expected = rung.chain == Rung::none ? expected + 1 : far ? wide[expected] : near[expected];
    const Result got = result.download()[0];
    char cycles[64] = "";
    if (program["--cycles"])
      std::snprintf(cycles, sizeof cycles, "%.1f cycles a step", static_cast<double>(got.cycles) / n);
    program.result(rung.name, got.end == expected, cycles);
  }
  return program.end();
}
