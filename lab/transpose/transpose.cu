// A square matrix turned over: rows become columns. One side of the copy runs along rows and is coalesced; the other
// runs down columns, unless shared memory turns the tile over on the way.
//
//   transpose [--n N] [--rung NAME]     N x N floats, N from 0 to 32768 (default 4096)
//
// Blocks of 32 x 8 threads turn over tiles of 32 x 32, four elements a thread, so a warp is one row of a tile.
#include "../program.h"

constexpr unsigned int kTile = 32, kRows = 8;

__device__ inline size_t at(unsigned int row, unsigned int column, unsigned int n) {
  return static_cast<size_t>(row) * n + column;
}

// Rung 1. Reads along rows, writes down columns.
// Counters: loads of 4 sectors a request; the lanes of a store are n floats apart, so it touches 32 sectors for 128
// bytes.
__global__ void naive_row(const float* in, float* out, unsigned int n) {
  const unsigned int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += kRows) {
    if (x < n && y + k < n) out[at(x, y + k, n)] = in[at(y + k, x, n)];
  }
}

// Rung 2. The other way about: reads down columns, writes along rows.
// Counters: loads and stores change places. Just as many sectors in all, but 32-sector loads find what they fetched
// still in the cache when the next row of the tile is read; 32-sector stores do not.
__global__ void naive_column(const float* in, float* out, unsigned int n) {
  const unsigned int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += kRows) {
    if (x < n && y + k < n) out[at(y + k, x, n)] = in[at(x, y + k, n)];
  }
}

// A tile through shared memory: written by rows, read by columns. `Width` is how many words lie between two rows of it.
template <unsigned int Width>
__device__ inline void through_tile(const float* in, float* out, unsigned int n) {
  __shared__ float tile[kTile][Width];
  const unsigned int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += kRows) {
    if (x < n && y + k < n) tile[threadIdx.y + k][threadIdx.x] = in[at(y + k, x, n)];
  }
  __syncthreads();
  const unsigned int out_x = blockIdx.y * kTile + threadIdx.x, out_y = blockIdx.x * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += kRows) {
    if (out_x < n && out_y + k < n) out[at(out_y + k, out_x, n)] = tile[threadIdx.x][threadIdx.y + k];
  }
}

// Rung 3. The column is walked in shared memory, which has no sectors to waste.
// Counters: 4 sectors a request on both sides. But rows of the tile are 32 words apart, so a column is in one bank: 32
// wavefronts for each load from the tile.
__global__ void shared_tile(const float* in, float* out, unsigned int n) { through_tile<kTile>(in, out, n); }

// Rung 4. One unused word at the end of each row of the tile.
// Counters: element (r, c) is in bank (r + c) mod 32, so a column has all 32: one wavefront a request. Global as
// before.
__global__ void shared_padded(const float* in, float* out, unsigned int n) { through_tile<kTile + 1>(in, out, n); }

// Rung 5. No unused word: element (r, c) is kept at column c xor r.
// Counters: rows and columns both meet every bank once, as in rung 4, with 4096 bytes a block instead of 4224.
__global__ void shared_swizzled(const float* in, float* out, unsigned int n) {
  __shared__ float tile[kTile][kTile];
  const unsigned int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += kRows) {
    const unsigned int row = threadIdx.y + k;
    if (x < n && y + k < n) tile[row][threadIdx.x ^ row] = in[at(y + k, x, n)];
  }
  __syncthreads();
  const unsigned int out_x = blockIdx.y * kTile + threadIdx.x, out_y = blockIdx.x * kTile + threadIdx.y;
  for (unsigned int k = 0; k < kTile; k += kRows) {
    const unsigned int column = threadIdx.y + k;
    if (out_x < n && out_y + k < n) out[at(out_y + k, out_x, n)] = tile[threadIdx.x][column ^ threadIdx.x];
  }
}

// Rung 6. Loads and stores of 16 bytes, four rows of the tile for a warp; where n is no multiple of four, rows do not
// begin at multiples of 16 bytes and the elements go one by one.
// Counters: a quarter of the global requests at 16 sectors each; the sectors stay. The tile is still accessed word by
// word, without conflicts: bank (r + c) mod 32, and a warp's words have r from 0 to 3 and c in steps of 4.
__global__ void vectorised(const float* in, float* out, unsigned int n) {
  __shared__ float tile[kTile][kTile + 1];
  const unsigned int thread = threadIdx.y * kTile + threadIdx.x, row = thread / 8, column = thread % 8 * 4;
  const bool whole = n % 4 == 0;  // then a vector lies inside a row or outside
  const unsigned int x = blockIdx.x * kTile + column, y = blockIdx.y * kTile + row;
  if (whole) {
    if (x < n && y < n) {
      const float4 v = *reinterpret_cast<const float4*>(in + at(y, x, n));
      tile[row][column] = v.x;
      tile[row][column + 1] = v.y;
      tile[row][column + 2] = v.z;
      tile[row][column + 3] = v.w;
    }
  } else {
    for (unsigned int k = 0; k < 4; ++k) {
      if (x + k < n && y < n) tile[row][column + k] = in[at(y, x + k, n)];
    }
  }
  __syncthreads();
  const unsigned int out_x = blockIdx.y * kTile + column, out_y = blockIdx.x * kTile + row;
  if (whole) {
    if (out_x < n && out_y < n) {
      *reinterpret_cast<float4*>(out + at(out_y, out_x, n)) =
          make_float4(tile[column][row], tile[column + 1][row], tile[column + 2][row], tile[column + 3][row]);
    }
  } else {
    for (unsigned int k = 0; k < 4; ++k) {
      if (out_x + k < n && out_y < n) out[at(out_y, out_x + k, n)] = tile[column + k][row];
    }
  }
}

struct Rung {
  const char* name;
  void (*kernel)(const float*, float*, unsigned int);
};

const Rung kRungs[] = {
    {"naive_row", naive_row},         {"naive_column", naive_column},       {"shared_tile", shared_tile},
    {"shared_padded", shared_padded}, {"shared_swizzled", shared_swizzled}, {"vectorised", vectorised}};

int main(int argc, char** argv) {
  Program program(argc, argv, {{"--n", 4096, 0, 32768, Option::any}});
  const unsigned int n = static_cast<unsigned int>(program["--n"]);
  const size_t size = static_cast<size_t>(n) * n;
  std::vector<float> host(size);
  for (size_t i = 0; i < size; ++i) host[i] = static_cast<float>(i % 16777213);
  const Array<float> in(host);
  Array<float> out(size);
  const dim3 grid(blocks_for(n, kTile), blocks_for(n, kTile)), block(kTile, kRows);
  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    out.spoil();
    if (n) rung.kernel<<<grid, block>>>(in.get(), out.get(), n);
    CHECK_KERNEL();
    const std::vector<float> result = out.download();
    bool right = true;
    for (size_t y = 0; y < n; ++y)
      for (size_t x = 0; x < n; ++x) right = right && result[y * n + x] == host[x * n + y];
    program.result(rung.name, right);
  }
  return program.end();
}
