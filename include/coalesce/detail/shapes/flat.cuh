// Reduces a whole array: like `long_rows.cuh` with one row, tuned for calls of a few microseconds. A thread with one
// turn of loads knows all addresses before it waits for the preceding launch, and blocks leave their states in flagged
// words, without a fence (detail/block/flagged.cuh).
#pragma once

#include <coalesce/detail/accumulators/extremes.cuh>
#include <coalesce/detail/block/flagged.cuh>
#include <coalesce/detail/shapes/long_rows.cuh>

namespace coalesce::detail {

template <class A, class Source>
struct flat {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t count;
  flagged<typename A::state>* left;  // one for each block, where there are several
  unsigned int* ticket;
};

template <class A>
inline constexpr bool has_small_state = sizeof(typename A::state) <= (A::indexed ? 16 : 24);

// Whether this kernel is for it. Larger states are for calls in which no thread has more than one turn: where each has
// many, it is better not to have all threads of a multiprocessor in one block, and three blocks' states with their
// flags take longer to read than what a fence costs (long_rows.cuh).
template <class A, class Source>
inline constexpr bool is_flat = has_small_state<A> && Source::width > 1;
template <class A, class Source>
inline constexpr bool is_flat_in_one_turn =
    !has_small_state<A> && Source::width > 1 &&
    sizeof(typename A::state) <= 48 && std::is_same_v<A, typename of_few<A>::type>;

// Vectors of a thread's turn: 128 bytes, whichever of two inputs they are of.
template <class A, class Source>
inline constexpr int flat_loads = shape<A>::loads / Source::inputs;

// Threads of a block, at most, and blocks of a multiprocessor. Large states: one, so that few of them have to be
// merged; that is done by several warps.
inline constexpr int flat_threads = 512;
template <class A>
inline constexpr int flat_blocks = has_small_state<A> ? 2 : 1;

// All threads' vectors in one turn.
template <int Loads, class Source, class Body>
__device__ __forceinline__ void read_in_one_turn(const Source& in, std::int64_t count, int thread, int threads,
                                                 Body&& body) {
  using vector = typename Source::template vector_of<>;
  constexpr int width = Source::width;
  int head = in.template head<width * 8>();
  if (head > count) head = static_cast<int>(count);
  const int vectors = static_cast<int>((count - head) / width) & ~1, left = vectors - thread;
  const std::int64_t first = head + static_cast<std::int64_t>(thread) * width;
  const std::int64_t step = static_cast<std::int64_t>(threads) * width;
  std::int64_t known = vectors;
#pragma unroll
  for (int k = 0; k < Loads; ++k) known |= in.from(first + k * step).address();
  wait_for_earlier(known);
  const int inside = vectors * width, single = static_cast<int>(count) - inside;
#pragma unroll 1
  for (int s = thread; s < single; s += threads) {
    const int at = s < head ? s : s + inside;
    const typename Source::element one[1] = {in.at(at)};
    body(one, positions<1>{at, 0});
  }
  vector loaded[Loads] = {};
#pragma unroll
  for (int k = 0; k < Loads; ++k) in.fetch_if(k * threads < left, first + k * step, loaded[k]);
  if ((thread | 31) + (Loads - 1) * threads < vectors) {  // of a warp all lanes or none
    pass_full_turn(in, loaded, first, step, body);
  } else {
    pass_loaded(in, loaded, left, threads, first, body);
  }
}

template <class A, class Source, bool AtOnce>
__global__ void __launch_bounds__(flat_threads, flat_blocks<A>) reduce_whole(const flat<A, Source> problem) {
  constexpr int loads = flat_loads<A, Source>;
  let_next_start();
  const A& a = problem.accumulator;
  const int threads = static_cast<int>(blockDim.x), blocks = static_cast<int>(gridDim.x);
  const int thread = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  typename A::state state = a.identity();
  if constexpr (AtOnce) {
    read_in_one_turn<loads>(problem.in, problem.count, thread, blocks * threads,
                            [&](const auto& tile, auto at) { a.add(state, tile, at); });
  } else {
    const auto wait = [&](std::int64_t& head, std::int64_t& vectors, std::int64_t& first) {
      prefetch_first<loads>(problem.in, head, vectors, first, blocks * threads);
      wait_for_earlier(head, vectors, first);
    };
    read_run<loads, 128>(problem.in, problem.count, thread, blocks * threads, wait, [&](const auto& tile, auto at) {
      if constexpr (shares<A>) {
        const typename A::state before = state;
        a.add(state, tile, at);
        constexpr int most = vectors_of_tile<loads, Source> * Source::width;
        if constexpr (sizeof(tile) / sizeof(tile[0]) == most) {  // smaller ones are the last
          if (at(0) + loads * at.step < problem.count) a.share(before, state);
        }
      } else {
        a.add(state, tile, at);
      }
    });
  }
  state = fold_block<flat_threads>(a, state, threads);
  // The first warp folds the rest of small states: to wait for other warps takes longer than their share of the work.
  constexpr int folding = has_small_state<A> ? 32 : 256;
  if (threadIdx.x >= folding) return;
  if (blocks > 1 && !combine_flagged<folding>(a, state, problem.left, problem.ticket, static_cast<int>(blockIdx.x),
                                              blocks, folding < threads ? folding : threads))
    return;
  if (threadIdx.x == 0) *problem.out = a.finish(state, problem.count);
}

// How many blocks, and threads of each: measured (docs/internals/library-kernels.md).
struct flat_form {
  int blocks, threads;
};
template <class A>
flat_form flat_form_of(std::int64_t bytes, int processors) {
  constexpr int turn = 128;  // bytes of a thread
  if constexpr (!has_small_state<A>) {
    const std::int64_t wanted = bytes <= 65536 ? 1 : bytes / 16384, blocks = wanted < processors ? wanted : processors;
    const std::int64_t share = ceil_div(bytes, blocks);
    for (const int threads : {32, 128, 256}) {
      if (share <= threads * turn) return {static_cast<int>(blocks), threads};
    }
    return {static_cast<int>(blocks), flat_threads};
  }
  const auto blocks_of = [&](std::int64_t threads) { return ceil_div(bytes, threads * turn); };
  // A block, with as many threads as have all under way at once.
  if (bytes <= 512 * turn) return {1, bytes <= 32 * turn ? 32 : bytes <= 128 * turn ? 128 : 512};
  // Warps, which need no barrier, while what they leave comes to the last one by one turn of loads.
  for (int threads = 32; threads <= 64; threads *= 2) {
    if (blocks_of(threads) <= blocks_of_one_turn<typename A::state> && bytes <= 1 << 20) {
      return {static_cast<int>(blocks_of(threads)), threads};
    }
  }
  // One block a multiprocessor; threads with half a turn each, or a whole one. Where states take long to fold also when
  // there are several turns.
  constexpr bool long_folds = flagged_words<typename A::state> > 2 && !A::indexed;
  if (bytes <= (long_folds ? tuning::in_l2_bytes : processors * 512ll * turn)) {
    const std::int64_t share = bytes / processors;
    return {processors, share <= 128 * turn / 2 ? 128 : share <= 256 * turn / 2 ? 256 : 512};
  }
  // Two. Where places of small elements are looked for, that takes less time in several turns, of which the second
  // knows what was found in the first.
  if (A::indexed && sizeof(typename A::element) < 8 && bytes <= tuning::in_l2_bytes) return {2 * processors, 256};
  const std::int64_t wanted = blocks_of(512);
  return {wanted < 2 * processors ? static_cast<int>(wanted) : 2 * processors, 512};
}

// Elements that all threads' loads of a turn have.
template <class A, class Source>
std::int64_t flat_turn(flat_form form) {
  return std::int64_t{Source::width} * flat_loads<A, Source> * form.threads * form.blocks;
}

template <class A, class Source>
status launch_flat(const A& a, const Source& in, typename A::result* out, std::int64_t count, flat_form form,
                   const device_facts& device, cudaStream_t stream, workspace* work) {
  using slot = flagged<typename A::state>;
  flat<A, Source> problem = {a, in, out, count, nullptr, nullptr};
  if (form.blocks > 1) {
    if (const status s = find_workspace(stream, device.device, 0, work); !s) return s;
    problem.ticket = work->tickets();
    problem.left = static_cast<slot*>(work->flags());
  }
  void (*kernel)(flat<A, Source>) = reduce_whole<A, Source, true>;
  if constexpr (is_flat<A, Source>) {
    if (count > flat_turn<A, Source>(form)) kernel = reduce_whole<A, Source, false>;
  }
  return launch_early(kernel, problem, form.blocks, form.threads, 0, stream, device);
}

// A whole array, by the kernel and in the form that are best.
template <class A, class Source>
status launch_array(const A& a, const Source& in, typename A::result* out, std::int64_t count, cudaStream_t stream,
                    workspace* work) {
  if constexpr (is_flat<A, Source> || is_flat_in_one_turn<A, Source>) {
    device_facts device;
    if (const status s = current_device(device); !s) return s;
    // The workspace has room for the blocks' states.
    constexpr int most = workspace::flagged_bytes / sizeof(flagged<typename A::state>) / flat_blocks<A>;
    const int processors = device.processors < most ? device.processors : most;
    const flat_form form = flat_form_of<A>(count * Source::bytes, processors);
    if constexpr (is_flat<A, Source>) {
      return launch_flat(a, in, out, count, form, device, stream, work);
    } else if (count <= flat_turn<A, Source>(form)) {
      return launch_flat(a, in, out, count, form, device, stream, work);
    }
  }
  if constexpr (!is_flat<A, Source>) return launch_long_rows(a, in, out, count, 1, row_map(), stream, work);
}

}  // namespace coalesce::detail
