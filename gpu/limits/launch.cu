// The clock, an empty launch, blocks that start and end, barriers and fences.
#include <chrono>

#include "measure.h"

__global__ void nothing() {}
__global__ void one_load(const unsigned* in, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i & 0xffff] = in[i & 0xffff];
}
__global__ void uses_shared(unsigned* never) {
  extern __shared__ unsigned words[];
  if (words[threadIdx.x] == 0x7fffffffu) *never = 1;
}

__global__ void spin(long long ticks, unsigned long long* nanoseconds, long long* cycles) {
  unsigned long long begin, end;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  const long long start = clock64();
  while (clock64() - start < ticks) {}
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
  *cycles = clock64() - start;
  *nanoseconds = end - begin;
}

__global__ void barriers(long long* cycles) {
  __syncthreads();
  const long long start = clock64();
#pragma unroll 8
  for (int k = 0; k < 256; ++k) asm volatile("bar.sync 0;" ::: "memory");
  const long long stop = clock64();
  if (threadIdx.x == 0) *cycles = stop - start;
}

__global__ void fences(unsigned* out, bool device, long long* cycles) {
  const long long start = clock64();
  for (int k = 0; k < 64; ++k) {
    out[threadIdx.x] = k;
    if (device)
      __threadfence();
    else
      __threadfence_block();
  }
  const long long stop = clock64();
  if (threadIdx.x == 0) *cycles = stop - start;
}

int main() {
  const int processors = attribute(cudaDevAttrMultiProcessorCount);
  put("device/multiprocessors", processors, "");
  put("device/l2", attribute(cudaDevAttrL2CacheSize), "B");
  put("device/clock_most", attribute(cudaDevAttrClockRate) * 1e3, "Hz");
  put("device/memory_clock", attribute(cudaDevAttrMemoryClockRate) * 1e3, "Hz");
  put("device/memory_bus", attribute(cudaDevAttrGlobalMemoryBusWidth), "bit");
  auto* nanoseconds = zeros<unsigned long long>(1);
  const double cycles = cycles_of([&](long long* c) { spin<<<1, 1>>>(100000000, nanoseconds, c); }, 3);
  unsigned long long taken = 1;
  CHECK(cudaMemcpy(&taken, nanoseconds, sizeof taken, cudaMemcpyDeviceToHost));
  put("device/clock", cycles / static_cast<double>(taken) * 1e9, "Hz");

  using Clock = std::chrono::steady_clock;
  std::vector<double> following, waited;
  for (int i = 0; i < 15; ++i) {
    const auto start = Clock::now();
    for (int k = 0; k < 1000; ++k) nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    const auto between = Clock::now();
    nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    following.push_back(std::chrono::duration<double>(between - start).count() / 1000);
    waited.push_back(std::chrono::duration<double>(Clock::now() - between).count());
  }
  put("launch/following", median(following), "s");
  put("launch/waited", median(waited), "s");

  unsigned *data = zeros<unsigned>(1 << 16), *more = zeros<unsigned>(1 << 16);
  for (const int threads : {32, 128, 256, 1024}) {
    for (const int blocks : {1, 132, 1 << 10, 1 << 14, 1 << 17, 1 << 20}) {
      const std::string of = std::to_string(blocks) + "x" + std::to_string(threads);
      put("launch/empty/" + of, seconds_of([&] { nothing<<<blocks, threads>>>(); }), "s between events");
      put("launch/one_load/" + of, seconds_of([&] { one_load<<<blocks, threads>>>(data, more); }), "s between events");
    }
  }
  for (const int kib : {1, 8, 32, 48})
    put("launch/shared_" + std::to_string(kib) + "KiB/16384x128",
        seconds_of([&] { uses_shared<<<1 << 14, 128, kib << 10>>>(data); }), "s between events");
  for (const int threads : {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024})
    put("barrier/" + std::to_string(threads), cycles_of([&](long long* c) { barriers<<<1, threads>>>(c); }) / 256,
        "cycles");
  for (const bool device : {false, true})
    for (const int threads : {1, 32, 1024})
      put(std::string("fence/") + (device ? "device/" : "block/") + std::to_string(threads),
          cycles_of([&](long long* c) { fences<<<1, threads>>>(data, device, c); }) / 64, "cycles, store and fence");
  return 0;
}
