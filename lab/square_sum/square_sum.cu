// The sum of squares, and which elements a thread takes: a piece of the array each, or every T-th element in turn.
//
//   square_sum [--n N] [--block B] [--rung NAME]     n >= 0 (default 2^20), B from 1 to 1024 (256)
//
// A thread leaves its sum, modulo 2^32, and the host adds those up. First with one block, as in the document; then with
// as many blocks as give each thread 16 elements.
#include "../program.h"

// A contiguous piece for each of the `threads`: the first n % threads get one element more.
__device__ inline unsigned int chunk_sum(const int* data, size_t n, size_t thread, size_t threads) {
  const size_t each = n / threads, more = n % threads;
  const size_t first = thread * each + (thread < more ? thread : more), last = first + each + (thread < more);
  unsigned int sum = 0;
  for (size_t i = first; i < last; ++i) sum += static_cast<unsigned int>(data[i]) * static_cast<unsigned int>(data[i]);
  return sum;
}

// Elements thread, thread + threads, thread + 2 threads, …
__device__ inline unsigned int interleaved_sum(const int* data, size_t n, size_t thread, size_t threads) {
  unsigned int sum = 0;
  for (size_t i = thread; i < n; i += threads)
    sum += static_cast<unsigned int>(data[i]) * static_cast<unsigned int>(data[i]);
  return sum;
}

// Rung 1. One block; each thread goes through a piece of its own.
// Counters: the lanes of a load are whole pieces apart, so each touches a sector of its own: 32 sectors for 128 bytes.
__global__ void chunk(const int* data, unsigned int* sums, size_t n) {
  sums[threadIdx.x] = chunk_sum(data, n, threadIdx.x, blockDim.x);
}

// Rung 2. One block; thread t takes t, t + T, t + 2T, …
// Counters: the lanes of a load are neighbours: 4 sectors a request, an eighth of rung 1's; as many requests.
__global__ void interleaved(const int* data, unsigned int* sums, size_t n) {
  sums[threadIdx.x] = interleaved_sum(data, n, threadIdx.x, blockDim.x);
}

// Rung 3. Rung 1 on the whole GPU. Pieces are 16 elements now, 64 bytes.
// Counters: 64 bytes apart still means 32 sectors a request. (Four loads in a row use one sector, so a cache can mend
// some of it; the request asks all the same.)
__global__ void chunk_grid(const int* data, unsigned int* sums, size_t n) {
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  sums[thread] = chunk_sum(data, n, thread, static_cast<size_t>(gridDim.x) * blockDim.x);
}

// Rung 4. Rung 2 on the whole GPU.
// Counters: the sectors of rung 2; only who fetches them has changed.
__global__ void interleaved_grid(const int* data, unsigned int* sums, size_t n) {
  const size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  sums[thread] = interleaved_sum(data, n, thread, static_cast<size_t>(gridDim.x) * blockDim.x);
}

struct Rung {
  const char* name;
  void (*kernel)(const int*, unsigned int*, size_t);
  bool grid;
};

const Rung kRungs[] = {{"chunk", chunk, false},
                       {"interleaved", interleaved, false},
                       {"chunk_grid", chunk_grid, true},
                       {"interleaved_grid", interleaved_grid, true}};

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 1 << 20, 0, 1ull << 32, Option::any}, {"--block", 256, 1, 1024, Option::any}});
  const size_t n = program["--n"];
  const unsigned int block = static_cast<unsigned int>(program["--block"]);
  const unsigned int many = n ? blocks_for(n, size_t{16} * block) : 1;

  std::vector<int> host(n);
  unsigned int expected = 0;
  for (size_t i = 0; i < n; ++i) {
    host[i] = element(i);
    expected += static_cast<unsigned int>(host[i]) * static_cast<unsigned int>(host[i]);
  }
  const Array<int> data(host);
  Array<unsigned int> sums(static_cast<size_t>(many) * block);
  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    const unsigned int blocks = rung.grid ? many : 1;
    sums.spoil();
    rung.kernel<<<blocks, block>>>(data.get(), sums.get(), n);
    CHECK_KERNEL();
    unsigned int total = 0;
    for (const unsigned int sum : sums.download(static_cast<size_t>(blocks) * block)) total += sum;
    program.result(rung.name, total == expected, std::to_string(total));
  }
  return program.end();
}
