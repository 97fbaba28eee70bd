// Bandwidth: of device memory by the bytes in flight, of L2, of L1 and shared memory by the shape of a warp's request;
// of scattered sectors. Whole-chip figures are bytes a second; figures of one multiprocessor are cycles a request.
#include "measure.h"

template <int kUnroll, typename T>
__global__ void read_all(const T* in, size_t n, T* never) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  unsigned bits = 0;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i + (kUnroll - 1) * stride < n;
       i += kUnroll * stride) {
    T v[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) v[k] = __ldcg(in + i + k * stride);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) bits |= *reinterpret_cast<unsigned*>(&v[k]);
  }
  if (bits == 0x7fffffffu) never[0] = in[1];
}

template <typename T>
__global__ void write_all(T* out, size_t n, T value) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) out[i] = value;
}

template <int kUnroll, typename T>
__global__ void copy_all(const T* in, T* out, size_t n) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i + (kUnroll - 1) * stride < n;
       i += kUnroll * stride) {
    T v[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) v[k] = in[i + k * stride];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) out[i + k * stride] = v[k];
  }
}

// The same array again and again: it stays in L2.
__global__ void read_again(const uint4* in, int n, int rounds, uint4* never) {
  const int stride = gridDim.x * blockDim.x;
  unsigned bits = 0;
  for (int r = 0; r < rounds; ++r) {
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) bits |= __ldcg(in + (i ^ (r & 7))).x;
  }
  if (bits == 0x7fffffffu) *never = in[1];
}
__global__ void write_again(uint4* out, int n, int rounds) {
  const int stride = gridDim.x * blockDim.x;
  for (int r = 0; r < rounds; ++r)
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) out[i] = make_uint4(r, r, r, r);
}

// Each thread's accesses go to sectors at places that a hash gives.
template <bool kWrite>
__global__ void scattered(unsigned* data, unsigned mask, int count, unsigned* never) {
  unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u, bits = 0;
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
    i = i * 1664525u + 1013904223u;
    unsigned* at = data + static_cast<size_t>((i >> 3) & mask) * 8;
    if (kWrite)
      *at = i;
    else
      bits |= __ldcg(at);
  }
  if (bits == 0x7fffffffu) *never = bits;
}

// One multiprocessor: every lane loads `step` words after its neighbour; all stays in L1 (kWhere 0), or in L2 (1), or
// shared memory (2).
template <int kWhere, int kWords>
__global__ void requests(const unsigned* in, int step, int mask, int rounds, unsigned* never, long long* cycles) {
  extern __shared__ unsigned words[];
  if (kWhere == 2)
    for (int k = threadIdx.x; k <= mask; k += blockDim.x) words[k] = 0;
  unsigned bits = 0;
  int at = (threadIdx.x % 32) * step + threadIdx.x / 32 * 32 * kWords;
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (int r = -1; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      unsigned v[4] = {};
      const int i =
          (at + (r * 8 + k) * 1024 + (r & 31) * 32) & mask;  // another place each time, so that no load is merged
      if (kWhere == 2) {
        const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(words + i));
        if (kWords == 1) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(place));
        if (kWords == 2) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(place));
        if (kWords == 4)
          asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                       : "r"(place));
      } else if (kWhere == 0) {
        if (kWords == 1) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v[0]) : "l"(in + i));
        if (kWords == 2) asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "l"(in + i));
        if (kWords == 4)
          asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                       : "l"(in + i));
      } else {
        if (kWords == 1) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v[0]) : "l"(in + i));
        if (kWords == 2) asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "l"(in + i));
        if (kWords == 4)
          asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                       : "l"(in + i));
      }
      bits |= v[0] | v[1] | v[2] | v[3];  // all of them: ptxas narrows a load of which a part is not needed
    }
  }
  __syncthreads();
  const long long stop = clock64();
  if (bits == 0x7fffffffu) *never = bits;
  if (threadIdx.x == 0) *cycles = stop - start;
}

template <bool kShared>
__global__ void stores(unsigned* out, int step, int mask, int rounds, long long* cycles) {
  extern __shared__ unsigned words[];
  const int at = (threadIdx.x % 32) * step + threadIdx.x / 32 * 32;
  __syncthreads();
  const long long start = clock64();
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int i = (at + k * 1024) & mask;
      if (kShared) {
        const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(words + i));
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(place), "r"(r) : "memory");
      } else {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(out + i), "r"(r) : "memory");
      }
    }
  }
  __syncthreads();
  const long long stop = clock64();
  if (threadIdx.x == 0) *cycles = stop - start;
}

