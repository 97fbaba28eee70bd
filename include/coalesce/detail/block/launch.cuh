// Parts that all kernels of shapes/ share: the place of an index, and the start of a kernel.
#pragma once

#include <coalesce/detail/block/fold.cuh>
#include <coalesce/detail/plan.cuh>
#include <coalesce/types/workspace.cuh>

namespace coalesce::detail {

// i / by, both at least 0. 32-bit division is several times cheaper, and nearly always enough.
__device__ __forceinline__ std::int64_t divide(std::int64_t i, std::int64_t by) {
  return (i | by) >> 32 == 0 ? static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(by) : i / by;
}

// Hides how an index was computed. A compiler that sees it keeps the addresses of all loads in flight in registers.
__device__ __forceinline__ void forget(std::int64_t& index) { asm("" : "+l"(index)); }

// Where row i begins, in elements: rows lie `stride` apart, or are `inner` rows to a plane and the planes `plane`
// apart.
struct row_map {
  std::int64_t stride = 0, inner = 0, plane = 0;  // inner = 0: no planes

  __device__ __forceinline__ std::int64_t operator()(std::int64_t i) const {
    if (inner == 0) return i * stride;
    const std::int64_t outer = divide(i, inner);
    return outer * plane + (i - outer * inner) * stride;
  }
};

// Neighbouring results that a thread owns where a vector has an element of each: those of 16 bytes, fewer where the
// states would take too many registers.
template <class A, class Source>
constexpr int states_in_vector(int most_bytes = 64) {
  int width = Source::width;
  while (width > 1 && width * static_cast<int>(sizeof(typename A::state)) > most_bytes) width /= 2;
  return width;
}
template <class A, class Source>
inline constexpr int vector_of_states = states_in_vector<A, Source>();

// The grid is `blocks` blocks, up to 2^31 - 1, by `splits`, up to 2^16 - 1.
template <class Problem>
status launch(void (*kernel)(Problem), const Problem& problem, std::int64_t blocks, int threads, int shared,
              cudaStream_t stream, int splits = 1) {
  if (blocks > 0x7fffffff) return refuse("more results than one launch can have: split the call");
  void* arguments[] = {const_cast<Problem*>(&problem)};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned int>(blocks), splits),
                          dim3(threads), arguments, shared, stream);
}

// The same for a kernel that begins with let_next_start() and calls wait_for_earlier(): it may be started while the one
// before it in the stream still runs, and saves what starting takes.
template <class Problem>
status launch_early(void (*kernel)(Problem), const Problem& problem, std::int64_t blocks, int threads, int shared,
                    cudaStream_t stream, const device_facts& device, int splits = 1) {
#if CUDART_VERSION >= 12030  // before, graphs do not know it
  if (device.starts_early && blocks <= 0x7fffffff) {
    cudaLaunchAttribute early;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned int>(blocks), splits);
    config.blockDim = dim3(static_cast<unsigned int>(threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(shared);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    void* arguments[] = {const_cast<Problem*>(&problem)};
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments);
  }
#endif
  return launch(kernel, problem, blocks, threads, shared, stream, splits);
}

// Lets the next launch start.
__device__ __forceinline__ void let_next_start() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Waits until what was before this launch in the stream has ended and can be seen. Called by all threads before they
// read or write anything: also the workspace is that of the launch before. What needs the parameters alone is best
// known before: `known`, none of them negative, which ptxas would find out later if the waiting did not depend on it.
__device__ __forceinline__ void wait_for_earlier() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}
template <class... Known>
__device__ __forceinline__ void wait_for_earlier(Known&... known) {
  if ((known | ... | 0) >= 0) wait_for_earlier();
}
__device__ __forceinline__ void wait_for_stream() {
  let_next_start();
  wait_for_earlier();
}

__host__ __device__ constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Blocks come in so many waves where each works for itself: multiprocessors are not equally far from the memory, and
// where all have the same share a twentieth of their time is waiting for the last (of short rows: 93 % of the memory's
// speed, with 16 waves or more 97). In order of memory, so that what blocks share of a line is read once.
inline constexpr std::int64_t waves_of_blocks = 32;

// How many splits fill the device best: whole rounds of `resident` blocks, few of them (one more costs as much as 4 %
// of a round that is empty), each split with enough rows.
inline std::int64_t splits_of_tiles(std::int64_t tiles, std::int64_t most, std::int64_t resident, double& share,
                                    std::int64_t most_rounds = 4) {
  std::int64_t best = 1;
  const std::int64_t fewest = ceil_div(tiles, resident);
  // The search takes the most splits that fit for each number of rounds: to look at all of them costs the host 12 us
  // where tiles are few.
  for (std::int64_t rounds = fewest; rounds == fewest || rounds <= most_rounds; ++rounds) {
    std::int64_t splits = rounds * resident / tiles;
    if (splits > most) splits = most;
    if (splits < 1 || rounds > most_rounds) splits = 1;
    const std::int64_t blocks = tiles * splits, needed = ceil_div(blocks, resident);
    const double filled = static_cast<double>(blocks) / static_cast<double>(needed * resident);
    const double here = filled - 0.04 * static_cast<double>(needed < 8 ? needed : 8);
    if (rounds == fewest || here > share) {
      best = splits;
      share = here;
    }
  }
  return best;
}

}  // namespace coalesce::detail
