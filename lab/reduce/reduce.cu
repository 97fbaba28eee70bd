// The ladder of reduction: the sum of n integers, eleven times, each rung one change away from the rung above it. Every
// kernel leaves one partial sum per block and the host adds those up (the last two need no host: their last block does
// it), so what a rung costs is one launch of the kernel that bears its name.
//
//   reduce [--n N] [--block B] [--rung NAME]     N >= 0 (default 2^24), B a power of two from 64 to 1024 (default 512)
//
// Prints a line `rung  sum  ok` for each; exits 1 when a sum differs from the CPU's, 2 when called wrongly.
//
// All kernels are right for every n. A block takes `count` elements from `start`, fewer than a full share only at the
// end of the array; no thread returns before a barrier that others wait at. Indices into the array are 64-bit: n may
// pass 2^31.
#include <cuda_runtime.h>

#include <coalesce/reduce.cuh>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

constexpr int kMaxBlock = 1024;

// The number of the `share` elements from `start` on that lie inside the array.
__device__ inline int elements_left(size_t start, size_t n, int share) {
  return n - start < static_cast<size_t>(share) ? static_cast<int>(n - start) : share;
}

// Rung 1. The tree of neighbours, in place in global memory: in step s every 2s-th thread adds the element s to its
// right. Counters: the remainder keeps 1/2, 1/4, … 1/32 of every warp's lanes at work, so nearly all warps stay in
// nearly all steps, each fetching whole sectors for a few lanes; and every intermediate sum travels to memory and back.
__global__ void neighbored_global(int* data, int* partial, size_t n) {
  const int tid = threadIdx.x;
  const size_t start = static_cast<size_t>(blockIdx.x) * blockDim.x;
  const int count = elements_left(start, n, blockDim.x);
  int* block = data + start;
  for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
    if (tid % (2 * stride) == 0 && tid + stride < count) block[tid] += block[tid + stride];
    __syncthreads();
  }
  if (tid == 0) partial[blockIdx.x] = block[0];
}

// Rung 2. The same tree in shared memory: each element is loaded once, the sums stay on the chip.
// Counters: global loads fall to 4 sectors a warp, the least possible; stores to one a block. The traffic has moved,
// not gone: as many shared requests as there were global ones, and the same divergence.
__global__ void neighbored_shared(int* data, int* partial, size_t n) {
  __shared__ int sums[kMaxBlock];
  const int tid = threadIdx.x;
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + tid;
  sums[tid] = i < n ? data[i] : 0;
  __syncthreads();
  for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
    if (tid % (2 * stride) == 0) sums[tid] += sums[tid + stride];
    __syncthreads();
  }
  if (tid == 0) partial[blockIdx.x] = sums[0];
}

// The last 64 sums by one warp, without block barriers. volatile keeps every step in memory, which is what these rungs
// show. Lanes read a sum that another lane is about to overwrite, and since Volta lanes need not run in step: hence a
// __syncwarp on both sides of the store. Only the first `count` sums exist.
__device__ inline void last_warp(volatile int* sums, int lane, int count) {
#pragma unroll
  for (int stride = 32; stride > 0; stride /= 2) {
    const bool mine = lane < count, both = lane + stride < count;
    const int own = mine ? sums[lane] : 0;
    const int other = both ? sums[lane + stride] : 0;
    __syncwarp();
    if (mine) sums[lane] = own + other;
    __syncwarp();
  }
}

// Rung 3. Back in global memory, but the tree halves: the first half of the threads adds the second half's elements.
// The last 64 are done by one warp. Counters: working lanes are neighbours, so a warp works whole or not at all: no
// divergence until the very end, 4 sectors for each request, and a third of the requests and sectors of rung 1.
__global__ void halving_global(int* data, int* partial, size_t n) {
  const int tid = threadIdx.x;
  const size_t start = static_cast<size_t>(blockIdx.x) * blockDim.x;
  const int count = elements_left(start, n, blockDim.x);
  int* block = data + start;
  for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride && tid + stride < count) block[tid] += block[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(block, tid, count);
  if (tid == 0) partial[blockIdx.x] = block[0];
}

