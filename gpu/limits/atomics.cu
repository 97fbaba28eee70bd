// Atomics by contention: on global memory from the whole chip (updates a second), on shared memory from one block
// (cycles a warp's instruction). `places`: how many addresses the lanes use, in turn.
#include <type_traits>

#include "measure.h"

enum class Kind { add32, add64, addf32, addf64, min32, exchange, swap, add32_result };

template <Kind kKind>
__device__ void update(void* at, unsigned value) {
  if (kKind == Kind::add32) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
  if (kKind == Kind::add64)
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(at), "l"(static_cast<unsigned long long>(value)) : "memory");
  if (kKind == Kind::addf32)
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(at), "f"(static_cast<float>(value)) : "memory");
  if (kKind == Kind::addf64)
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(at), "d"(static_cast<double>(value)) : "memory");
  if (kKind == Kind::min32) asm volatile("red.global.min.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
  unsigned old;
  if (kKind == Kind::exchange)
    asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
  if (kKind == Kind::swap)
    asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(at), "r"(value + 1), "r"(value) : "memory");
  if (kKind == Kind::add32_result)
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(at), "r"(value) : "memory");
}

// Lane i of the grid updates place (i / together) mod places, each `apart` bytes after the last.
template <Kind kKind>
__global__ void updates(char* data, unsigned together, unsigned places, unsigned apart, int count) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < count; ++k) {
    const unsigned place = (thread / together + k * 37) & (places - 1);
    update<kKind>(data + static_cast<size_t>(place) * apart, thread & 1);
  }
}

template <Kind kKind>
void measure(const char* name, char* data, unsigned apart, int blocks) {
  constexpr int kThreads = 256;
  const auto rate = [&](const std::string& of, unsigned together, unsigned places) {
    const int count = places < 64 ? 4 : 16;
    const double seconds =
        seconds_of([&] { updates<kKind><<<blocks, kThreads>>>(data, together, places, apart, count); }, 3);
    put(std::string("atomics/") + name + "/" + of, static_cast<double>(blocks) * kThreads * count / seconds,
        "lane updates a second");
  };
  for (unsigned places = 1; places <= 1u << 20; places *= 4) rate("lanes_in_turn/" + std::to_string(places), 1, places);
  for (unsigned places = 1; places <= 1u << 20; places *= 32)
    rate("warp_together/" + std::to_string(places), 32, places);
}

// `Sum`: of numbers of that type; void: of integers, as an atomic or a reduction.
template <typename Sum, bool kResult>
__global__ void shared_updates(unsigned together, unsigned places, int count, unsigned* never, long long* cycles) {
  __shared__ __align__(8) unsigned words[4096];
  for (int k = threadIdx.x; k < 4096; k += blockDim.x) words[k] = 0;
  __syncthreads();
  unsigned bits = 0;
  const unsigned at =
      static_cast<unsigned>(__cvta_generic_to_shared(words)) + (threadIdx.x / together & (places - 1)) * 4;
  const long long start = clock64();
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    unsigned old = 0;
    const unsigned value = threadIdx.x;
    if constexpr (!std::is_void_v<Sum>) {
      atomicAdd(reinterpret_cast<Sum*>(words) + (threadIdx.x / together & (places - 1)), Sum(1));
    } else if (kResult) {
      asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(at), "r"(value) : "memory");
    } else {
      asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
    }
    bits |= old;
  }
  __syncthreads();
  const long long stop = clock64();
  if (bits == 0x7fffffffu) *never = bits;
  if (threadIdx.x == 0) *cycles = stop - start;
}

int main() {
  const int processors = attribute(cudaDevAttrMultiProcessorCount);
  char* data = zeros<char>(size_t{1} << 24);
  unsigned* never = zeros<unsigned>(1);
  const int blocks = processors * 8;
  measure<Kind::add32>("red.add.u32", data, 4, blocks);
  measure<Kind::add64>("red.add.u64", data, 8, blocks);
  measure<Kind::addf32>("red.add.f32", data, 4, blocks);
  measure<Kind::addf64>("red.add.f64", data, 8, blocks);
  measure<Kind::min32>("red.min.u32", data, 4, blocks);
  measure<Kind::exchange>("atom.exch.b32", data, 4, blocks);
  measure<Kind::swap>("atom.cas.b32", data, 4, blocks);
  measure<Kind::add32_result>("atom.add.u32", data, 4, blocks);
  constexpr int kCount = 64;
  for (const unsigned places : {1u, 2u, 4u, 8u, 16u, 32u, 1024u}) {
    const std::string of = "lanes_in_turn/" + std::to_string(places);
    const auto cycles = [&](const std::string& name, int threads, const auto& launch) {
      put("atomics_shared/" + name + "/" + of, cycles_of(launch, 3) / (kCount * threads / 32),
          "cycles a warp's instruction");
    };
    for (const int threads : {32, 1024}) {
      const std::string from = "/" + std::to_string(threads) + "threads";
      cycles("red.add.u32" + from, threads,
             [&](long long* c) { shared_updates<void, false><<<1, threads>>>(1, places, kCount, never, c); });
      cycles("atom.add.u32" + from, threads,
             [&](long long* c) { shared_updates<void, true><<<1, threads>>>(1, places, kCount, never, c); });
      cycles("atom.add.f32" + from, threads,
             [&](long long* c) { shared_updates<float, false><<<1, threads>>>(1, places, kCount, never, c); });
      cycles("atom.add.f64" + from, threads,
             [&](long long* c) { shared_updates<double, false><<<1, threads>>>(1, places, kCount, never, c); });
    }
  }
  return 0;
}
