// Paths beside those of ordinary loads and stores: constant memory, memory of the host, local memory, the fetching of
// code, and atomics that are tried until they succeed.

#include <numeric>

#include "measure.h"

constexpr int kSteps = 1024;
constexpr int kWords = 16384;  // 64 KiB, all the constant memory that a program has
__constant__ unsigned constants[kWords];

// Each lane follows its own chain; lanes of one number of `apart` begin at one place.
__global__ void constant_follow(int warm, int apart, int words, unsigned* never, long long* cycles) {
  unsigned i = threadIdx.x % apart * words;
  for (int k = 0; k < warm; ++k) i = constants[i];
  const long long start = clock64();
#pragma unroll 8
  for (int k = 0; k < kSteps; ++k) i = constants[i];
  if (i == 0xffffffffu) *never = i;
  const long long stop = clock64();
  if (threadIdx.x == 0) *cycles = stop - start;
}

// Independent loads from constant memory by all warps of a block: `apart` different words a warp.
__global__ void constant_many(int apart, int words, unsigned* never, long long* cycles) {
  const unsigned first = threadIdx.x % apart * words;
  unsigned sum = 0;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < 256; ++k) sum += constants[first + k];  // no two of a thread are one
  __syncthreads();
  const long long stop = clock64();
  if (sum == 1) *never = sum;
  if (threadIdx.x == 0) *cycles = stop - start;
}

__global__ void host_follow(const unsigned* at, unsigned* never, long long* cycles) {
  unsigned i = 0;
  const long long start = clock64();
  for (int k = 0; k < 256; ++k) i = *reinterpret_cast<const volatile unsigned*>(at + i);
  if (i == 0xffffffffu) *never = i;
  *cycles = clock64() - start;
}

__global__ void host_read(const unsigned* in, size_t n, unsigned* never) {
  unsigned bits = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    bits |= in[i];
  if (bits == 0xffffffffu) *never = bits;
}

__global__ void host_write(unsigned* out, size_t n) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x) out[i] = 7;
}

// A thread's own array, with an index that is no constant: mode 0 stores, 1 loads.
template <int kMode, int kBytes>
__global__ void local_array(int step, unsigned* never, long long* cycles) {
  unsigned own[kBytes / 4];
  for (int k = 0; k < kBytes / 4; ++k) own[k] = k;
  unsigned at = step, sum = 0;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 8
  for (int k = 0; k < 512; ++k) {
    if (kMode == 0)
      own[at] = k;
    else
      sum += own[at];
    at = (at + step) & (kBytes / 4 - 1);
  }
  __syncthreads();
  const long long stop = clock64();
  if (kMode == 0)
    for (int k = 0; k < kBytes / 4; ++k) sum += own[k];
  if (sum == 1) *never = sum;
  if (threadIdx.x == 0 && blockIdx.x == 0) *cycles = stop - start;
}

// A straight line of kTimes additions, each 16 bytes of code: the first pass fetches it.
template <int kTimes>
__global__ void straight(float x, float* never, long long* cycles) {
  float a = x;
  for (int pass = 0; pass < 3; ++pass) {
    const long long start = clock64();
#pragma unroll
    for (int k = 0; k < kTimes; ++k) asm volatile("fma.rn.f32 %0, %0, %0, %1;" : "+f"(a) : "f"(x));
    cycles[pass] = clock64() - start;
  }
  if (a == 0.25f) *never = a;
}

// A loop of so many additions that is not unrolled.
template <int kTimes>
__global__ void loop(int n, unsigned x, unsigned* never, long long* cycles) {
  unsigned a = x;
  const long long start = clock64();
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int t = 0; t < kTimes; ++t) asm volatile("xor.b32 %0, %0, %1;" : "+r"(a) : "r"(x));
  }
  *cycles = clock64() - start;
  if (a == 1) *never = a;
}

