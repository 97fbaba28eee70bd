// Kernels with one mistake each, and the same kernel put right: what `coalesce check` has to find, and where it has to
// be silent. Ordinary CUDA, so that other checkers can be asked about the same kernels.
//
//   kernels NAME wrong|right      runs one; `kernels list` names them all, `kernels right` runs all
//
// A line that is to be reported ends in a comment `HERE: hazard`; it is the line of the access that comes second.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int kThreads = 128, kBlocks = 8;

// ---- shared memory, between warps

template <bool Right>
__global__ void missing_barrier(const int* in, int* out) {
  __shared__ int turned[kThreads];
  turned[kThreads - 1 - threadIdx.x] = in[threadIdx.x];
  if (Right) __syncthreads();
  out[threadIdx.x] = turned[threadIdx.x];  // HERE: race_shared
}

// The tree overwrites what another warp may not have read.
template <bool Right>
__global__ void barrier_too_few(const int* in, int* out) {
  __shared__ int sums[kThreads];
  const int t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  const int right = sums[(t + 32) % kThreads];
  if (Right) __syncthreads();
  sums[t] += right;  // HERE: race_shared
  __syncthreads();
  out[t] = sums[t];
}

// All threads write one word, each its own value.
template <bool Right>
__global__ void many_writers(const int*, int* out) {
  __shared__ int winner;
  winner = Right ? 7 : threadIdx.x;  // HERE: race_shared
  __syncthreads();
  out[threadIdx.x] = winner;
}

// ---- shared memory, within a warp

template <bool Right>
__global__ void missing_syncwarp(const int* in, int* out) {
  __shared__ int values[32];
  const int t = threadIdx.x;
  if (t < 32) {
    values[t] = in[t];
    if (Right) __syncwarp();
    out[t] = values[31 - t];  // HERE: race_shared
  }
}

// The tree's last steps without __syncwarp(), as they were written before Volta.
template <bool Right>
__global__ void warp_in_step(const int* in, int* out) {
  __shared__ volatile int sums[64];
  const int t = threadIdx.x;
  if (t < 64) sums[t] = in[t];
  __syncthreads();
  if (t < 32) {
    for (int step = 32; step > 0; step /= 2) {
      const int other = sums[t + step];  // HERE: race_shared
      if (Right) __syncwarp();
      sums[t] = sums[t] + other;
      if (Right) __syncwarp();
    }
    if (t == 0) out[0] = sums[0];
  }
}

// ---- global memory

// The last block to finish adds up what the others have written.
template <bool Right>
__global__ void ticket(const int* in, int* out, unsigned int* tickets) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    out[blockIdx.x] = in[blockIdx.x];
    if (Right) __threadfence();
    last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
    if (last) {
      __threadfence();
      int sum = 0;
      for (unsigned int b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
      out[gridDim.x] = sum;
    }
  }
}

// A block reads what its neighbour writes.
template <bool Right>
__global__ void neighbour(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  out[i] = in[i];  // HERE: race_global
  const int* from = Right ? in : out;
  out[n + i] = from[(i + blockDim.x) % n];
}

// All threads count in one word.
template <bool Right>
__global__ void plain_counter(const int* in, int* out) {
  if (in[threadIdx.x] < 0) return;
  if (Right)
    atomicAdd(out, 1);
  else
    *out = *out + 1;  // HERE: race_global
}

// A block that waits for the one before it.
template <bool Right>
__global__ void flag(const int* in, int* out, volatile unsigned int* flags) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x > 0) {
    while (flags[blockIdx.x - 1] == 0) {}
    __threadfence();
  }
  out[blockIdx.x] = in[blockIdx.x] + (blockIdx.x > 0 ? out[blockIdx.x - 1] : 0);  // HERE: race_global
  if (Right) __threadfence();
  flags[blockIdx.x] = 1;
}

// ---- what nothing has written