int main() {
  const int processors = attribute(cudaDevAttrMultiProcessorCount);
  const size_t bytes = size_t{1} << 30;
  uint4* in = zeros<uint4>(bytes / 16);
  uint4* out = zeros<uint4>(bytes / 16);
  unsigned* never = zeros<unsigned>(4);
  const auto rate = [&](const std::string& name, double moved, const auto& launch) {
    put("bandwidth/" + name, moved / seconds_of(launch, 3), "B/s");
  };
  const auto* words = reinterpret_cast<unsigned*>(in);
  for (const int threads : {32, 64, 128, 256, 512, 1024, 2048}) {  // of each multiprocessor
    const int block = threads < 256 ? threads : 256, blocks = processors * (threads / block);
    const size_t n = bytes / (threads < 256 ? 8 : 1);
    const std::string of = std::to_string(threads) + "threads";
    rate("dram_read/4B/" + of, n, [&] { read_all<1><<<blocks, block>>>(words, n / 4, never); });
    rate("dram_read/4x4B/" + of, n, [&] { read_all<4><<<blocks, block>>>(words, n / 4, never); });
    rate("dram_read/16B/" + of, n, [&] { read_all<1><<<blocks, block>>>(in, n / 16, out); });
    rate("dram_read/4x16B/" + of, n, [&] { read_all<4><<<blocks, block>>>(in, n / 16, out); });
    rate("dram_write/16B/" + of, n, [&] { write_all<<<blocks, block>>>(out, n / 16, make_uint4(1, 2, 3, 4)); });
    rate("dram_copy/16B/" + of, 2.0 * n, [&] { copy_all<1><<<blocks, block>>>(in, out, n / 16); });
  }
  for (const int blocks : {1, 2, 4, 8, 16, 33, 66})
    rate("dram_read/4x16B/" + std::to_string(blocks) + "blocks_of_1024", bytes / 16,
         [&] { read_all<4><<<blocks, 1024>>>(in, bytes / 16 / 16, out); });
  const size_t n = bytes / 4;
  rate("dram_read/4B/a_thread_each", bytes, [&] { read_all<1><<<n / 256, 256>>>(words, n, never); });
  rate("dram_write/4B/a_thread_each", bytes,
       [&] { write_all<<<n / 256, 256>>>(reinterpret_cast<unsigned*>(out), n, 7u); });
  rate("dram_copy/4B/a_thread_each", 2.0 * bytes,
       [&] { copy_all<1><<<n / 256, 256>>>(words, reinterpret_cast<unsigned*>(out), n); });
  for (const int mib : {1, 4, 8, 16, 24, 32}) {
    const int count = mib << 16, rounds = 512 / mib;
    rate("l2_read/" + std::to_string(mib) + "MiB", 16.0 * count * rounds,
         [&] { read_again<<<processors * 4, 512>>>(in, count, rounds, out); });
    rate("l2_write/" + std::to_string(mib) + "MiB", 16.0 * count * rounds,
         [&] { write_again<<<processors * 4, 512>>>(out, count, rounds); });
  }
  for (const int mib : {8, 32, 128, 1024}) {
    const unsigned mask = (static_cast<unsigned>(mib) << 15) - 1;
    const double moved = 32.0 * processors * 4 * 512 * 64;
    rate("scattered_read/" + std::to_string(mib) + "MiB", moved,
         [&] { scattered<false><<<processors * 4, 512>>>(reinterpret_cast<unsigned*>(in), mask, 64, never); });
    rate("scattered_write/" + std::to_string(mib) + "MiB", moved,
         [&] { scattered<true><<<processors * 4, 512>>>(reinterpret_cast<unsigned*>(out), mask, 64, never); });
  }
  constexpr int kRounds = 64;
  const auto cycles = [&](const std::string& name, int rounds, const auto& launch) {
    put("requests/" + name, cycles_of(launch, 3) / (rounds * 8.0 * 32), "cycles a warp's request, 32 warps");
  };
  for (const int step : {1, 2, 4, 8, 16, 32}) {
    const std::string of = "/step" + std::to_string(step);
    cycles("shared_load" + of, kRounds + 1,
           [&](long long* c) { requests<2, 1><<<1, 1024, 32768>>>(words, step, 8191, kRounds, never, c); });
    cycles("shared_store" + of, kRounds, [&](long long* c) {
      stores<true><<<1, 1024, 32768>>>(reinterpret_cast<unsigned*>(out), step, 8191, kRounds, c);
    });
    cycles("l1_load" + of, kRounds + 1,
           [&](long long* c) { requests<0, 1><<<1, 1024>>>(words, step, 8191, kRounds, never, c); });
    cycles("l2_load" + of, kRounds + 1,
           [&](long long* c) { requests<1, 1><<<1, 1024>>>(words, step, (1 << 18) - 1, kRounds, never, c); });
    cycles("global_store" + of, kRounds, [&](long long* c) {
      stores<false><<<1, 1024>>>(reinterpret_cast<unsigned*>(out), step, (1 << 18) - 1, kRounds, c);
    });
  }
  cycles("shared_load/64bit", kRounds + 1,
         [&](long long* c) { requests<2, 2><<<1, 1024, 32768>>>(words, 2, 8191, kRounds, never, c); });
  cycles("shared_load/128bit", kRounds + 1,
         [&](long long* c) { requests<2, 4><<<1, 1024, 32768>>>(words, 4, 8191, kRounds, never, c); });
  cycles("l1_load/64bit", kRounds + 1,
         [&](long long* c) { requests<0, 2><<<1, 1024>>>(words, 2, 8191, kRounds, never, c); });
  cycles("l1_load/128bit", kRounds + 1,
         [&](long long* c) { requests<0, 4><<<1, 1024>>>(words, 4, 8191, kRounds, never, c); });
  cycles("l2_load/64bit", kRounds + 1,
         [&](long long* c) { requests<1, 2><<<1, 1024>>>(words, 2, (1 << 18) - 1, kRounds, never, c); });
  cycles("l2_load/128bit", kRounds + 1,
         [&](long long* c) { requests<1, 4><<<1, 1024>>>(words, 4, (1 << 18) - 1, kRounds, never, c); });
  return 0;
}
