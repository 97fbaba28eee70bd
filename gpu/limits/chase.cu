// Latency of memory: one lane follows pointers through arrays of growing size, by loads that may use L1 (ca) and that
// may not (cg); the halves of L2 and lines of DRAM, line by line; multiprocessors that walk over the same lines; shared
// memory by width and by conflicts; atomics whose result is waited for.

#include "measure.h"

constexpr int kSteps = 2048;

template <bool kL1>
__device__ unsigned load(const unsigned* at) {
  unsigned value;
  if (kL1)
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  else
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

// at[i] is the next element. `warm` steps are taken first.
template <bool kL1>
__global__ void follow(const unsigned* at, int warm, unsigned* never, long long* cycles) {
  unsigned i = 0;
  for (int k = 0; k < warm; ++k) i = load<kL1>(at + i);
  const long long start = clock64();
#pragma unroll 8
  for (int k = 0; k < kSteps; ++k) i = load<kL1>(at + i);
  if (i == 0xffffffffu) *never = i;
  *cycles = clock64() - start;
}

// Cycles of each line's load alone, after a pass that brings the lines into L2.
__global__ void each_line(const unsigned* at, int lines, int words, unsigned* taken) {
  unsigned zero = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int k = 0; k < lines; ++k) {
      const long long start = clock64();
      zero = load<false>(at + static_cast<size_t>(k) * words + zero);
      if (zero) return;  // never, but the clock is read when the value is there
      const long long stop = clock64();
      taken[k] = static_cast<unsigned>(stop - start);
    }
  }
}

// Cycles of each step of the chain at[i], as `each_line` has them, from DRAM.
__global__ void each_step(const unsigned* at, int steps, unsigned* taken) {
  unsigned i = 0;
  for (int k = 0; k < steps; ++k) {
    const long long start = clock64();
    i = load<false>(at + i);
    if (i == 0xffffffffu) return;
    const long long stop = clock64();
    taken[k] = static_cast<unsigned>(stop - start);
  }
}

// All warps walk over the same lines, which no L2 has yet, and wait for `kAtOnce` of them at a time.
template <int kAtOnce>
__global__ void together(const unsigned* at, unsigned* never, long long* cycles) {
  constexpr int kLines = 256;
  unsigned sum = 0;
  const long long start = clock64();
  for (int k = 0; k < kLines; k += kAtOnce) {
    unsigned v[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) v[n] = load<true>(at + (k + n) * 32 + threadIdx.x % 32);
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) sum |= v[n];
    at += sum == 0x7fffffff;  // never, but what is next needs the sum
  }
  if (sum == 0x12345) *never = sum;
  if (threadIdx.x == 0 && blockIdx.x == 0) *cycles = (clock64() - start) / (kLines / kAtOnce);
}

template <int kWords, int kConflicts>
__global__ void shared_chain(unsigned* never, long long* cycles) {
  __shared__ alignas(16) unsigned words[4096];
  for (int k = threadIdx.x; k < 4096; k += blockDim.x) words[k] = 0;
  __syncwarp();
  unsigned at =
      static_cast<unsigned>(__cvta_generic_to_shared(words)) + threadIdx.x * 4 * (kConflicts > 1 ? kConflicts : kWords);
  unsigned v[4] = {0, 0, 0, 0};
  const long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < 512; ++k) {
    if (kWords == 1) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(at));
    if (kWords == 2) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at));
    if (kWords == 4)
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                   : "r"(at));
    at += v[0] | v[1] | v[2] | v[3];
  }
  const long long stop = clock64();
  if (at == 1) *never = v[1] + v[2] + v[3];
  if (threadIdx.x == 0) *cycles = stop - start;
}

// An atomic whose old value says where the next goes.
template <bool kShared>
__global__ void atomic_chain(unsigned* global, unsigned step, long long* cycles) {
  __shared__ unsigned words[1024];
  for (int k = threadIdx.x; k < 1024; k += blockDim.x) words[k] = 0;
  __syncthreads();
  unsigned* at = (kShared ? words : global) + step * threadIdx.x;
  const long long start = clock64();
#pragma unroll 8
  for (int k = 0; k < 256; ++k) {
    unsigned old;
    if (kShared) {
      const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(at));
      asm volatile("atom.shared.add.u32 %0, [%1], 0;" : "=r"(old) : "r"(place) : "memory");
    } else {
      asm volatile("atom.global.add.u32 %0, [%1], 0;" : "=r"(old) : "l"(at) : "memory");
    }
    at += old;
  }
  const long long stop = clock64();
  if (at == nullptr) *global = 1;
  if (threadIdx.x == 0) *cycles = stop - start;
}

