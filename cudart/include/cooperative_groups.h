// Groups of threads that work together: the grid, the block, power-of-two tiles of it, and whichever lanes are active.
#pragma once
#include "cuda_runtime.h"

namespace cooperative_groups {

struct grid_group {
  // All blocks of the launch meet. The launch must be cooperative (cudaLaunchCooperativeKernel), so that all are
  // resident. A block's first thread announces it; the arrival that completes the round flips the top bit, which the
  // others wait for.
  __device__ void sync() const;
  static __device__ unsigned long long size() { return num_blocks() * block_size(); }
  static __device__ unsigned long long num_threads() { return size(); }
  static __device__ unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  static __device__ unsigned long long block_rank() {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static __device__ unsigned long long thread_rank() {
    return block_rank() * block_size() + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static __device__ dim3 group_dim() { return gridDim; }
  static __device__ bool is_valid() { return true; }

 private:
  static __device__ unsigned long long block_size() { return 1ull * blockDim.x * blockDim.y * blockDim.z; }
};

struct thread_block {
  static __device__ void sync() { __syncthreads(); }
  static __device__ unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
  static __device__ unsigned int num_threads() { return size(); }
  static __device__ unsigned int thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static __device__ dim3 group_index() { return blockIdx; }
  static __device__ dim3 thread_index() { return threadIdx; }
  static __device__ dim3 group_dim() { return blockDim; }
  static __device__ dim3 dim_threads() { return blockDim; }
};

// What every group inside one warp can do; `mask` are its lanes.
struct coalesced_group {
  unsigned int mask;

  __device__ unsigned int size() const { return __popc(mask); }
  __device__ unsigned int num_threads() const { return size(); }
  __device__ unsigned int thread_rank() const { return __popc(mask & __nvvm_read_ptx_sreg_lanemask_lt()); }
  __device__ void sync() const { __syncwarp(mask); }
  // Ranks count members, shuffles count lanes.
  __device__ int lane_of(unsigned int rank) const {
    unsigned int rest = mask;
    while (rank--) rest &= rest - 1;
    return __ffs(static_cast<int>(rest)) - 1;
  }
  template <class T>
  __device__ T shfl(T value, unsigned int rank) const {
    return __shfl_sync(mask, value, lane_of(rank % size()));
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned int by) const {
    const unsigned int from = thread_rank() + by;
    return __shfl_sync(mask, value, lane_of(from < size() ? from : thread_rank()));
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned int by) const {
    return __shfl_sync(mask, value, lane_of(thread_rank() >= by ? thread_rank() - by : thread_rank()));
  }
  __device__ int any(int p) const { return __any_sync(mask, p); }
  __device__ int all(int p) const { return __all_sync(mask, p); }
  __device__ unsigned int ballot(int p) const {  // a bit per member, by rank
    unsigned int lanes = __ballot_sync(mask, p), ranks = 0, rank = 0;
    for (unsigned int rest = mask; rest; rest &= rest - 1, ++rank)
      if (lanes & rest & (0u - rest)) ranks |= 1u << rank;
    return ranks;
  }
};

template <unsigned int Size, class Parent = void>
struct thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  static __device__ constexpr unsigned int size() { return Size; }
  static __device__ constexpr unsigned int num_threads() { return Size; }
  static __device__ unsigned int lane() { return thread_block::thread_rank() % 32; }
  static __device__ unsigned int thread_rank() { return thread_block::thread_rank() % Size; }
  static __device__ unsigned int meta_group_rank() { return thread_block::thread_rank() / Size; }
  static __device__ unsigned int meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  static __device__ unsigned int mask() { return (Size == 32 ? ~0u : (1u << Size % 32) - 1) << (lane() / Size * Size); }
  static __device__ void sync() { __syncwarp(mask()); }
  template <class T>
  __device__ T shfl(T value, int rank) const {
    return __shfl_sync(mask(), value, rank, Size);
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned int by) const {
    return __shfl_down_sync(mask(), value, by, Size);
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned int by) const {
    return __shfl_up_sync(mask(), value, by, Size);
  }
  template <class T>
  __device__ T shfl_xor(T value, int by) const {
    return __shfl_xor_sync(mask(), value, by, Size);
  }
  __device__ int any(int p) const { return __any_sync(mask(), p); }
  __device__ int all(int p) const { return __all_sync(mask(), p); }
  __device__ unsigned int ballot(int p) const { return __ballot_sync(mask(), p) >> (lane() / Size * Size); }
  template <class T>
  __device__ unsigned int match_any(T value) const {
    return __match_any_sync(mask(), value) >> (lane() / Size * Size);
  }
};

static __device__ inline grid_group this_grid() { return {}; }
static __device__ inline thread_block this_thread_block() { return {}; }
static __device__ inline coalesced_group coalesced_threads() { return {__activemask()}; }
template <unsigned int Size, class Parent>
__device__ inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}
template <class Group>
__device__ inline void sync(const Group& group) {
  group.sync();
}

namespace detail {
static __device__ unsigned int grid_rounds = 0;
}
__device__ inline void grid_group::sync() const {
  __syncthreads();
  if (thread_block::thread_rank() == 0) {
    __threadfence();
    const unsigned int add = block_rank() == 0 ? 0x80000000u - (static_cast<unsigned int>(num_blocks()) - 1) : 1u;
    const unsigned int before = atomicAdd(&detail::grid_rounds, add);
    while (((before ^ *const_cast<volatile unsigned int*>(&detail::grid_rounds)) & 0x80000000u) == 0) {}
    __threadfence();
  }
  __syncthreads();
}

}  // namespace cooperative_groups
