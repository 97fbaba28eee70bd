// Long runs: each result is the reduction of `count` neighbouring elements, by one block or by several. A whole array
// is the case of one run; where its state is small it has a kernel of its own (whole.cuh).
//
// The blocks of a run take its vectors in turn (block/visit.cuh), so all have equally much to do. When a run has
// several, each leaves a partial result, and the last to end folds them in the order of the blocks: the same bits in
// every run.
#pragma once

#include "../block/visit.cuh"
#include "launch.cuh"

namespace coalesce::detail {

template <class A, class Source>
struct runs {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t count;
  row_map map;                           // run -> offset of its first element
  int slices;                            // blocks for each run
  typename shape<A>::partial* partials;  // one for each block; register accumulators of a single block need none
  unsigned int* tickets;                 // one for each run, where slices > 1
};

// Threads of a block, at most, and blocks of a multiprocessor.
template <class A>
struct runs_bounds {
  static constexpr bool small = !column_accumulator<A> && sizeof(typename shape<A>::partial) <= 16;
  static constexpr int threads = small ? 512 : shape<A>::threads;
  static constexpr int blocks = small ? 2 : shape<A>::blocks_per_processor;  // of so many threads
};

// Vectors that are asked for before the launch ahead has ended (block/visit.cuh): the first turn's. Of two blocks a
// multiprocessor, which have less under way, three turns'.
template <class A>
inline constexpr int asked_first = (shape<A>::blocks_per_processor < 3 ? 3 : 1) * shape<A>::loads;

template <class A, class Source>
__global__ void __launch_bounds__(runs_bounds<A>::threads, runs_bounds<A>::blocks)
    reduce_runs(const runs<A, Source> problem) {
  constexpr int most_threads = runs_bounds<A>::threads;
  let_next_start();
  const A& a = problem.accumulator;
  const int slices = problem.slices, slice = slices > 1 ? blockIdx.x : 0, threads = blockDim.x;
  const std::int64_t run = slices > 1 ? blockIdx.y : blockIdx.x;
  const Source in = problem.in.from(problem.map(run));
  const std::int64_t thread = static_cast<std::int64_t>(slice) * threads + threadIdx.x;
  const std::int64_t all = static_cast<std::int64_t>(slices) * threads;
  typename shape<A>::partial* const partials = problem.partials + run * slices;
  const auto wait = [&](std::int64_t& head, std::int64_t& vectors, std::int64_t& first) {
    ask_for_first<asked_first<A>>(in, head, vectors, first, all);
    wait_for_earlier(head, vectors, first);
  };

  if constexpr (column_accumulator<A>) {
    extern __shared__ __align__(16) char shared[];
    typename A::state state = a.begin(shared);
    visit_run<shape<A>::loads, 128>(in, problem.count, thread, all, wait,
                                    [&](const auto& tile, auto at) { a.add(state, tile, at); });
    a.fold(state, shared, groups{1, most_threads, most_threads}, partials + slice);
    if (slices > 1 ? !last_block(problem.tickets + run, slices) : (__syncthreads(), false)) return;
    a.finish(partials, slices, 1, problem.count, shared, problem.out + run);
  } else {
    typename A::state state = a.identity();
    visit_run<shape<A>::loads, 128>(in, problem.count, thread, all, wait, [&](const auto& tile, auto at) {
      if constexpr (shares<A>) {
        const typename A::state before = state;
        a.add(state, tile, at);
        constexpr int whole = vectors_of_tile<shape<A>::loads, Source> * Source::width;
        if constexpr (sizeof(tile) / sizeof(tile[0]) == whole) {  // smaller ones are the last
          if (at(0) + shape<A>::loads * at.step < problem.count) a.share(before, state);
        }
      } else {
        a.add(state, tile, at);
      }
    });
    state = fold_block<most_threads>(a, state, threads);
    // Of small states the rest is the first warp's: to wait for the others takes longer than what they could do.
    constexpr int folding = runs_bounds<A>::small ? 32 : most_threads;
    if (threadIdx.x >= folding) return;
    if (slices > 1) {
      if (threadIdx.x == 0) partials[slice] = state;
      if (!last_block<folding>(problem.tickets + run, slices)) return;
      constexpr int loads = runs_bounds<A>::small ? 9 : 2;
      const int folders = folding < threads ? folding : threads;
      state = fold_block<folding>(a, merge_partials<loads>(a, partials, threadIdx.x, slices, folders, 1), folders);
    }
    if (threadIdx.x == 0) problem.out[run] = a.finish(state, problem.count);
  }
}

// One array: up to so many bytes half of the blocks that fit are best, then, while it fits in L2, smaller ones.
inline constexpr std::int64_t near_bytes = 6 << 20, in_l2_bytes = 32 << 20;
// Several: more of them have smaller blocks, of which one comes after the other.
inline constexpr std::int64_t few_runs = 16;

// How many blocks share a run. One run: one block up to 64 KB, which are its 8 vectors a thread; then all that the
// device holds at once, with `least` bytes for each. Several: as many as fill the device's rounds best, as long as each
// has enough to do; ever fewer as there are more runs.
inline std::int64_t slices_of_runs(std::int64_t runs_count, std::int64_t bytes, std::int64_t resident,
                                   std::int64_t least = 16384) {
  if (runs_count == 1) {
    const std::int64_t blocks = bytes <= 65536 ? 1 : bytes / least;
    return blocks < resident ? blocks : resident;
  }
  const std::int64_t most = runs_count < max_tickets ? bytes / 65536 : 1;
  std::int64_t best = 1;
  double best_share = 0;
  for (std::int64_t rounds = ceil_div(runs_count, resident); rounds <= 8; ++rounds) {
    // The most that fit, as in slices_of_tiles.
    const std::int64_t fit = rounds * resident / runs_count, slices = fit < most ? fit : most;
    const std::int64_t blocks = runs_count * slices, needed = ceil_div(blocks, resident);
    const double share = static_cast<double>(blocks) / static_cast<double>(needed * resident);
    if (share > best_share + 0.01) {
      best = slices;
      best_share = share;
    }
  }
  return best;
}

// `runs` results of `count` elements each, `map` saying where they begin.
template <class A, class Source>
status launch_runs(const A& a, const Source& in, typename A::result* out, std::int64_t count, std::int64_t runs_count,
                   const row_map& map, cudaStream_t stream, workspace* work) {
  using bounds = runs_bounds<A>;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  constexpr std::int64_t size = sizeof(typename A::element);
  const std::int64_t bytes_of_run = count * size;
  std::int64_t resident = static_cast<std::int64_t>(device.processors) * bounds::blocks;
  int threads = bounds::threads;
  if (!column_accumulator<A> && runs_count == 1 && bytes_of_run <= near_bytes) {
    resident /= 2;  // what is near is soon read, and every block adds to what the last one has to fold
  } else if (bounds::small && (runs_count > few_runs || (runs_count == 1 && bytes_of_run <= in_l2_bytes))) {
    threads = 256;
    if (runs_count > 1) resident *= bounds::threads / threads;
  }
  const std::int64_t slices = slices_of_runs(runs_count, bytes_of_run, resident, size == 8 ? 8192 : 16384);
  runs<A, Source> problem = {a, in, out, count, map, static_cast<int>(slices), nullptr, nullptr};
  if (slices > 1 || column_accumulator<A>) {
    const std::int64_t bytes = runs_count * slices * static_cast<std::int64_t>(sizeof(typename shape<A>::partial));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename shape<A>::partial*>(work->partials());
    problem.tickets = work->tickets();
  }
  if constexpr (shape<A>::shared_bytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(reduce_runs<A, Source>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   shape<A>::shared_bytes);
    if (error != cudaSuccess) return error;
  }
  if constexpr (!column_accumulator<A>) {
    // As many as have the block's share under way at once; a warp needs no barrier, and half of the threads have a step
    // less to fold, which for doubles takes longest.
    const std::int64_t share = bytes_of_run / slices;
    const auto enough = [&](int fewer) { return share <= fewer * 16 * shape<A>::loads; };
    if (enough(32)) {
      threads = 32;
    } else if (size == 8 && enough(128)) {
      threads = enough(64) ? 64 : 128;
    } else if (threads > 256 && size < 8 && enough(256)) {
      threads = 256;
    }
  }
  return launch_early(reduce_runs<A, Source>, problem, slices > 1 ? slices : runs_count, threads,
                      shape<A>::shared_bytes, stream, device, slices > 1 ? static_cast<int>(runs_count) : 1);
}

}  // namespace coalesce::detail