template <bool Right>
__global__ void shared_unwritten(const int* in, int* out) {
  __shared__ int bins[kThreads];
  if (Right || threadIdx.x < kThreads - 4) bins[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = bins[kThreads - 1 - threadIdx.x];  // HERE: uninitialised
}

template <bool Right>
__global__ void shared_count_unwritten(const int* in, int* out) {
  __shared__ int count;
  if (Right && threadIdx.x == 0) count = 0;
  __syncthreads();
  if (in[threadIdx.x] > 0) atomicAdd(&count, 1);  // HERE: uninitialised
  __syncthreads();
  if (threadIdx.x == 0) out[0] = count;
}

// `spare` is of cudaMalloc; the launcher fills it, or does not.
template <bool Right>
__global__ void global_unwritten(const int* spare, int* out) {
  out[threadIdx.x] = spare[threadIdx.x];  // HERE: uninitialised
}

template <bool Right>
__global__ void local_unwritten(const int* in, int* out) {
  volatile int mine[16];
  for (int k = 0; k < (Right ? 16 : 15); ++k) mine[k] = in[k] + threadIdx.x;
  out[threadIdx.x] = mine[(threadIdx.x + in[0]) % 16] * 3;  // HERE: uninitialised
}

// ---- asynchronous copies

template <bool Right>
__global__ void early_use(const int* in, int* out) {
  __shared__ int staged[kThreads];
  const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(staged + threadIdx.x));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(to), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" : : : "memory");
  if (Right) asm volatile("cp.async.wait_group 0;" : : : "memory");
  out[threadIdx.x] = staged[threadIdx.x];  // HERE: early_use
}

// The next round's copies begin while other threads still read this round's.
template <bool Right>
__global__ void early_copy(const int* in, int* out) {
  __shared__ int staged[kThreads];
  const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(staged + threadIdx.x));
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"  // HERE: race_shared
                 :
                 : "r"(to), "l"(in + round * kThreads + threadIdx.x)
                 : "memory");
    asm volatile("cp.async.wait_all;" : : : "memory");
    __syncthreads();
    sum += staged[kThreads - 1 - threadIdx.x];
    if (Right) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// ---- what ends a launch

template <bool Right>
__global__ void past_the_end(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i + (Right ? 0 : 4 * kThreads * kBlocks)];  // HERE: out_of_array illegal_address
}

template <bool Right>
__global__ void misaligned(const int* in, int* out) {
  const char* bytes = reinterpret_cast<const char*>(in) + (Right ? 0 : 2);
  out[threadIdx.x] = *reinterpret_cast<const int*>(bytes + 4 * threadIdx.x);  // HERE: misaligned_address
}

template <bool Right>
__global__ void after_free(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];  // HERE: illegal_address
}

// ---- right only: patterns that look like mistakes

// Named barriers: one half writes, the other waits for it.
__global__ void named_barrier(const int* in, int* out) {
  __shared__ int box[64];
  const int t = threadIdx.x;
  if (t < 64) {
    box[t] = in[t];
    asm volatile("bar.arrive 1, 128;" : : : "memory");
  } else {
    asm volatile("bar.sync 1, 128;" : : : "memory");
    out[t] = box[t - 64];
  }
}

// One half of the block fences its stores; the other half, ordered behind it by a named barrier, announces them to
// other blocks.
__global__ void fenced_by_others(const int* in, int* out, unsigned int* ready) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t < 64) {
      out[t] = in[t];
      __threadfence();
      asm volatile("bar.arrive 1, 128;" : : : "memory");
    } else {
      asm volatile("bar.sync 1, 128;" : : : "memory");
      if (t == 64) atomicExch(ready, 1u);
    }
  } else if (t == 0) {
    while (atomicAdd(ready, 0u) == 0) {}
    __threadfence();
    out[blockIdx.x * blockDim.x] = out[0] + out[63];
  }
}

// A lock, with the fences it needs.
__global__ void locked(const int* in, int* out, unsigned int* lock) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0u, 1u) != 0) {}
  __threadfence();
  out[0] += in[blockIdx.x];
  __threadfence();
  atomicExch(lock, 0u);
}

// All blocks of a grid, several times.
__global__ void whole_grid(const int* in, int* out) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  out[i] = in[i];
  for (int round = 0; round < 3; ++round) {
    grid.sync();
    const int next = out[(i + kThreads) % n];
    grid.sync();
    out[i] += next;
  }
}

// Every thread stores the same.
__global__ void same_value(const int* in, int* out) {
  __shared__ bool any;
  any = false;
  __syncthreads();
  if (in[threadIdx.x] >= 0) any = true;
  __syncthreads();
  if (any) out[0] = 1;
}