// The same, half the lanes by another way in each iteration.
__global__ void diverging(int n, unsigned x, unsigned* never, long long* cycles) {
  unsigned a = x + threadIdx.x;
  const long long start = clock64();
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if ((a + k) & 1)
      asm volatile("mul.lo.u32 %0, %0, %0;\nmul.lo.u32 %0, %0, %0;\nmul.lo.u32 %0, %0, %0;\nmul.lo.u32 %0, %0, %0;"
                   : "+r"(a));
    else
      asm volatile("xor.b32 %0, %0, %1;\nmul.lo.u32 %0, %0, %0;\nmul.lo.u32 %0, %0, %0;\nmul.lo.u32 %0, %0, %0;"
                   : "+r"(a)
                   : "r"(x));
  }
  if (threadIdx.x == 0) *cycles = clock64() - start;
  if (a == 1) *never = a;
}

// Each thread adds once, by compare and swap until it succeeds.
__global__ void swap_until(unsigned* at, unsigned words) {
  unsigned* const mine = at + (blockIdx.x * blockDim.x + threadIdx.x) % words * 32;
  unsigned old = *mine, seen;
  do {
    seen = old;
    old = atomicCAS(mine, seen, seen + 1);
  } while (old != seen);
}

__global__ void swap_until_f64(double* at, unsigned words) {
  auto* const mine = reinterpret_cast<unsigned long long*>(at + (blockIdx.x * blockDim.x + threadIdx.x) % words * 16);
  unsigned long long old = *mine, seen;
  do {
    seen = old;
    old = atomicCAS(mine, seen, __double_as_longlong(__longlong_as_double(seen) + 1.0));
  } while (old != seen);
}

template <typename Launch>
double seconds_of_launch(Launch launch, int repetitions = 5) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> all;
  for (int r = 0; r < repetitions; ++r) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    all.push_back(ms * 1e-3);
  }
  return median(all);
}

void constant_memory(unsigned* never) {
  for (const int kib : {1, 2, 4, 8, 16, 32, 48, 64}) {
    const std::vector<unsigned> at = places(kib * 16, 16);  // 64 bytes apart
    CHECK(cudaMemcpyToSymbol(constants, at.data(), at.size() * 4));
    const auto cycles = [&](int warm) {
      return cycles_of([&](long long* c) { constant_follow<<<1, 1>>>(warm, 1, 0, never, c); }) / kSteps;
    };
    put("latency/constant/" + std::to_string(kib) + "KiB", cycles(kib * 16), "cycles, load and shift");
  }
  {
    // Nothing is warm: 1024 lines of 64 bytes, each once, behind a copy of other lines.
    const std::vector<unsigned> at = places(1024, 16);
    unsigned* other = zeros<unsigned>(32 << 20);
    put("latency/constant/cold",
        cycles_of(
            [&](long long* c) {
              CHECK(cudaMemcpyToSymbol(constants, at.data(), at.size() * 4));
              CHECK(cudaMemset(other, 0, 128u << 20));
              constant_follow<<<1, 1>>>(0, 1, 0, never, c);
            },
            3) /
            kSteps,
        "cycles");
    CHECK(cudaFree(other));
  }
  std::vector<unsigned> same(kWords);
  std::iota(same.begin(), same.end(), 0u);  // each place leads to itself
  CHECK(cudaMemcpyToSymbol(constants, same.data(), same.size() * 4));
  for (const int words : {1, 16})
    for (const int apart : {1, 2, 4, 8, 16, 32}) {
      const std::string of = std::to_string(apart) + (words == 1 ? "words" : "lines");
      put("latency/constant_apart/" + of,
          cycles_of([&](long long* c) { constant_follow<<<1, 32>>>(32, apart, words, never, c); }) / kSteps, "cycles");
      put("rate/constant/" + of,
          cycles_of([&](long long* c) { constant_many<<<1, 1024>>>(apart, words, never, c); }) / (256 * 32),
          "cycles a warp's load, 32 warps");
    }
}