// Rung 4. Halving in shared memory: rungs 2 and 3 together.
// Counters: global as rung 2, shared requests as rung 3's global ones: 41 loads a block of 512 instead of 191.
// Neighbouring lanes on neighbouring words: no bank conflict in any step.
__global__ void halving_shared(int* data, int* partial, size_t n) {
  __shared__ int sums[kMaxBlock];
  const int tid = threadIdx.x;
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + tid;
  sums[tid] = i < n ? data[i] : 0;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride) sums[tid] += sums[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(sums, tid, blockDim.x);
  if (tid == 0) partial[blockIdx.x] = sums[0];
}

// The sum of a thread's four elements, a block apart from each other so that each of the four loads is coalesced. The
// loads depend on nothing, so all four are under way at once.
__device__ inline int four_loads(const int* data, size_t first, size_t n, int apart) {
  int sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const size_t i = first + static_cast<size_t>(k) * apart;
    if (i < n) sum += data[i];
  }
  return sum;
}

// Rung 5. Rung 3, but each thread first adds four elements: a quarter of the blocks, and no thread is idle from the
// start. Counters: the tree's traffic falls to a quarter; what is left is mostly the one unavoidable load of each
// element.
__global__ void unroll4_global(int* data, int* partial, size_t n) {
  const int tid = threadIdx.x;
  const size_t start = static_cast<size_t>(blockIdx.x) * blockDim.x * 4;
  const int count = elements_left(start, n, blockDim.x);
  int* block = data + start;
  const int sum = four_loads(data, start + tid, n, blockDim.x);
  if (tid < count) block[tid] = sum;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride && tid + stride < count) block[tid] += block[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(block, tid, count);
  if (tid == 0) partial[blockIdx.x] = block[0];
}

// Rung 6. Four loads a thread into a register, then halving in shared memory.
// Counters: loads are at the least possible, stores and shared requests at a quarter of rung 4's.
__global__ void unroll4_shared(int* data, int* partial, size_t n) {
  __shared__ int sums[kMaxBlock];
  const int tid = threadIdx.x;
  sums[tid] = four_loads(data, static_cast<size_t>(blockIdx.x) * blockDim.x * 4 + tid, n, blockDim.x);
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride) sums[tid] += sums[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(sums, tid, blockDim.x);
  if (tid == 0) partial[blockIdx.x] = sums[0];
}

// Rung 7. The same with the shared array's size given at launch instead of at compile time.
// Counters: exactly those of rung 6. Only the shared memory a block holds changes.
__global__ void unroll4_dynamic(int* data, int* partial, size_t n) {
  extern __shared__ int dynamic_sums[];
  const int tid = threadIdx.x;
  dynamic_sums[tid] = four_loads(data, static_cast<size_t>(blockIdx.x) * blockDim.x * 4 + tid, n, blockDim.x);
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 32; stride /= 2) {
    if (tid < stride) dynamic_sums[tid] += dynamic_sums[tid + stride];
    __syncthreads();
  }
  if (tid < 32) last_warp(dynamic_sums, tid, blockDim.x);
  if (tid == 0) partial[blockIdx.x] = dynamic_sums[0];
}

// The block's sum, in thread 0: lanes hand their values down the warp by shuffles, the warps' sums meet in one shared
// word each, and the first warp adds those the same way.
__device__ inline int block_sum(int value) {
  __shared__ int of_warp[kMaxBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < warps ? of_warp[lane] : 0;
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  }
  return value;
}

