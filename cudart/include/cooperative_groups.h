// Groups of threads that work together: the grid, the block, power-of-two tiles of it, and whichever lanes are active.
// multi_grid_group is not among them: CUDA 13 has removed it. A grid of each device meets the others between launches.
#pragma once
#pragma GCC system_header  // `if constexpr` also where the program is C++11 or 14
#include "coalesce_cuda/plain_names_away.h"
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
  static __device__ dim3 dim_blocks() { return gridDim; }
  static __device__ dim3 block_index() { return blockIdx; }
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

namespace detail {
// A value of up to 32 bytes, moved by one shuffle per 32-bit word of it.
template <class T, class Shuffle>
__device__ COALESCE_INLINE T by_words(const T& value, Shuffle shuffle) {
  static_assert(sizeof(T) <= 32, "groups shuffle values of up to 32 bytes");
  unsigned int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (unsigned int& word : words) word = shuffle(word);
  T result = value;
  __builtin_memcpy(&result, words, sizeof(T));
  return result;
}
}  // namespace detail

// Some lanes of one warp; `mask` says which. Ranks count members, in the order of lanes.
struct coalesced_group {
  unsigned int mask;
  unsigned int meta_rank = 0, meta_size = 1;  // its place among the groups that its parent was divided into

  __device__ explicit coalesced_group(unsigned int mask_, unsigned int meta_rank_ = 0, unsigned int meta_size_ = 1)
      : mask(mask_), meta_rank(meta_rank_), meta_size(meta_size_) {}
  __device__ unsigned int size() const { return __popc(mask); }
  __device__ unsigned int num_threads() const { return size(); }
  __device__ unsigned int thread_rank() const { return __popc(mask & __nvvm_read_ptx_sreg_lanemask_lt()); }
  __device__ unsigned int meta_group_rank() const { return meta_rank; }
  __device__ unsigned int meta_group_size() const { return meta_size; }
  __device__ void sync() const { __syncwarp(mask); }
  __device__ int lane_of(unsigned int rank) const {
    if (mask == ~0u) return static_cast<int>(rank);
    unsigned int rest = mask;
    while (rank--) rest &= rest - 1;
    return __ffs(static_cast<int>(rest)) - 1;
  }
  template <class T>
  __device__ T shfl(T value, unsigned int rank) const {
    return from(value, rank % size());
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned int by) const {
    const unsigned int rank = thread_rank();
    return from(value, by < size() - rank ? rank + by : rank);
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned int by) const {
    const unsigned int rank = thread_rank();
    return from(value, by <= rank ? rank - by : rank);
  }
  __device__ int any(int p) const { return __any_sync(mask, p); }
  __device__ int all(int p) const { return __all_sync(mask, p); }
  __device__ unsigned int ballot(int p) const { return by_rank(__ballot_sync(mask, p)); }
  template <class T>
  __device__ unsigned int match_any(T value) const {
    return by_rank(__match_any_sync(mask, value));
  }
  template <class T>
  __device__ unsigned int match_all(T value, int& all) const {
    return by_rank(__match_all_sync(mask, value, &all));
  }

 private:
  template <class T>
  __device__ T from(const T& value, unsigned int rank) const {
    const int lane = lane_of(rank);
    return detail::by_words(value, [&](unsigned int word) { return __shfl_sync(mask, word, lane); });
  }
  __device__ unsigned int by_rank(unsigned int lanes) const {  // a bit per lane to a bit per member
    if (mask == ~0u) return lanes;
    unsigned int ranks = 0, rank = 0;
    for (unsigned int rest = mask; rest; rest &= rest - 1, ++rank)
      if (lanes & rest & (0u - rest)) ranks |= 1u << rank;
    return ranks;
  }
};