void host_memory(unsigned* never) {
  constexpr size_t kBytes = 64 << 20;
  unsigned *host, *mapped;
  CHECK(cudaHostAlloc(&host, kBytes, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&mapped, host, 0));
  const std::vector<unsigned> at = places(4096, 1024);
  std::copy(at.begin(), at.end(), host);
  put("latency/host", cycles_of([&](long long* c) { host_follow<<<1, 1>>>(mapped, never, c); }, 3) / 256, "cycles");
  for (const size_t kib : {16, 128, 1024, 8192, 65536}) {
    const size_t n = kib * 256;
    const auto blocks = static_cast<int>(std::min<size_t>(1056, n / 256));
    put("host/read/" + std::to_string(kib) + "KiB",
        seconds_of_launch([&] { host_read<<<blocks, 256>>>(mapped, n, never); }) * 1e6, "us");
    put("host/write/" + std::to_string(kib) + "KiB",
        seconds_of_launch([&] { host_write<<<blocks, 256>>>(mapped, n); }) * 1e6, "us");
  }
  put("host/nothing", seconds_of_launch([&] { host_write<<<1, 32>>>(mapped, 0); }) * 1e6, "us");
  CHECK(cudaFreeHost(host));
}

template <int kBytes>
void local_memory(unsigned* never) {
  const std::string of = "local/" + std::to_string(kBytes) + "B/";
  for (const int threads : {32, 1024}) {
    const double all = 512.0 * threads / 32;
    put(of + "store/" + std::to_string(threads),
        cycles_of([&](long long* c) { local_array<0, kBytes><<<132, threads>>>(5, never, c); }) / all,
        "cycles a warp's store");
    put(of + "load/" + std::to_string(threads),
        cycles_of([&](long long* c) { local_array<1, kBytes><<<132, threads>>>(5, never, c); }) / all,
        "cycles a warp's load");
  }
}

template <int kTimes>
void code(float* never) {
  long long* cycles = zeros<long long>(4);
  straight<kTimes><<<1, 32>>>(0.5F, never, cycles);
  CHECK(cudaDeviceSynchronize());
  long long got[3];
  CHECK(cudaMemcpy(got, cycles, sizeof got, cudaMemcpyDeviceToHost));
  const char* names[] = {"first", "second", "third"};
  for (int k = 0; k < 3; ++k)
    put("code/" + std::to_string(kTimes) + "/" + names[k], static_cast<double>(got[k]) / kTimes,
        "cycles an instruction");
  CHECK(cudaFree(cycles));
}

int main() {
  unsigned* never = zeros<unsigned>(1 << 16);
  // First: nothing has fetched their code.
  code<256>(reinterpret_cast<float*>(never));
  code<1024>(reinterpret_cast<float*>(never));
  code<4096>(reinterpret_cast<float*>(never));
  code<16384>(reinterpret_cast<float*>(never));
  constant_memory(never);
  local_memory<64>(never);
  local_memory<256>(never);
  local_memory<1024>(never);
  const auto looped = [&](const char* name, auto kernel) {
    put(std::string("loop/") + name, cycles_of([&](long long* c) { kernel<<<1, 32>>>(1000, 3, never, c); }) / 1000,
        "cycles an iteration");
  };
  looped("1", loop<1>);
  looped("4", loop<4>);
  looped("16", loop<16>);
  looped("diverging", diverging);
  double* doubles = reinterpret_cast<double*>(zeros<unsigned>(64 << 20));
  for (const int blocks : {1, 8, 132, 1056}) {
    for (const int threads : {32, 256}) {
      if (blocks * threads > 70000) continue;
      for (const unsigned words : {1u, 1024u}) {
        const std::string of = std::to_string(blocks) + "x" + std::to_string(threads) + "/" + std::to_string(words);
        put("swap/u32/" + of,
            seconds_of_launch([&] { swap_until<<<blocks, threads>>>(reinterpret_cast<unsigned*>(doubles), words); },
                              3) *
                1e6,
            "us");
        put("swap/f64/" + of, seconds_of_launch([&] { swap_until_f64<<<blocks, threads>>>(doubles, words); }, 3) * 1e6,
            "us");
      }
    }
  }
  host_memory(never);
  return 0;
}