int main() {
  unsigned* never = zeros<unsigned>(1 << 16);
  for (const size_t kib : {4, 16, 64, 128, 192}) {
    unsigned* at = on_device(places((kib << 10) / 128, 32));
    const int warm = static_cast<int>(kib << 10) / 128;
    put("latency/l1/" + std::to_string(kib) + "KiB",
        cycles_of([&](long long* c) { follow<true><<<1, 1>>>(at, warm, never, c); }) / kSteps, "cycles");
    CHECK(cudaFree(at));
  }
  for (const size_t mib : {1, 4, 16, 24, 32, 40, 48, 64}) {
    unsigned* at = on_device(places((mib << 20) / 128, 32));
    const int warm = static_cast<int>(mib << 20) / 128;
    put("latency/l2/" + std::to_string(mib) + "MiB",
        cycles_of([&](long long* c) { follow<false><<<1, 1>>>(at, warm, never, c); }, 3) / kSteps, "cycles");
    CHECK(cudaFree(at));
  }
  for (const size_t mib : {256, 1024, 4096}) {  // nothing is warm: the chain starts behind an L2 full of other lines
    unsigned* at = on_device(places((mib << 20) / 1024, 256));
    unsigned* other = zeros<unsigned>(64 << 20);
    put("latency/dram/" + std::to_string(mib) + "MiB",
        cycles_of(
            [&](long long* c) {
              CHECK(cudaMemset(other, 0, 256u << 20));
              follow<false><<<1, 1>>>(at, 0, never, c);
            },
            3) /
            kSteps,
        "cycles");
    CHECK(cudaFree(at));
    CHECK(cudaFree(other));
  }
  {
    constexpr int kSteps = 2000;
    unsigned *at = on_device(places(kSteps, 32)), *other = zeros<unsigned>(64 << 20), *taken = zeros<unsigned>(kSteps);
    CHECK(cudaMemset(other, 0, 256u << 20));
    each_step<<<1, 1>>>(at, kSteps, taken);
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned> cycles(kSteps);
    CHECK(cudaMemcpy(cycles.data(), taken, kSteps * 4, cudaMemcpyDeviceToHost));
    std::sort(cycles.begin(), cycles.end());
    for (const int percent : {1, 10, 25, 50, 75, 90, 97, 99})
      put("latency/dram_line/" + std::to_string(percent) + "%", cycles[kSteps / 100 * percent], "cycles");
    CHECK(cudaMemset(at, 0, kSteps * 128));
    const auto walk = [&](const char* name, int blocks, auto kernel) {
      put(std::string("latency/dram_together/") + name,
          cycles_of(
              [&](long long* c) {
                CHECK(cudaMemset(other, 0, 256u << 20));
                kernel<<<blocks, 256>>>(at, never, c);
              },
              3),
          "cycles");
    };
    walk("1block/1line", 1, together<1>);
    walk("132blocks/1line", 132, together<1>);
    walk("1block/16lines", 1, together<16>);
    walk("132blocks/16lines", 132, together<16>);
    CHECK(cudaFree(other));
  }
  {
    constexpr int kLines = 8192;
    unsigned *at = zeros<unsigned>(kLines * 32), *taken = zeros<unsigned>(kLines);
    each_line<<<1, 1>>>(at, kLines, 32, taken);
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned> cycles(kLines);
    CHECK(cudaMemcpy(cycles.data(), taken, kLines * 4, cudaMemcpyDeviceToHost));
    std::sort(cycles.begin(), cycles.end());
    for (const int percent : {5, 25, 40, 50, 60, 75, 95})
      put("latency/l2_line/" + std::to_string(percent) + "%", cycles[kLines / 100 * percent], "cycles");
  }
  const auto shared = [&](const char* name, auto kernel) {
    put(std::string("latency/shared/") + name, cycles_of([&](long long* c) { kernel<<<1, 32>>>(never, c); }) / 512,
        "cycles, load and add");
  };
  shared("32bit", shared_chain<1, 1>);
  shared("64bit", shared_chain<2, 1>);
  shared("128bit", shared_chain<4, 1>);
  shared("2way", shared_chain<1, 2>);
  shared("4way", shared_chain<1, 4>);
  shared("8way", shared_chain<1, 8>);
  shared("16way", shared_chain<1, 16>);
  shared("32way", shared_chain<1, 32>);
  for (const int lanes : {1, 32}) {
    for (const unsigned step : {0u, 1u}) {
      const std::string of = std::to_string(lanes) + (step ? "lanes_apart" : "lanes_same");
      put("latency/atomic_shared/" + of,
          cycles_of([&](long long* c) { atomic_chain<true><<<1, lanes>>>(never, step, c); }) / 256, "cycles");
      put("latency/atomic_global/" + of,
          cycles_of([&](long long* c) { atomic_chain<false><<<1, lanes>>>(never, step, c); }) / 256, "cycles");
    }
  }
  return 0;
}