namespace detail {
// Members of all tiles, of whatever parent.
template <unsigned int Size>
struct tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  static __device__ constexpr unsigned int size() { return Size; }
  static __device__ constexpr unsigned int num_threads() { return Size; }
  static __device__ unsigned int lane() { return thread_block::thread_rank() % 32; }
  static __device__ unsigned int thread_rank() { return thread_block::thread_rank() % Size; }
  static __device__ unsigned int first_lane() { return lane() / Size * Size; }
  static __device__ unsigned int lanes() { return (Size == 32 ? ~0u : (1u << Size % 32) - 1) << first_lane(); }
  static __device__ void sync() { __syncwarp(lanes()); }
  template <class T>
  __device__ T shfl(T value, int rank) const {
    return by_words(value, [&](unsigned int word) { return __shfl_sync(lanes(), word, rank, Size); });
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned int by) const {
    return by_words(value, [&](unsigned int word) { return __shfl_down_sync(lanes(), word, by, Size); });
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned int by) const {
    return by_words(value, [&](unsigned int word) { return __shfl_up_sync(lanes(), word, by, Size); });
  }
  template <class T>
  __device__ T shfl_xor(T value, int by) const {
    return by_words(value, [&](unsigned int word) { return __shfl_xor_sync(lanes(), word, by, Size); });
  }
  __device__ int any(int p) const { return __any_sync(lanes(), p); }
  __device__ int all(int p) const { return __all_sync(lanes(), p); }
  __device__ unsigned int ballot(int p) const { return __ballot_sync(lanes(), p) >> first_lane(); }
  template <class T>
  __device__ unsigned int match_any(T value) const {
    return __match_any_sync(lanes(), value) >> first_lane();
  }
  template <class T>
  __device__ unsigned int match_all(T value, int& all) const {
    return __match_all_sync(lanes(), value, &all) >> first_lane();
  }
};
}  // namespace detail

template <unsigned int Size, class Parent = void>
struct thread_block_tile : detail::tile<Size> {
  static __device__ unsigned int meta_group_rank() { return Parent::thread_rank() / Size; }
  static __device__ unsigned int meta_group_size() { return (Parent::size() + Size - 1) / Size; }
};

// A tile that no longer says in its type what it is a tile of.
template <unsigned int Size>
struct thread_block_tile<Size, void> : detail::tile<Size> {
  template <class Parent>
  __device__ thread_block_tile(const thread_block_tile<Size, Parent>& tile)
      : meta_rank(tile.meta_group_rank()), meta_size(tile.meta_group_size()) {}
  __device__ unsigned int meta_group_rank() const { return meta_rank; }
  __device__ unsigned int meta_group_size() const { return meta_size; }

 private:
  unsigned int meta_rank, meta_size;
};

namespace detail {
template <unsigned int Size, class Parent>
__device__ inline coalesced_group lanes_of(const thread_block_tile<Size, Parent>& tile) {
  return coalesced_group(tile.lanes(), tile.meta_group_rank(), tile.meta_group_size());
}
__device__ inline coalesced_group lanes_of(const coalesced_group& group) { return group; }
}  // namespace detail

// Any group, known only when the kernel runs.
struct thread_group {
  __device__ thread_group(const grid_group&) : kind(Kind::grid), lanes(0) {}
  __device__ thread_group(const thread_block&) : kind(Kind::block), lanes(0) {}
  __device__ thread_group(const coalesced_group& group) : kind(Kind::lanes), lanes(group) {}
  template <unsigned int Size, class Parent>
  __device__ thread_group(const thread_block_tile<Size, Parent>& tile)
      : kind(Kind::lanes), lanes(detail::lanes_of(tile)) {}

  __device__ unsigned long long size() const {
    return kind == Kind::grid ? grid_group::size() : kind == Kind::block ? thread_block::size() : lanes.size();
  }
  __device__ unsigned long long num_threads() const { return size(); }
  __device__ unsigned long long thread_rank() const {
    return kind == Kind::grid    ? grid_group::thread_rank()
           : kind == Kind::block ? thread_block::thread_rank()
                                 : lanes.thread_rank();
  }
  __device__ void sync() const {
    if (kind == Kind::grid)
      grid_group().sync();
    else if (kind == Kind::block)
      __syncthreads();
    else
      lanes.sync();
  }
  __device__ bool is_block() const { return kind == Kind::block; }
  __device__ bool is_grid() const { return kind == Kind::grid; }
  __device__ const coalesced_group& members() const { return lanes; }  // where it is neither

