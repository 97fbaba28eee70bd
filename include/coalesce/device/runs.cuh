// Long runs: each result is the reduction of `count` neighbouring elements, by one block or by several. The whole array
// is the case of one run.
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

template <class A>
struct runs_bounds {
  static constexpr int threads = shape<A>::threads;
  static constexpr int blocks = !column_accumulator<A> && sizeof(typename shape<A>::partial) <= (A::indexed ? 8 : 24)
                                    ? 4
                                    : shape<A>::blocks_per_processor;
};

template <class A, class Source>
__global__ void __launch_bounds__(runs_bounds<A>::threads, runs_bounds<A>::blocks)
    reduce_runs(const runs<A, Source> problem) {
  constexpr int threads = runs_bounds<A>::threads;
  wait_for_stream();
  const A& a = problem.accumulator;
  const int slices = problem.slices;
  const int run = blockIdx.x / slices, slice = blockIdx.x % slices;
  const Source in = problem.in.from(problem.map(run));
  const std::int64_t thread = static_cast<std::int64_t>(slice) * threads + threadIdx.x;

  if constexpr (column_accumulator<A>) {
    extern __shared__ __align__(16) char shared[];
    typename A::state state = a.begin(shared);
    visit_run<shape<A>::loads, 128>(in, problem.count, thread, static_cast<std::int64_t>(slices) * threads,
                                    [&](const auto& tile, auto at) { a.add(state, tile, at); });
    a.fold(state, shared, groups{1, threads, threads}, problem.partials + blockIdx.x);
    if (slices > 1 ? !last_block(problem.tickets + run, slices) : (__syncthreads(), false)) return;
    a.finish(problem.partials + static_cast<std::int64_t>(run) * slices, slices, 1, problem.count, shared,
             problem.out + run);
  } else {
    typename A::state state = a.identity();
    const std::int64_t all = slices == 1 ? blockDim.x : static_cast<std::int64_t>(slices) * threads;
    visit_run<shape<A>::loads, 128>(in, problem.count, thread, all, [&](const auto& tile, auto at) {
      if constexpr (shares<A>) {
        const typename A::state before = state;
        a.add(state, tile, at);
        constexpr int whole = vectors_of_tile<shape<A>::loads, Source> * Source::width;
        if constexpr (sizeof(tile) / sizeof(tile[0]) == whole) a.share(before, state);  // smaller ones are the last
      } else {
        a.add(state, tile, at);
      }
    });
    state = fold_block<threads>(a, state, blockDim.x);
    if (slices > 1) {
      if (threadIdx.x == 0) problem.partials[blockIdx.x] = state;
      if (!last_block(problem.tickets + run, slices)) return;
      const typename A::state* partials = problem.partials + static_cast<std::int64_t>(run) * slices;
      state = merge_partials(a, partials, threadIdx.x, slices, threads, 1);
      state = fold_block<threads>(a, state);
    }
    if (threadIdx.x == 0) problem.out[run] = a.finish(state, problem.count);
  }
}

// How many blocks share a run. One run: one block up to 64 KB, which are its 8 vectors a thread; then all that the
// device holds at once, 16 KB for each at least. Several: as many as fill the device's rounds best, as long as each has
// enough to do; ever fewer as there are more runs.
inline std::int64_t slices_of_runs(std::int64_t runs_count, std::int64_t bytes, std::int64_t resident) {
  if (runs_count == 1) {
    const std::int64_t blocks = bytes <= 65536 ? 1 : bytes / 16384;
    return blocks < resident ? blocks : resident;
  }
  const std::int64_t most = runs_count < max_tickets ? bytes / 65536 : 1;
  std::int64_t best = 1;
  double best_share = 0;
  for (std::int64_t slices = 1; slices <= most && runs_count * slices <= 8 * resident; ++slices) {
    const std::int64_t blocks = runs_count * slices, rounds = ceil_div(blocks, resident);
    const double share = static_cast<double>(blocks) / static_cast<double>(rounds * resident);
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
  const std::int64_t bytes_of_run = count * static_cast<std::int64_t>(sizeof(typename A::element));
  // What fits in L2 is soon read, and every block adds to what the last one has to fold.
  const bool near_by = !column_accumulator<A> && runs_count == 1 && bytes_of_run <= 32 << 20;
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * bounds::blocks / (near_by ? 2 : 1);
  const std::int64_t slices = slices_of_runs(runs_count, bytes_of_run, resident);
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
  // A warp is enough for what it has under way at once, and needs no barrier.
  const bool tiny = !column_accumulator<A> && slices == 1 && bytes_of_run <= 32 * 16 * shape<A>::loads;
  return launch_early(reduce_runs<A, Source>, problem, runs_count * slices, tiny ? 32 : bounds::threads,
                      shape<A>::shared_bytes, stream, device);
}

}  // namespace coalesce::detail