// Rung 8. Shuffles instead of the shared tree: the sums never leave the registers of a warp.
// Counters: of 41 shared loads a block of 512 one is left, of 36 stores 16; one barrier instead of four.
__global__ void warp_shuffle(int* data, int* partial, size_t n) {
  const int mine = four_loads(data, static_cast<size_t>(blockIdx.x) * blockDim.x * 4 + threadIdx.x, n, blockDim.x);
  const int sum = block_sum(mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// A thread's share of the array: 16 bytes at a time, as far apart as the grid is wide; the up to three elements that
// fill no vector go to the first threads.
__device__ inline int vector_sum(const int* data, size_t n) {
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  const size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t vectors = n / 4;
  int sum = 0;
  for (size_t i = first; i < vectors; i += threads) {
    const int4 v = reinterpret_cast<const int4*>(data)[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (first < n % 4) sum += data[vectors * 4 + first];
  return sum;
}

// Rung 9. Loads of 16 bytes, and only as many blocks as the device holds at once, each going through the array in
// strides of the grid. Counters: a quarter of the load requests at 16 sectors each (the sectors stay: every byte is
// needed once), and a few hundred partial sums instead of thousands.
__global__ void vector_load(int* data, int* partial, size_t n) {
  const int sum = block_sum(vector_sum(data, n));
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__device__ unsigned int blocks_done = 0;  // 0 again at the end of each launch

// Rung 10. One launch gives the total: blocks draw a number when their partial sum is out, and the one that draws the
// last number adds all partial sums up. Counters: one atomic a block and the partial sums read once more; no second
// pass over anything.
__global__ void single_pass(int* data, int* partial, size_t n) {
  __shared__ bool last;
  const int sum = block_sum(vector_sum(data, n));
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();  // the sum must be visible before the number that announces it
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;  // the whole block
  __threadfence();
  const volatile int* sums = partial;
  int mine = 0;
  for (unsigned int i = threadIdx.x; i < gridDim.x; i += blockDim.x) mine += sums[i];
  const int total = block_sum(mine);
  if (threadIdx.x == 0) partial[0] = total;
}

// Rung 11. The library's sum, whose kernel is called reduce_whole. The same plan, for any type, operation and shape; 8
// loads under way in each thread, and the elements before the first line of 128 bytes and behind the last vector apart,
// so that any address will do. Counters: those of single_pass, in fewer instructions.
void library_sum(const int* data, int* total, size_t n) {
  const coalesce::status done = coalesce::sum(data, static_cast<std::int64_t>(n), total);
  if (!done) {
    std::fprintf(stderr, "error: %s\n", done.message());
    std::exit(1);
  }
}

#define CHECK(call)                                                                                         \
  do {                                                                                                      \
    const cudaError_t error = (call);                                                                       \
    if (error != cudaSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: error: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                                         \
    }                                                                                                       \
  } while (0)

enum class Grid { all, quarter, resident };  // an element a thread, four a thread, as many blocks as fit at once

struct Rung {
  const char* name;
  void (*kernel)(int*, int*, size_t);  // null: the library's
  Grid grid;
  bool in_place;        // destroys its input
  bool dynamic_shared;  // an int a thread
  bool one_result;      // the total, not a sum per block
};

const Rung kRungs[] = {
    {"neighbored_global", neighbored_global, Grid::all, true, false, false},
    {"neighbored_shared", neighbored_shared, Grid::all, false, false, false},
    {"halving_global", halving_global, Grid::all, true, false, false},
    {"halving_shared", halving_shared, Grid::all, false, false, false},
    {"unroll4_global", unroll4_global, Grid::quarter, true, false, false},
    {"unroll4_shared", unroll4_shared, Grid::quarter, false, false, false},
    {"unroll4_dynamic", unroll4_dynamic, Grid::quarter, false, true, false},
    {"warp_shuffle", warp_shuffle, Grid::quarter, false, false, false},
    {"vector_load", vector_load, Grid::resident, false, false, false},
    {"single_pass", single_pass, Grid::resident, false, false, true},
    {"reduce_whole", nullptr, Grid::resident, false, false, true},
};

// Small values of both signs and mean 0, so that no sum of them comes near the limits of int.
int element(size_t i) { return static_cast<int>(i * 7919 % 101) - 50; }

int usage(const char* why, const char* what) {
  std::fprintf(stderr, "error: %s '%s'\nhint: reduce [--n N] [--block 64|128|256|512|1024] [--rung NAME]\n", why, what);
  return 2;
}

size_t blocks_for(const Rung& rung, size_t n, int block) {
  if (rung.grid == Grid::all) return (n + block - 1) / block;
  const size_t quarter = (n + block * 4 - 1) / (block * 4);
  if (rung.grid == Grid::quarter) return quarter;
  int device = 0, processors = 0, threads = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  const size_t resident = static_cast<size_t>(processors) * (threads / block);
  return quarter < resident ? quarter : resident;
}

int main(int argc, char** argv) {
  size_t n = size_t{1} << 24;
  int block = 512;
  const char* only = nullptr;
  for (int i = 1; i < argc; i += 2) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    char* end = nullptr;
    if (!std::strcmp(argv[i], "--n")) {
      n = std::strtoull(value, &end, 10);
      if (*value < '0' || *value > '9' || *end) return usage("--n needs a count, not", value);
      if (n > size_t{1} << 40) return usage("more elements than a grid of blocks can cover:", value);
    } else if (!std::strcmp(argv[i], "--block")) {
      block = static_cast<int>(std::strtol(value, &end, 10));
      if (!*value || *end || block < 64 || block > kMaxBlock || (block & (block - 1)))
        return usage("--block needs a power of two from 64 to 1024, not", value);
    } else if (!std::strcmp(argv[i], "--rung")) {
      only = value;
    } else {
      return usage("unknown option", argv[i]);
    }
  }
  if (blocks_for(kRungs[0], n, block) > 0x7fffffffu)
    return usage("a grid has at most 2^31-1 blocks: too small a", "--block");

  std::set_new_handler([] {
    std::fputs("error: this computer has not enough memory for so many elements\nhint: a smaller --n\n", stderr);
    std::_Exit(3);
  });
  std::vector<int> host(n);
  long long expected = 0;
  for (size_t i = 0; i < n; ++i) expected += host[i] = element(i);

  int *input = nullptr, *work = nullptr, *partial = nullptr;
  const size_t bytes = n * sizeof(int), most = n ? blocks_for(kRungs[0], n, block) : 1;
  if (n) {
    CHECK(cudaMalloc(&input, bytes));
    CHECK(cudaMalloc(&work, bytes));
    CHECK(cudaMemcpy(input, host.data(), bytes, cudaMemcpyHostToDevice));
  }
  CHECK(cudaMalloc(&partial, most * sizeof(int)));

  bool wrong = false, found = false;
  std::vector<int> sums;
  for (const Rung& rung : kRungs) {
    if (only && std::strcmp(only, rung.name)) continue;
    found = true;
    long long total = 0;
    if (const size_t blocks = blocks_for(rung, n, block)) {  // nothing to launch for n = 0: the sum of nothing is 0
      if (rung.in_place) CHECK(cudaMemcpy(work, input, bytes, cudaMemcpyDeviceToDevice));
      const size_t shared = rung.dynamic_shared ? block * sizeof(int) : 0;
      if (rung.kernel) {
        rung.kernel<<<static_cast<unsigned int>(blocks), block, shared>>>(rung.in_place ? work : input, partial, n);
      } else {
        library_sum(input, partial, n);
      }
      CHECK(cudaGetLastError());
      CHECK(cudaDeviceSynchronize());
      sums.resize(rung.one_result ? 1 : blocks);
      CHECK(cudaMemcpy(sums.data(), partial, sums.size() * sizeof(int), cudaMemcpyDeviceToHost));
      for (int sum : sums) total += sum;
    }
    if (total != expected) wrong = true;
    std::printf("%-18s %12lld  ", rung.name, total);
    if (total == expected)
      std::printf("ok\n");
    else
      std::printf("wrong: the CPU's sum is %lld\n", expected);
  }
  CHECK(cudaFree(partial));
  CHECK(cudaFree(work));
  CHECK(cudaFree(input));
  if (!found) return usage("no rung is called", only);
  return wrong ? 1 : 0;
}
