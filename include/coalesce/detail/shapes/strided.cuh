// Everything else: any axes kept and reduced, any strides. The place of every load is computed from its index.
//
// A block is `across` columns of threads by `down` threads for each; threads whose elements lie closest together are
// neighbours: those of one result where a reduced axis has the smallest stride, those of neighbouring results where a
// kept one has. Where that axis is contiguous and begins and ends at 16-byte boundaries wherever the others stand, a
// load is a vector along it: `Reduced` elements of one result, or one element of `Kept` results. Else both are 1.
#pragma once

#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/layout.cuh>
#include <coalesce/detail/source.cuh>

namespace coalesce::detail {

inline constexpr int strided_threads = 256;
// Threads of a multiprocessor.
template <class A>
inline constexpr int strided_blocks = A::indexed ? 3 : 4;

// Axes as divisions: the place of index i, in elements and in the order of `index`.
struct axis_map {
  int rank = 0;
  std::int64_t extents[max_rank] = {}, strides[max_rank] = {}, others[max_rank] = {}, indices[max_rank] = {};

  axis_map() = default;
  axis_map(const axis* list, int count) : rank(count) {
    for (int i = 0; i < count; ++i) {
      extents[i] = list[i].extent;
      strides[i] = list[i].stride;
      others[i] = list[i].other;
      indices[i] = list[i].index;
    }
  }
  struct place {
    std::int64_t at, other, index;
  };
  __device__ __forceinline__ place operator()(std::int64_t i) const {
    place result = {0, 0, 0};
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t next = axis == 0 ? 0 : divide(i, extents[axis]), here = i - next * extents[axis];
      result.at += here * strides[axis];
      result.other += here * others[axis];
      result.index += here * indices[axis];
      i = next;
    }
    return result;
  }

  // Between the indices of neighbours along the last axis.
  __device__ __forceinline__ std::int64_t step() const { return rank == 0 ? 0 : indices[rank - 1]; }
};

// Goes through indices i, i + step, i + 2 step ... of up to three axes, of which the last two are shorter than 2^30,
// without a division: a step is so far along each of them, and where one ends it is so far to the next one's beginning.
class walker {
 public:
  __device__ __forceinline__ walker(const axis_map& map, std::int64_t i, std::int64_t step)
      : here_(map(i)), by_(map(step)) {
    digit(map, map.rank - 1, i, step, last_);
    digit(map, map.rank - 2, i, step, middle_);
  }
  __device__ __forceinline__ const axis_map::place& here() const { return here_; }
  __device__ __forceinline__ void advance() {
    add(by_);
    last_.here += last_.by;
    middle_.here += middle_.by;
    if (last_.here >= last_.extent) {
      last_.here -= last_.extent;
      ++middle_.here;
      add(last_.over);
    }
    if (middle_.here >= middle_.extent) {
      middle_.here -= middle_.extent;
      add(middle_.over);
    }
    // Else the places of all loads under way would be in registers at once.
    forget(here_.at);
  }

 private:
  // Where an axis that has a slower one is, how far a step is along it, and the way over its end.
  struct wheel {
    int extent = 0x7fffffff, here = 0, by = 0;
    axis_map::place over = {0, 0, 0};
  };
  __device__ __forceinline__ static void digit(const axis_map& map, int axis, std::int64_t& i, std::int64_t& step,
                                               wheel& w) {
    if (axis < 1) return;
    const std::int64_t extent = map.extents[axis], i_over = divide(i, extent), step_over = divide(step, extent);
    w.extent = static_cast<int>(extent);
    w.here = static_cast<int>(i - i_over * extent);
    w.by = static_cast<int>(step - step_over * extent);
    w.over = {map.strides[axis - 1] - extent * map.strides[axis], map.others[axis - 1] - extent * map.others[axis],
              map.indices[axis - 1] - extent * map.indices[axis]};
    i = i_over;
    step = step_over;
  }
  __device__ __forceinline__ void add(const axis_map::place& way) {
    here_.at += way.at;
    here_.other += way.other;
    here_.index += way.index;
  }
  axis_map::place here_, by_;
  wheel last_, middle_;
};

