// reduce(group, value, operation): every member gets the result.
#pragma once
#include "../coalesce_cuda/plain_names_away.h"
#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T = void>
struct plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T = void>
struct less {
  __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T = void>
struct greater {
  __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T = void>
struct bit_and {
  __device__ T operator()(T a, T b) const { return a & b; }
};
template <class T = void>
struct bit_or {
  __device__ T operator()(T a, T b) const { return a | b; }
};
template <class T = void>
struct bit_xor {
  __device__ T operator()(T a, T b) const { return a ^ b; }
};

template <unsigned int Size, class Parent, class T, class F>
__device__ inline T reduce(const thread_block_tile<Size, Parent>& tile, T value, F&& operation) {
  for (unsigned int by = Size / 2; by > 0; by /= 2)
    value = operation(value, tile.shfl_xor(value, static_cast<int>(by)));
  return value;
}
template <class T, class F>
__device__ inline T reduce(const coalesced_group& group, T value, F&& operation) {
  T result = group.shfl(value, 0);
  for (unsigned int rank = 1; rank < group.size(); ++rank) result = operation(result, group.shfl(value, rank));
  return result;
}

}  // namespace cooperative_groups
#include "../coalesce_cuda/plain_names_back.h"
