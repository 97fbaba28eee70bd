// C = A B for square matrices, and how often each element is fetched.
//
//   matmul [--n N] [--rung NAME]     N x N floats, N from 0 to 4096 (default 1024)
//
// The elements are small whole numbers, so that every sum is exact and the check needs no tolerance.
#include "../program.h"

constexpr unsigned int kTile = 32;

__device__ inline size_t at(unsigned int row, unsigned int column, unsigned int n) {
  return static_cast<size_t>(row) * n + column;
}

// Rung 1. A thread for each element of C; a warp has 32 neighbours in one row.
// Counters: in each step all lanes load the same element of A, 1 sector, and 32 neighbours of a row of B, 4 sectors: 5
// for 2 requests, the best there is for loads without reuse. But every element is fetched n times over.
__global__ void naive(const float* a, const float* b, float* c, unsigned int n) {
  const unsigned int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  float sum = 0;
  for (unsigned int k = 0; k < n; ++k) sum += a[at(y, k, n)] * b[at(k, x, n)];
  c[at(y, x, n)] = sum;
}

// Rung 2. B turned over, once, for the next rung; through a padded tile, as in the experiment transpose.
// Counters: next to nothing beside the multiplication.
__global__ void transpose_b(const float* b, float* turned, unsigned int n) {
  __shared__ float tile[kTile][kTile + 1];
  unsigned int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += blockDim.y) {
    if (x < n && y + k < n) tile[threadIdx.y + k][threadIdx.x] = b[at(y + k, x, n)];
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x, y = blockIdx.x * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += blockDim.y) {
    if (x < n && y + k < n) turned[at(y + k, x, n)] = tile[threadIdx.x][threadIdx.y + k];
  }
}

// Rung 3. Rung 1 with B turned over: a thread now walks along a row of either matrix, as one would wish on a CPU.
// Counters: the walk of one thread is not what a request is made of. The 32 lanes of a load stand in 32 rows, n floats
// apart, so each touches a sector of its own: 33 sectors in a step instead of 5.
__global__ void b_transposed(const float* a, const float* turned, float* c, unsigned int n) {
  const unsigned int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  float sum = 0;
  for (unsigned int k = 0; k < n; ++k) sum += a[at(y, k, n)] * turned[at(x, k, n)];
  c[at(y, x, n)] = sum;
}

// Rung 4. A block fetches a tile of A and one of B into shared memory and uses each element 32 times.
// Counters: a 32nd of the global requests of rung 1, at 4 sectors each; the loads of rung 1 are now shared loads, of
// one wavefront each: a broadcast from A's tile, a row of B's.
__global__ void tiled(const float* a, const float* b, float* c, unsigned int n) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const unsigned int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * kTile + tx, y = blockIdx.y * kTile + ty;
  float sum = 0;
  for (unsigned int first = 0; first < n; first += kTile) {
    as[ty][tx] = y < n && first + tx < n ? a[at(y, first + tx, n)] : 0.0f;
    bs[ty][tx] = first + ty < n && x < n ? b[at(first + ty, x, n)] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < kTile; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  if (x < n && y < n) c[at(y, x, n)] = sum;
}

// Rung 5. A tile of 64 x 64 for a block of 256, so that a thread sums 16 elements of C in registers: each value it
// takes from shared memory is used four times. Counters: half the sectors of rung 4 for global loads, and a quarter of
// the shared wavefronts for as many multiplications. A thread's columns are 16 apart, which keeps neighbouring lanes on
// neighbouring words; A's tile is kept by columns with a pair of unused words after each, which spreads its stores over
// all banks.
constexpr unsigned int kBig = 64, kDeep = 16, kEach = 4;
__global__ void tiled_registers(const float* a, const float* b, float* c, unsigned int n) {
  __shared__ float as[kDeep][kBig + 2], bs[kDeep][kBig];
  const unsigned int thread = threadIdx.x, tx = thread % 16, ty = thread / 16;
  const unsigned int left = blockIdx.x * kBig, top = blockIdx.y * kBig;
  float sums[kEach][kEach] = {};
  for (unsigned int first = 0; first < n; first += kDeep) {
#pragma unroll
    for (unsigned int k = 0; k < kEach; ++k) {
      const unsigned int ar = ty + 16 * k, ac = tx;  // 16 neighbours of each of two rows of A
      as[ac][ar] = top + ar < n && first + ac < n ? a[at(top + ar, first + ac, n)] : 0.0f;
      const unsigned int br = thread / 64 + 4 * k, bc = thread % 64;
      bs[br][bc] = first + br < n && left + bc < n ? b[at(first + br, left + bc, n)] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (unsigned int k = 0; k < kDeep; ++k) {
      float row[kEach], column[kEach];
#pragma unroll
      for (unsigned int i = 0; i < kEach; ++i) {
        column[i] = as[k][ty + 16 * i];
        row[i] = bs[k][tx + 16 * i];
      }
#pragma unroll
      for (unsigned int i = 0; i < kEach; ++i)
#pragma unroll
        for (unsigned int j = 0; j < kEach; ++j) sums[i][j] += column[i] * row[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned int i = 0; i < kEach; ++i)
#pragma unroll
    for (unsigned int j = 0; j < kEach; ++j) {
      const unsigned int y = top + ty + 16 * i, x = left + tx + 16 * j;
      if (y < n && x < n) c[at(y, x, n)] = sums[i][j];
    }
}

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 1024, 0, 4096, Option::any}});
  const unsigned int n = static_cast<unsigned int>(program["--n"]);
  const size_t size = static_cast<size_t>(n) * n;
  std::vector<float> ha(size), hb(size), expected(size), turned(size);
  for (size_t i = 0; i < size; ++i) {
    ha[i] = static_cast<float>(element(i) % 8);
    hb[i] = static_cast<float>(element(i * 31 + 7) % 8);
  }
  for (size_t y = 0; y < n; ++y) {
    for (size_t k = 0; k < n; ++k) {
      turned[k * n + y] = hb[y * n + k];
      for (size_t x = 0; x < n; ++x) expected[y * n + x] += ha[y * n + k] * hb[k * n + x];
    }
  }
  const Array<float> a(ha), b(hb);
  Array<float> c(size), bt(turned);

  const unsigned int tiles = blocks_for(n, kTile), big = blocks_for(n, kBig);
  struct Rung {
    const char* name;
    void (*kernel)(const float*, const float*, float*, unsigned int);
    const float* second;
    dim3 grid, block;
  };
  const Rung rungs[] = {
      {"naive", naive, b.get(), {tiles, blocks_for(n, 8)}, {kTile, 8}},
      {"transpose_b", nullptr, nullptr, {tiles, tiles}, {kTile, 8}},
      {"b_transposed", b_transposed, bt.get(), {tiles, blocks_for(n, 8)}, {kTile, 8}},
      {"tiled", tiled, b.get(), {tiles, tiles}, {kTile, kTile}},
      {"tiled_registers", tiled_registers, b.get(), {big, big}, {256, 1}},
  };
  for (const Rung& rung : rungs) {
    if (!program.wants(rung.name)) continue;
    Array<float>& out = rung.kernel ? c : bt;
    out.spoil();
    if (n) {
      if (rung.kernel) {
        rung.kernel<<<rung.grid, rung.block>>>(a.get(), rung.second, c.get(), n);
      } else {
        transpose_b<<<rung.grid, rung.block>>>(b.get(), bt.get(), n);
      }
    }
    CHECK_KERNEL();
    program.result(rung.name, out.download() == (rung.kernel ? expected : turned));
  }
  return program.end();
}