template <class A, class Source>
struct strided {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t kept_count, reduced_count, kept_index, reduced_index, tiles;
  std::int64_t outer_count;  // of reduced_count, what is left when `reduced` is walked
  axis_map kept, outer, reduced;
  int across, down, splits;
  bool along_reduced;           // neighbouring threads have elements of one result
  typename A::state* partials;  // [tile][split][result of the tile]
  unsigned int* tickets;
};

// In constant memory, where an array of a parameter can be indexed; clang copies it to where it can be.
#if defined(__NVCC__)
#define COALESCE_GRID_CONSTANT __grid_constant__
#else
#define COALESCE_GRID_CONSTANT
#endif

// The merged states of the `down` threads of each column, in the first of them: thread x * down, or x. Whole block.
template <int Kept, class A>
__device__ __forceinline__ void fold_strided(const A& a, typename A::state (&state)[Kept],
                                             planes<typename A::state, Kept * strided_threads>& states, int across,
                                             int down, bool along_reduced) {
  const int t = threadIdx.x;
  __syncthreads();
  if (Kept == 1 && along_reduced) {
    // Neighbouring lanes: by shuffles, which is all where 32 of them do it.
    state[0] = merge_lanes(a, state[0], down < 32 ? down : 32);
    if (down <= 32) return;
    if (t % 32 == 0) states.put(t / 32, state[0]);
    __syncthreads();
    if (t % down == 0) {
      for (int warp = 1; warp < down / 32; ++warp) a.merge(state[0], states.get(t / 32 + warp));
    }
    return;
  }
#pragma unroll
  for (int e = 0; e < Kept; ++e) states.put(e * strided_threads + t, state[e]);
  for (int rows = down / 2; rows > 0; rows /= 2) {
    __syncthreads();
    if (t < rows * across) {
#pragma unroll
      for (int e = 0; e < Kept; ++e) {
        a.merge(state[e], states.get(e * strided_threads + t + rows * across));
        states.put(e * strided_threads + t, state[e]);
      }
    }
  }
}

