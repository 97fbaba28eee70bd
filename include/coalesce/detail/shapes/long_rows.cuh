// Long runs: each result is the reduction of `count` neighbouring elements, by one block or by several. A whole array
// is the case of one run; where its state is small it has a kernel of its own (flat.cuh).
//
// The blocks of a run take its vectors in turn (detail/block/read_run.cuh), so all have equally much to do. When a run
// has several, each leaves a partial result, and the last to end folds them in the order of the blocks: the same bits
// in every run.
#pragma once

#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/block/read_run.cuh>

namespace coalesce::detail {

template <class A, class Source>
struct long_rows {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t count;
  row_map map;                  // run -> offset of its first element
  int splits;                   // blocks for each run
  typename A::state* partials;  // one for each block; a single block needs none
  unsigned int* tickets;        // one for each run, where splits > 1
};

// Threads of a block, at most, and blocks of a multiprocessor.
template <class A>
struct long_rows_bounds {
  static constexpr bool small = sizeof(typename A::state) <= 16;
  static constexpr int threads = small ? 512 : shape<A>::threads;
  static constexpr int blocks = small ? 2 : shape<A>::blocks_per_processor;  // of so many threads
};

// Vectors that are asked for before the launch ahead has ended (detail/block/read_run.cuh): the first turn's. Of two
// blocks a multiprocessor, which have less under way, three turns'.
template <class A>
inline constexpr int prefetched_first = (shape<A>::blocks_per_processor < 3 ? 3 : 1) * shape<A>::loads;

template <class A, class Source>
__global__ void __launch_bounds__(long_rows_bounds<A>::threads, long_rows_bounds<A>::blocks)
    reduce_long_rows(const long_rows<A, Source> problem) {
  constexpr int most_threads = long_rows_bounds<A>::threads;
  let_next_start();
  const A& a = problem.accumulator;
  const int splits = problem.splits, split = splits > 1 ? blockIdx.x : 0, threads = blockDim.x;
  const std::int64_t run = splits > 1 ? blockIdx.y : blockIdx.x;
  const Source in = problem.in.from(problem.map(run));
  const std::int64_t thread = static_cast<std::int64_t>(split) * threads + threadIdx.x;
  const std::int64_t all = static_cast<std::int64_t>(splits) * threads;
  typename A::state* const partials = problem.partials + run * splits;
  const auto wait = [&](std::int64_t& head, std::int64_t& vectors, std::int64_t& first) {
    prefetch_first<prefetched_first<A>>(in, head, vectors, first, all);
    wait_for_earlier(head, vectors, first);
  };

  typename A::state state = a.identity();
  read_run<shape<A>::loads, 128>(in, problem.count, thread, all, wait, [&](const auto& tile, auto at) {
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
  // The first warp folds the rest of small states: to wait for other warps takes longer than their share of the work.
  constexpr int folding = long_rows_bounds<A>::small ? 32 : most_threads;
  if (threadIdx.x >= folding) return;
  if (splits > 1) {
    if (threadIdx.x == 0) partials[split] = state;
    if (!last_block<folding>(problem.tickets + run, splits)) return;
    constexpr int loads = long_rows_bounds<A>::small ? 9 : 2;
    const int folders = folding < threads ? folding : threads;
    state = fold_block<folding>(a, merge_partials<loads>(a, partials, threadIdx.x, splits, folders, 1), folders);
  }
  if (threadIdx.x == 0) problem.out[run] = a.finish(state, problem.count);
}

// Several: more of them have smaller blocks, of which one comes after the other.
inline constexpr std::int64_t few_runs = 16;

// How many blocks share a run. One run: one block up to 64 KB, which are its 8 vectors a thread; then all that the
// device holds at once, with `least` bytes for each. Several: as many as fill the device's rounds best, as long as each
// has enough to do; ever fewer as there are more runs.
inline std::int64_t splits_of_long_rows(std::int64_t runs_count, std::int64_t bytes, std::int64_t resident,
                                        std::int64_t least = 16384) {
  if (runs_count == 1) {
    const std::int64_t blocks = bytes <= 65536 ? 1 : bytes / least;
    return blocks < resident ? blocks : resident;
  }
  const std::int64_t most = runs_count < max_tickets ? bytes / 65536 : 1;
  std::int64_t best = 1;
  double best_share = 0;
  for (std::int64_t rounds = ceil_div(runs_count, resident); rounds <= 8; ++rounds) {
    // The most that fit, as in splits_of_tiles.
    const std::int64_t fit = rounds * resident / runs_count, splits = fit < most ? fit : most;
    const std::int64_t blocks = runs_count * splits, needed = ceil_div(blocks, resident);
    const double share = static_cast<double>(blocks) / static_cast<double>(needed * resident);
    if (share > best_share + 0.01) {
      best = splits;
      best_share = share;
    }
  }
  return best;
}

// `runs` results of `count` elements each, `map` saying where they begin.
template <class A, class Source>
status launch_long_rows(const A& a, const Source& in, typename A::result* out, std::int64_t count,
                        std::int64_t runs_count, const row_map& map, cudaStream_t stream, workspace* work) {
  using bounds = long_rows_bounds<A>;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  constexpr std::int64_t size = sizeof(typename A::element);
  const std::int64_t bytes_of_run = count * size;
  std::int64_t resident = static_cast<std::int64_t>(device.processors) * bounds::blocks;
  int threads = bounds::threads;
  if (runs_count == 1 && bytes_of_run <= tuning::near_bytes) {
    resident /= 2;  // L2 is read quickly, and each further block is one more state to fold
  } else if (bounds::small && (runs_count > few_runs || (runs_count == 1 && bytes_of_run <= tuning::in_l2_bytes))) {
    threads = 256;
    if (runs_count > 1) resident *= bounds::threads / threads;
  }
  const std::int64_t splits = splits_of_long_rows(runs_count, bytes_of_run, resident, size == 8 ? 8192 : 16384);
  long_rows<A, Source> problem = {a, in, out, count, map, static_cast<int>(splits), nullptr, nullptr};
  if (splits > 1) {
    const std::int64_t bytes = runs_count * splits * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  // The number of threads that have the block's share in flight at once; a warp needs no barrier, and half of the
  // threads have a step less to fold, which for doubles takes longest.
  const std::int64_t share = bytes_of_run / splits;
  const auto enough = [&](int fewer) { return share <= fewer * 16 * shape<A>::loads; };
  if (enough(32)) {
    threads = 32;
  } else if (size == 8 && enough(128)) {
    threads = enough(64) ? 64 : 128;
  } else if (threads > 256 && size < 8 && enough(256)) {
    threads = 256;
  }
  return launch_early(reduce_long_rows<A, Source>, problem, splits > 1 ? splits : runs_count, threads, 0, stream,
                      device, splits > 1 ? static_cast<int>(runs_count) : 1);
}

}  // namespace coalesce::detail