// Bytes of one word by different threads.
__global__ void bytes_of_words(const int* in, int* out) {
  __shared__ unsigned char bytes[kThreads];
  bytes[threadIdx.x] = static_cast<unsigned char>(in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = bytes[kThreads - 1 - threadIdx.x];
}

// A structure with padding, copied whole through shared and local memory.
struct Padded {
  char tag;
  double value;
};
__global__ void padded(const int* in, int* out) {
  __shared__ Padded all[kThreads];
  all[threadIdx.x].tag = 'x';
  all[threadIdx.x].value = in[threadIdx.x];
  __syncthreads();
  const Padded copy = all[kThreads - 1 - threadIdx.x];
  out[threadIdx.x] = static_cast<int>(copy.value) + copy.tag;
}

struct Data {
  int *in, *out, *spare;
  unsigned int* words;
};

struct Case {
  const char* name;
  void (*wrong)(const Data&);
  void (*right)(const Data&);
};

#define BOTH(name)                                                          \
  {#name, [](const Data& d) { name<false><<<1, kThreads>>>(d.in, d.out); }, \
   [](const Data& d) { name<true><<<1, kThreads>>>(d.in, d.out); }}
#define BOTH_MANY(name)                                                           \
  {#name, [](const Data& d) { name<false><<<kBlocks, kThreads>>>(d.in, d.out); }, \
   [](const Data& d) { name<true><<<kBlocks, kThreads>>>(d.in, d.out); }}
#define BOTH_WORDS(name)                                                                   \
  {#name, [](const Data& d) { name<false><<<kBlocks, kThreads>>>(d.in, d.out, d.words); }, \
   [](const Data& d) { name<true><<<kBlocks, kThreads>>>(d.in, d.out, d.words); }}
#define RIGHT(name) {#name, nullptr, [](const Data& d) { name<<<1, kThreads>>>(d.in, d.out); }}

const Case kCases[] = {
    BOTH(missing_barrier),
    BOTH(barrier_too_few),
    BOTH(many_writers),
    BOTH(missing_syncwarp),
    BOTH(warp_in_step),
    BOTH_WORDS(ticket),
    BOTH_MANY(neighbour),
    BOTH_MANY(plain_counter),
    BOTH_WORDS(flag),
    BOTH(shared_unwritten),
    BOTH(shared_count_unwritten),
    {"global_unwritten", [](const Data& d) { global_unwritten<false><<<1, kThreads>>>(d.spare, d.out); },
     [](const Data& d) {
       cudaMemcpy(d.spare, d.in, kThreads * sizeof(int), cudaMemcpyDeviceToDevice);
       global_unwritten<true><<<1, kThreads>>>(d.spare, d.out);
     }},
    BOTH(local_unwritten),
    BOTH(early_use),
    BOTH(early_copy),
    BOTH_MANY(past_the_end),
    BOTH(misaligned),
    {"after_free",
     [](const Data& d) {
       cudaFree(d.in);
       after_free<false><<<1, kThreads>>>(d.in, d.out);
     },
     [](const Data& d) {
       after_free<true><<<1, kThreads>>>(d.in, d.out);
       cudaFree(d.in);
     }},
    RIGHT(named_barrier),
    {"fenced_by_others", nullptr, [](const Data& d) { fenced_by_others<<<kBlocks, kThreads>>>(d.in, d.out, d.words); }},
    {"locked", nullptr, [](const Data& d) { locked<<<kBlocks, kThreads>>>(d.in, d.out, d.words); }},
    {"whole_grid", nullptr,
     [](const Data& d) {
       void* arguments[] = {const_cast<int**>(&d.in), const_cast<int**>(&d.out)};
       cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(whole_grid), dim3(kBlocks), dim3(kThreads), arguments,
                                   0, nullptr);
     }},
    RIGHT(same_value),
    RIGHT(bytes_of_words),
    RIGHT(padded),
};

int main(int argc, char** argv) {
  if (argc == 2 && !std::strcmp(argv[1], "list")) {
    for (const Case& c : kCases) std::printf("%s%s\n", c.name, c.wrong ? "" : " right");
    return 0;
  }
  const bool all = argc == 2 && !std::strcmp(argv[1], "right");
  bool ran = false, right = all || (argc == 3 && !std::strcmp(argv[2], "right"));
  for (const Case& c : kCases) {
    if (!all && (argc != 3 || std::strcmp(argv[1], c.name))) continue;
    if (!right && !c.wrong) break;
    const size_t count = 2 * kThreads * kBlocks;
    Data d{};
    cudaMalloc(&d.in, count * sizeof(int));
    cudaMalloc(&d.out, count * sizeof(int));
    cudaMalloc(&d.spare, count * sizeof(int));
    cudaMalloc(&d.words, kBlocks * sizeof(unsigned int));
    int host[2 * kThreads * kBlocks];
    for (size_t i = 0; i < count; ++i) host[i] = static_cast<int>(i) + 1;
    cudaMemcpy(d.in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(d.out, 0, sizeof host);
    cudaMemset(d.words, 0, kBlocks * sizeof(unsigned int));
    (right ? c.right : c.wrong)(d);
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) return std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
    ran = true;
  }
  if (ran) return 0;
  std::fprintf(stderr, "error: kernels NAME wrong|right; kernels list\n");
  return 2;
}