// Lines: of a view without gaps L2 loads whole lines, as rows that begin between two are asked for in parts of lines.
template <int Kept, int Reduced, bool Lines, class A, class Source>
__global__ void __launch_bounds__(strided_threads, shape<A>::state_words* Kept <= 8 ? strided_blocks<A> : 2)
    reduce_strided(const COALESCE_GRID_CONSTANT strided<A, Source> problem) {
  using element = typename A::element;
  using state_type = typename A::state;
  __shared__ planes<state_type, Kept * strided_threads> states;
  const A& a = problem.accumulator;
  const bool along_reduced = Reduced > 1 || (Kept == 1 && problem.along_reduced);
  const int across = problem.across, down = problem.down;
  const int x = along_reduced ? threadIdx.x / down : threadIdx.x % across;
  const int y = along_reduced ? threadIdx.x % down : threadIdx.x / across;
  const int split = blockIdx.x % problem.splits, tile = blockIdx.x / problem.splits;
  const std::int64_t result = (static_cast<std::int64_t>(tile) * across + x) * Kept;
  const bool there = result < problem.kept_count;
  const axis_map::place kept = problem.kept(there ? result : 0);
  state_type state[Kept];
#pragma unroll
  for (int e = 0; e < Kept; ++e) state[e] = a.identity();
  if (there) {
    constexpr int width = Kept * Reduced;
    const std::int64_t inner_count = divide(problem.reduced_count, problem.outer_count);
    const std::int64_t step = static_cast<std::int64_t>(down) * problem.splits * Reduced;
    const std::int64_t first = (static_cast<std::int64_t>(split) * down + y) * Reduced;
    const std::int64_t mine = first < inner_count ? divide(inner_count - first + step - 1, step) : 0;
    const std::int64_t between = problem.reduced.step();
    for (std::int64_t o = 0; o < problem.outer_count; ++o) {
      const axis_map::place outer = problem.outer(o);
      const Source in = problem.in.from_both(kept.at + outer.at, kept.other + outer.other);
      const std::int64_t position_of_outer = problem.reduced_index + outer.index;
      walker next(problem.reduced, first, step);
      const auto add_some = [&](auto how_many) {
        constexpr int loads = decltype(how_many)::value;
        std::conditional_t<width == 1, single<element>, typename Source::template vector_of<width>> loaded[loads];
        std::int64_t position[loads];
#pragma unroll
        for (int k = 0; k < loads; ++k) {
          const axis_map::place reduced = next.here();
          if constexpr (width == 1) {
            loaded[k].bits = in.at_both(reduced.at, reduced.other);
          } else if constexpr (Lines) {
            loaded[k] = in.template fetch_in_lines<width>(reduced.at);
          } else {
            loaded[k] = in.template fetch<width>(reduced.at);
          }
          position[k] = position_of_outer + reduced.index;
          next.advance();
        }
        if constexpr (!A::indexed) {
          // All that is under way as one tile.
          element rows[loads][width];
#pragma unroll
          for (int k = 0; k < loads; ++k) {
            if constexpr (width == 1) {
              rows[k][0] = loaded[k].bits;
            } else {
              in.template unpack<width>(loaded[k], rows[k]);
            }
          }
#pragma unroll
          for (int e = 0; e < Kept; ++e) {
            element tile[loads * Reduced];
#pragma unroll
            for (int k = 0; k < loads; ++k) {
#pragma unroll
              for (int r = 0; r < Reduced; ++r) tile[k * Reduced + r] = rows[k][Kept == 1 ? r : e];
            }
            a.add(state[e], tile, positions<1>{0, 0});
          }
        } else {
#pragma unroll
          for (int k = 0; k < loads; ++k) {
            element all[width];
            if constexpr (width == 1) {
              all[0] = loaded[k].bits;
            } else {
              in.template unpack<width>(loaded[k], all);
            }
            if constexpr (Kept == 1) {
              a.add(state[0], all, positions<1>{position[k], between});
            } else {
#pragma unroll
              for (int e = 0; e < Kept; ++e) {
                const element one[1] = {all[e]};
                a.add(state[e], one, positions<1>{position[k], 0});
              }
            }
          }
        }
      };
      // More vectors of 16 bytes would leave fewer warps.
      constexpr int loads = width * Source::bytes > 8 && !(Kept > 1 && A::indexed) ? 4 : 8;
      std::int64_t left = mine;
#pragma unroll 1
      for (; left >= loads; left -= loads) add_some(std::integral_constant<int, loads>());
#pragma unroll 1
      for (; left > 0; --left) add_some(std::integral_constant<int, 1>());
    }
  }
  fold_strided<Kept>(a, state, states, across, down, along_reduced);
  if (problem.splits > 1) {
    const std::int64_t pitch = static_cast<std::int64_t>(across) * Kept;
    state_type* partials = problem.partials + static_cast<std::int64_t>(tile) * problem.splits * pitch;
    if (there && y == 0) {
#pragma unroll
      for (int e = 0; e < Kept; ++e) partials[split * pitch + e * across + x] = state[e];
    }
    if (!last_block(problem.tickets + tile, problem.splits)) return;
#pragma unroll
    for (int e = 0; e < Kept; ++e) {
      state[e] = merge_partials(a, partials + e * across + x, y, there ? problem.splits : 0, down, pitch);
    }
    fold_strided<Kept>(a, state, states, across, down, along_reduced);
  }
  if (there && y == 0) {
#pragma unroll
    for (int e = 0; e < Kept; ++e) {
      problem.out[problem.kept_index + kept.index + e * problem.kept.step()] =
          a.finish(state[e], problem.reduced_count);
    }
  }
}