 private:
  enum class Kind { grid, block, lanes } kind;
  coalesced_group lanes;
};

static __device__ inline grid_group this_grid() { return {}; }
static __device__ inline thread_block this_thread_block() { return {}; }
static __device__ inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <unsigned int Size>
__device__ inline thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned int Size, unsigned int ParentSize, class Parent>
__device__ inline thread_block_tile<Size, thread_block_tile<ParentSize, Parent>> tiled_partition(
    const thread_block_tile<ParentSize, Parent>&) {
  static_assert(Size <= ParentSize, "a tile cannot be larger than the tile it is part of");
  return {};
}
// Parts of `size` members each, by rank; the last has what is left over.
static __device__ inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size) {
  const unsigned int part = parent.thread_rank() / size;
  unsigned int lanes = 0, rank = 0;
  for (unsigned int rest = parent.mask; rest; rest &= rest - 1, ++rank)
    if (rank / size == part) lanes |= rest & (0u - rest);
  return coalesced_group(lanes, part, (parent.size() + size - 1) / size);
}
// A tile of a block whose size is known when the kernel runs: a power of two up to 32; trap otherwise.
static __device__ inline thread_group tiled_partition(const thread_group& parent, unsigned int size) {
  if (size == 0 || size > 32 || (size & (size - 1)) != 0 || parent.is_grid()) __trap();
  if (!parent.is_block()) return tiled_partition(parent.members(), size);
  const unsigned int rank = thread_block::thread_rank();
  const unsigned int lanes = (size == 32 ? ~0u : (1u << size) - 1) << (rank % 32 / size * size);
  return coalesced_group(lanes, rank / size, (thread_block::size() + size - 1) / size);
}

// The members of the group that give the same label. The groups' order is that of their first members.
template <class Group, class Label>
__device__ inline coalesced_group labeled_partition(const Group& group, Label label) {
  const coalesced_group parent = detail::lanes_of(group);
  const unsigned int same = __match_any_sync(parent.mask, label);
  const bool first = (same & __nvvm_read_ptx_sreg_lanemask_lt()) == 0;
  const unsigned int firsts = __ballot_sync(parent.mask, first);
  const unsigned int before = (same & (0u - same)) - 1;  // the lanes before this group's first
  return coalesced_group(same, __popc(firsts & before), __popc(firsts));
}
// The members that say the same, yes or no.
template <class Group>
__device__ inline coalesced_group binary_partition(const Group& group, bool yes) {
  const coalesced_group parent = detail::lanes_of(group);
  const unsigned int said_yes = __ballot_sync(parent.mask, yes);
  const unsigned int same = yes ? said_yes : parent.mask & ~said_yes;
  return coalesced_group(same, yes, same == parent.mask ? 1 : 2);
}

template <class Group>
__device__ inline void sync(const Group& group) {
  group.sync();
}

// One member runs f; the broadcast form hands its result to all members of a tile or coalesced group.
template <class Group, class F, class... Arguments>
__device__ inline void invoke_one(const Group& group, F&& f, Arguments&&... arguments) {
  if (group.thread_rank() == 0) static_cast<F&&>(f)(static_cast<Arguments&&>(arguments)...);
}
template <class Group, class F, class... Arguments>
__device__ inline auto invoke_one_broadcast(const Group& group, F&& f, Arguments&&... arguments)
    -> decltype(f(static_cast<Arguments&&>(arguments)...)) {
  decltype(f(static_cast<Arguments&&>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = static_cast<F&&>(f)(static_cast<Arguments&&>(arguments)...);
  return group.shfl(result, 0);
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
#include "coalesce_cuda/plain_names_back.h"
