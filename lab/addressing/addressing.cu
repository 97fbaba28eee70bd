// Which threads add, and where: three ways to walk the same tree of sums in shared memory. Each block adds up its
// floats; the kernels differ only in how a step deals out its additions to the lanes.
//
//   addressing [--n N] [--block B] [--rung NAME]     n >= 0 (default 2^24), B a power of two from 32 to 1024 (256)
//
// The values are small whole numbers, so every sum of floats is exact whatever the order. A <rung>_steps kernel is the
// same rung stopped after so many steps, for one block: the lab takes the difference of two such launches as the step.
#include "../program.h"

constexpr int kAllSteps = 32;  // more than a block of 1024 needs

__device__ inline float own_element(const float* data, size_t n) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  return i < n ? data[i] : 0.0f;
}

__device__ inline void walk_modulo(const float* data, float* partial, size_t n, int steps) {
  extern __shared__ float sums[];
  const unsigned int tid = threadIdx.x;
  sums[tid] = own_element(data, n);
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x && steps > 0; s *= 2, --steps) {
    if (tid % (2 * s) == 0) sums[tid] += sums[tid + s];
    __syncthreads();
  }
  if (tid == 0) partial[blockIdx.x] = sums[0];
}

// Rung 1. In the step of distance s every 2s-th thread adds the sum s to its right: the remainder decides.
// Counters: the threads at work are spread over all warps, so every warp stays in nearly every step and diverges in it.
// The words of the lanes at work keep as far apart as the lanes, so there is no bank conflict.
__global__ void interleaved_modulo(const float* data, float* partial, size_t n) {
  walk_modulo(data, partial, n, kAllSteps);
}
__global__ void interleaved_modulo_steps(const float* data, float* partial, size_t n, int steps) {
  walk_modulo(data, partial, n, steps);
}

__device__ inline void walk_strided(const float* data, float* partial, size_t n, int steps) {
  extern __shared__ float sums[];
  const unsigned int tid = threadIdx.x;
  sums[tid] = own_element(data, n);
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x && steps > 0; s *= 2, --steps) {
    const unsigned int i = 2 * s * tid;
    if (i < blockDim.x) sums[i] += sums[i + s];
    __syncthreads();
  }
  if (tid == 0) partial[blockIdx.x] = sums[0];
}

// Rung 2. The same additions, done by the first threads: thread t takes the pair at 2st.
// Counters: whole warps leave, so there is hardly any divergence and half the requests; but neighbouring lanes now work
// on words 2s apart, which share banks: 2-way conflicts, then 4-way, and so on as s grows.
__global__ void strided_index(const float* data, float* partial, size_t n) {
  walk_strided(data, partial, n, kAllSteps);
}
__global__ void strided_index_steps(const float* data, float* partial, size_t n, int steps) {
  walk_strided(data, partial, n, steps);
}

__device__ inline void walk_sequential(const float* data, float* partial, size_t n, int steps) {
  extern __shared__ float sums[];
  const unsigned int tid = threadIdx.x;
  sums[tid] = own_element(data, n);
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0 && steps > 0; s /= 2, --steps) {
    if (tid < s) sums[tid] += sums[tid + s];
    __syncthreads();
  }
  if (tid == 0) partial[blockIdx.x] = sums[0];
}

// Rung 3. Other pairs: the first half of the sums takes in the second half, so thread t works on word t.
// Counters: as few requests as rung 2, and neighbouring lanes on neighbouring words: no conflict in any step.
__global__ void sequential(const float* data, float* partial, size_t n) {
  walk_sequential(data, partial, n, kAllSteps);
}
__global__ void sequential_steps(const float* data, float* partial, size_t n, int steps) {
  walk_sequential(data, partial, n, steps);
}

struct Rung {
  const char* name;
  void (*kernel)(const float*, float*, size_t);
  void (*steps)(const float*, float*, size_t, int);
};

const Rung kRungs[] = {
    {"interleaved_modulo", interleaved_modulo, interleaved_modulo_steps},
    {"strided_index", strided_index, strided_index_steps},
    {"sequential", sequential, sequential_steps},
};

int main(int argc, char** argv) {
  Program program(argc, argv,
                  {{"--n", 1 << 24, 0, 1ull << 34, Option::any}, {"--block", 256, 32, 1024, Option::power_of_two}});
  const size_t n = program["--n"];
  const unsigned int block = static_cast<unsigned int>(program["--block"]), blocks = blocks_for(n, block);
  const size_t shared = block * sizeof(float);

  std::vector<float> host(n), expected(blocks);
  for (size_t i = 0; i < n; ++i) expected[i / block] += host[i] = static_cast<float>(element(i));
  const Array<float> data(host);
  Array<float> partial(blocks);

  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    bool right = true;
    partial.spoil();
    if (blocks) {
      rung.kernel<<<blocks, block, shared>>>(data.get(), partial.get(), n);
      CHECK_KERNEL();
      right = partial.download() == expected;
      unsigned int last = 0;
      for (unsigned int s = 1; s < block; s *= 2) ++last;
      for (unsigned int steps = 0; steps <= last; ++steps) {
        rung.steps<<<1, block, shared>>>(data.get(), partial.get(), n, static_cast<int>(steps));
        CHECK_KERNEL();
      }
      right = right && partial.download(1)[0] == expected[0];
    }
    program.result(rung.name, right, std::to_string(blocks) + " sums");
  }
  return program.end();
}