template <int Kept, int Reduced, bool Lines, class A, class Source>
status launch_strided_as(strided<A, Source> problem, cudaStream_t stream, workspace* work) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * strided_blocks<A>;
  const std::int64_t columns = problem.kept_count / Kept, loads = problem.reduced_count / problem.outer_count / Reduced;
  // The fewest threads of a result with which the blocks' lanes fill the device. Where lanes have vectors of
  // neighbouring results, from a warp side by side on, each thread with several turns of loads: the wider a tile is,
  // the more partial results its blocks leave, and the fewer threads merge them.
  double best = 0;
  int first = 1;
  while (Kept > 1 && first < strided_threads / 32 && first * 32 <= loads) first *= 2;
  const auto next = [&](int down) { return down > first ? down * 2 : down > 1 ? down / 2 : first * 2; };
  for (int down = first; down <= strided_threads; down = next(down)) {
    const int across = strided_threads / down;
    const bool too_few = problem.along_reduced && down < 32 && down * 4 < loads;
    const bool too_many = down > 1 && (down * 2 > loads || (!problem.along_reduced && across < 8 && across < columns));
    if (too_few || too_many) continue;
    const std::int64_t tiles = ceil_div(columns, across);
    double share = 0;
    const std::int64_t splits = splits_of_tiles(tiles, tiles <= max_tickets ? loads / (8 * down) : 1, resident, share,
                                                tiles < resident       ? 2
                                                : tiles < 4 * resident ? 16
                                                                       : 1);
    const std::int64_t rounds = ceil_div(tiles * splits, resident);
    share = static_cast<double>(columns * splits) / static_cast<double>(rounds * resident * across);
    if (Kept > 1) share *= 1 - 0.02 * static_cast<double>(rounds < 8 ? rounds : 8);
    if (share > best * 1.05) {
      best = share;
      problem.down = down;
      problem.across = across;
      problem.tiles = tiles;
      problem.splits = static_cast<int>(splits);
    }
  }
  if (problem.splits > 1) {
    const std::int64_t bytes =
        problem.tiles * problem.splits * problem.across * Kept * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  return launch(reduce_strided<Kept, Reduced, Lines, A, Source>, problem, problem.tiles * problem.splits,
                strided_threads, 0, stream);
}

// in: at its view's data; the layout's offsets are added here.
template <class A, class Source>
status launch_strided(const A& a, const Source& in, typename A::result* out, const reduction_layout& l,
                      vector_axis along, cudaStream_t stream, workspace* work) {
  int walked = l.reduced_rank > 0 ? 1 : 0;
  while (walked < 3 && walked < l.reduced_rank && l.reduced[l.reduced_rank - walked].extent < std::int64_t{1} << 30) {
    ++walked;
  }
  strided<A, Source> problem = {a,
                                in,
                                out,
                                l.kept_count,
                                l.reduced_count,
                                l.kept_index,
                                l.reduced_index,
                                1,
                                1,
                                {l.kept, l.kept_rank},
                                {l.reduced, l.reduced_rank - walked},
                                {l.reduced + l.reduced_rank - walked, walked},
                                1,
                                1,
                                1,
                                false,
                                nullptr,
                                nullptr};
  for (int i = 0; i < l.reduced_rank - walked; ++i) problem.outer_count *= l.reduced[i].extent;
  problem.along_reduced = goes_along_reduced(l);
  if constexpr (Source::inputs == 1) {
    constexpr int reduced = Source::width, kept = vector_of_states<A, Source>;
    if constexpr (reduced > 1) {
      if (along == vector_axis::reduced) {
        return is_without_gaps(l) ? launch_strided_as<1, reduced, true>(problem, stream, work)
                                  : launch_strided_as<1, reduced, false>(problem, stream, work);
      }
    }
    if constexpr (kept > 1) {
      if (along == vector_axis::kept) return launch_strided_as<kept, 1, false>(problem, stream, work);
    }
  }
  return launch_strided_as<1, 1, false>(problem, stream, work);
}

}  // namespace coalesce::detail
