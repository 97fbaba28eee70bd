// A whole array with a small state: as `runs.cuh` has several, but for what a call of a few microseconds consists of.
// Where a thread has no more than one turn of loads it knows all addresses before it waits for the launch before, and
// what blocks leave for the last of them needs no fence (block/marked.cuh).
#pragma once

#include "../block/marked.cuh"
#include "runs.cuh"

namespace coalesce::detail {

template <class A, class Source>
struct whole {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t count;
  marked<typename A::state>* left;  // one for each block, where there are several
  unsigned int* ticket;
};

// Whether this kernel is for it.
template <class A, class Source>
inline constexpr bool is_whole = runs_bounds<A>::small && Source::width > 1;

// Vectors of a thread's turn: 128 bytes, whichever of two inputs they are of.
template <class A, class Source>
inline constexpr int loads_of_whole = shape<A>::loads / Source::inputs;

// All threads' vectors in one turn.
template <int Loads, class Source, class Body>
__device__ __forceinline__ void visit_at_once(const Source& in, std::int64_t count, int thread, int threads,
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
    visit_whole_turn(in, loaded, first, step, body);
  } else {
    visit_loaded(in, loaded, left, threads, first, body);
  }
}

template <class A, class Source, bool AtOnce>
__global__ void __launch_bounds__(runs_bounds<A>::threads, runs_bounds<A>::blocks)
    reduce_whole(const whole<A, Source> problem) {
  constexpr int loads = loads_of_whole<A, Source>;
  let_next_start();
  const A& a = problem.accumulator;
  const int threads = static_cast<int>(blockDim.x), blocks = static_cast<int>(gridDim.x);
  const int thread = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  typename A::state state = a.identity();
  if constexpr (AtOnce) {
    visit_at_once<loads>(problem.in, problem.count, thread, blocks * threads,
                         [&](const auto& tile, auto at) { a.add(state, tile, at); });
  } else {
    const auto wait = [](auto&... known) { wait_for_earlier(known...); };
    visit_run<loads, 128>(problem.in, problem.count, thread, blocks * threads, wait, [&](const auto& tile, auto at) {
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
  state = fold_block<runs_bounds<A>::threads>(a, state, threads);
  // The rest is the first warp's: to wait for the others takes longer than what they could do.
  if (threadIdx.x >= 32) return;
  if (blocks > 1 && !meet_marked(a, state, problem.left, problem.ticket, static_cast<int>(blockIdx.x), blocks)) return;
  if (threadIdx.x == 0) *problem.out = a.finish(state, problem.count);
}

// How many blocks, and threads of each: measured (docs/library-kernels.md).
struct whole_form {
  int blocks, threads;
};
template <class A>
whole_form form_of_whole(std::int64_t bytes, int processors) {
  constexpr int turn = 128;  // bytes of a thread
  const auto blocks_of = [&](std::int64_t threads) { return ceil_div(bytes, threads * turn); };
  // A block, with as many threads as have all under way at once.
  if (bytes <= 512 * turn) return {1, bytes <= 32 * turn ? 32 : bytes <= 128 * turn ? 128 : 512};
  // Warps, which need no barrier, while what they leave comes to the last one by one turn of loads.
  for (int threads = 32; threads <= 64; threads *= 2) {
    if (blocks_of(threads) <= meeting_blocks<typename A::state> && bytes <= 1 << 20) {
      return {static_cast<int>(blocks_of(threads)), threads};
    }
  }
  // One block a multiprocessor; threads with half a turn each, or a whole one. Where states take long to fold also when
  // there are several turns.
  constexpr bool long_folds = marked_words<typename A::state> > 2 && !A::indexed;
  if (bytes <= (long_folds ? in_l2_bytes : processors * 512ll * turn)) {
    const std::int64_t share = bytes / processors;
    return {processors, share <= 128 * turn / 2 ? 128 : share <= 256 * turn / 2 ? 256 : 512};
  }
  // Two. Where places of small elements are looked for, that takes less time in several turns, of which the second
  // knows what was found in the first.
  if (A::indexed && sizeof(typename A::element) < 8 && bytes <= in_l2_bytes) return {2 * processors, 256};
  const std::int64_t wanted = blocks_of(512);
  return {wanted < 2 * processors ? static_cast<int>(wanted) : 2 * processors, 512};
}

template <class A, class Source>
status launch_whole(const A& a, const Source& in, typename A::result* out, std::int64_t count, whole_form form,
                    const device_facts& device, cudaStream_t stream, workspace* work) {
  using slot = marked<typename A::state>;
  whole<A, Source> problem = {a, in, out, count, nullptr, nullptr};
  if (form.blocks > 1) {
    if (const status s = find_workspace(stream, device.device, 0, work); !s) return s;
    problem.ticket = work->tickets();
    problem.left = reinterpret_cast<slot*>(work->tickets() + 32);
    const int most = (max_tickets - 32) * static_cast<int>(sizeof(unsigned int)) / static_cast<int>(sizeof(slot));
    if (form.blocks > most) form.blocks = most;
  }
  const std::int64_t turn = std::int64_t{Source::width} * loads_of_whole<A, Source> * form.threads * form.blocks;
  const bool at_once = count <= turn;
  return launch_early(at_once ? reduce_whole<A, Source, true> : reduce_whole<A, Source, false>, problem, form.blocks,
                      form.threads, 0, stream, device);
}

// The same, in the form that is best.
template <class A, class Source>
status launch_whole(const A& a, const Source& in, typename A::result* out, std::int64_t count, cudaStream_t stream,
                    workspace* work) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const whole_form form = form_of_whole<A>(count * Source::bytes, device.processors);
  return launch_whole(a, in, out, count, form, device, stream, work);
}

}  // namespace coalesce::detail
