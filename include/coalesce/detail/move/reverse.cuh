// Elements of sizes that are no power of two, or lie across vectors, in the opposite order: by units through shared
// memory. (The other sizes: detail/move/copy.cuh, mirrored.)
#pragma once

#include <coalesce/detail/move/copy.cuh>

namespace coalesce::detail {

inline constexpr int reverse_threads = 256, reverse_tile = 1024;  // elements of a block

// A warp reads whole elements from the tile, so that its lanes read side by side: no bank twice.
template <int Size, int Bytes>
__global__ void __launch_bounds__(reverse_threads) reverse_units(const void* from, void* to, std::int64_t count) {
  using unit = typename unit_of<Bytes>::type;
  constexpr int units = Size / Bytes, at_once = 32 / units;  // elements of a warp's pass
  __shared__ unit tile[reverse_tile * units];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * reverse_tile;
  const int here = count - first < reverse_tile ? static_cast<int>(count - first) : reverse_tile;
  const unit* in = static_cast<const unit*>(from) + first * units;
  unit* out = static_cast<unit*>(to) + (count - first - here) * units;
  // The lanes of a warp go round together: unrolled, a loop of each lane's own length would leave them apart at its
  // end.
#pragma unroll 4
  for (int start = 0; start < here * units; start += reverse_threads) {
    const int i = start + threadIdx.x;
    if (i < here * units) tile[i] = in[i];
  }
  __syncthreads();
  const int lane = threadIdx.x % 32, element = lane / units, part = lane % units;
  for (int start = 0; start < here; start += reverse_threads / 32 * at_once) {
    const int e = start + threadIdx.x / 32 * at_once + element;
    if (element < at_once && e < here) out[e * units + part] = tile[(here - 1 - e) * units + part];
  }
}

template <int Size, int Bytes>
status start_reverse_units(const void* from, void* to, std::int64_t count, cudaStream_t stream) {
  const unsigned int blocks = grid_for(count, reverse_tile);
  if (!blocks) return refuse(too_many_blocks);
  return start(reverse_units<Size, Bytes>, blocks, reverse_threads, stream, from, to, count);
}

}  // namespace coalesce::detail
