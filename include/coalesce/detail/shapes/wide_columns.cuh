// Wide matrices: columns enough that neighbouring threads have neighbouring columns, wherever rows begin.
//
// A thread owns `Each` vectors of columns, a block's width apart, so that a warp's loads lie side by side; `Rows` rows
// of them are in flight at once. Width is the width of vectors that begin aligned in every row, or 1. An H200 is
// fastest with many small loads of many threads: of 4 and 8 bytes.
//
// Where there are too few columns for all threads, a block is `across` threads side by side and `down` below each
// other, and `splits` blocks share a tile's rows; the last one folds.
#pragma once

#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/source.cuh>

namespace coalesce::detail {

template <class A, class Source>
struct wide_columns {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t planes, plane_stride, rows_count, stride, columns_count;
  std::int64_t across_plane = 0;  // vectors of a row
  std::int64_t tiles = 1;         // of a plane
  std::int64_t rows_of_split = 0;
  int splits = 1;
  typename A::state* partials = nullptr;  // [tile][split][element of the tile]
  unsigned int* tickets = nullptr;        // [tile]
};

inline constexpr int wide_threads = 256;
inline constexpr int wide_rows_of_split = 64;  // at least

// Neighbouring results, by vectors where they lie so.
template <int N, class R>
__device__ __forceinline__ void store_results(R* to, const R (&from)[N]) {
  constexpr int together = sizeof(R) < 16 && 16 % sizeof(R) == 0 ? 16 / static_cast<int>(sizeof(R)) : 1;
  if constexpr (N > 1 && N % together == 0 && together > 1) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
#pragma unroll
      for (int i = 0; i < N; i += together) {
        uint4 bits;
        memcpy(&bits, &from[i], 16);
        *reinterpret_cast<uint4*>(to + i) = bits;
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = from[i];
}

// A kernel for each number of rows up to this one, then for each two.
inline constexpr int exactly_few_rows = 8, most_few_rows = tuning::most_few_rows;

// Few rows, Rows of them; of more than 8 also one less: nothing is kept but what is under way.
template <int Width, int Each, int Rows, int Blocks, class A, class Source>
__global__ void __launch_bounds__(wide_threads, Blocks) reduce_few_rows(const wide_columns<A, Source> problem) {
  using element = typename A::element;
  const A& a = problem.accumulator;
  const std::int64_t total = problem.planes * problem.across_plane;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (wide_threads * Each) + threadIdx.x;
  const bool all = Rows <= exactly_few_rows || problem.rows_count == Rows;
  typename Source::template vector_of<Width> loaded[Each][Rows];
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    const std::int64_t i = first + j * wide_threads;
    if (i < total) {
      const std::int64_t plane = problem.planes == 1 ? 0 : divide(i, problem.across_plane);
      const Source in = problem.in.from(plane * problem.plane_stride + (i - plane * problem.across_plane) * Width);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (r < Rows - 1 || all) loaded[j][r] = in.template fetch<Width>(r * problem.stride);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    const std::int64_t i = first + j * wide_threads;
    if (i < total) {
      const auto reduce = [&](auto count) {
        constexpr int n = decltype(count)::value;
        element rows[n][Width];
#pragma unroll
        for (int r = 0; r < n; ++r) problem.in.template unpack<Width>(loaded[j][r], rows[r]);
        typename A::result results[Width];
#pragma unroll
        for (int e = 0; e < Width; ++e) {
          typename A::state state = a.identity();
          element tile[n];
#pragma unroll
          for (int r = 0; r < n; ++r) tile[r] = rows[r][e];
          a.add(state, tile, positions<1>{0, 1});
          results[e] = a.finish(state, problem.rows_count);
        }
        store_results<Width>(problem.out + i * Width, results);
      };
      if (all) reduce(std::integral_constant<int, Rows>());
      if constexpr (Rows > exactly_few_rows) {
        if (!all) reduce(std::integral_constant<int, Rows - 1>());
      }
    }
  }
}

// The states of the `down` threads of each column merged into those of the first. Whole block.
template <int N, class A>
__device__ __forceinline__ void fold_down(const A& a, typename A::state (&state)[N],
                                          planes<typename A::state, N * wide_threads>& states, int across) {
  const int t = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int e = 0; e < N; ++e) states.put(e * wide_threads + t, state[e]);
  for (int half = wide_threads / 2; half >= across; half /= 2) {
    __syncthreads();
    if (t < half) {
#pragma unroll
      for (int e = 0; e < N; ++e) {
        a.merge(state[e], states.get(e * wide_threads + t + half));
        states.put(e * wide_threads + t, state[e]);
      }
    }
  }
  __syncthreads();
}

// Log2Across: 2^that threads side by side, at least a warp.
template <int Width, int Each, int Rows, int Blocks, int Log2Across, class A, class Source>
__global__ void __launch_bounds__(wide_threads, Blocks) reduce_wide_columns(const wide_columns<A, Source> problem) {
  using element = typename A::element;
  using state_type = typename A::state;
  constexpr int states_count = Each * Width, across = 1 << Log2Across, down = wide_threads / across;
  __shared__ planes<state_type, down == 1 ? 1 : states_count * wide_threads> states;
  const A& a = problem.accumulator;
  const int x = static_cast<int>(threadIdx.x) % across, y = static_cast<int>(threadIdx.x) / across;
  const int splits = problem.splits;
  // Neighbouring blocks have neighbouring tiles of the same rows, as they share lines; tiles that begin at lines and
  // share none are faster the other way round.
  constexpr bool lines = Log2Across == 5;
  std::int64_t tile = blockIdx.x;
  int split = 0;
  if (splits > 1) {  // a grid has fewer than 2^31 blocks
    const unsigned tiles = static_cast<unsigned>(problem.tiles), of_tile = static_cast<unsigned>(splits);
    const unsigned above = blockIdx.x / (lines ? of_tile : tiles),
                   rest = blockIdx.x - above * (lines ? of_tile : tiles);
    const unsigned above_plane = above / of_tile;
    split = static_cast<int>(lines ? rest : above - above_plane * of_tile);
    tile = lines ? above : rest + above_plane * tiles;
  }
  const std::int64_t plane = problem.planes == 1 ? 0 : divide(tile, problem.tiles);
  // In vectors: where the tile begins, and how many it has.
  const std::int64_t first = (tile - plane * problem.tiles) * (across * Each), left = problem.across_plane - first;
  const int vectors = left < across * Each ? static_cast<int>(left) : across * Each;
  const std::int64_t begin = split * problem.rows_of_split, rows_left = problem.rows_count - begin;
  const std::int64_t end = begin + (rows_left < problem.rows_of_split ? rows_left : problem.rows_of_split);
  const std::int64_t stride = problem.stride;
  const Source in = problem.in.from(plane * problem.plane_stride + first * Width);
  state_type state[states_count];
#pragma unroll
  for (int e = 0; e < states_count; ++e) state[e] = a.identity();
  std::int64_t row = begin + static_cast<std::int64_t>(y) * Rows, at = row * stride + x * Width;
  const auto there = [&](int j) { return x + j * across < vectors; };
  using vector = typename Source::template vector_of<Width>;
  // How many rows are loaded, or added up, is `count`; the first of them goes to, or comes from, place `place`.
  const auto load_by = [&](vector(&loaded)[Rows][Each], auto count, int place, auto in_lines) {
#pragma unroll
    for (int r = 0; r < decltype(count)::value; ++r, at += stride) {
      forget(at);
#pragma unroll
      for (int j = 0; j < Each; ++j) {
        if (!there(j)) continue;
        const std::int64_t place_of = at + j * across * Width;
        loaded[place + r][j] = decltype(in_lines)::value ? in.template fetch_in_lines<Width>(place_of)
                                                         : in.template fetch<Width>(place_of);
      }
    }
  };
  // Where rows have gaps between them lines would bring what nobody reads.
  const bool dense = stride == problem.columns_count;
  const auto load = [&](vector(&loaded)[Rows][Each], auto count, int place) {
    if (dense) {
      load_by(loaded, count, place, std::true_type());
    } else {
      load_by(loaded, count, place, std::false_type());
    }
  };
  const auto add = [&](const vector(&loaded)[Rows][Each], auto count, int place) {
    constexpr int n = decltype(count)::value;
#pragma unroll
    for (int j = 0; j < Each; ++j) {
      if (there(j)) {
        element rows[n][Width];
#pragma unroll
        for (int r = 0; r < n; ++r) in.template unpack<Width>(loaded[place + r][j], rows[r]);
#pragma unroll
        for (int e = 0; e < Width; ++e) {
          element tile[n];
#pragma unroll
          for (int r = 0; r < n; ++r) tile[r] = rows[r][e];
          a.add(state[j * Width + e], tile, positions<1>{row, 1});
        }
      }
    }
  };
  const std::int64_t skipped = (down - 1) * Rows * stride;
#pragma unroll 1
  for (; row + Rows - 1 < end; row += down * Rows, at += skipped) {
    vector loaded[Rows][Each];
    load(loaded, std::integral_constant<int, Rows>(), 0);
    add(loaded, std::integral_constant<int, Rows>(), 0);
  }
  // One of the threads below each other has fewer than Rows rows left, all of them under way at once: added up by
  // halves, or one by one where a tile's rows are not added up by themselves first.
  const int rest = row < end ? static_cast<int>(end - row) : 0;
  if (rest > 0) {
    vector loaded[Rows][Each];
    constexpr bool one_by_one = shape<A>::state_words > 2;
    const auto parts = [&](const auto& part) {
      if constexpr (one_by_one) {
#pragma unroll
        for (int r = 0; r < Rows - 1; ++r) {
          if (r < rest) part(std::integral_constant<int, 1>(), r);
        }
      } else {
        if constexpr (Rows > 8) part(std::integral_constant<int, 8>(), Rows - 16);
        if constexpr (Rows > 4) part(std::integral_constant<int, 4>(), Rows - 8);
        if constexpr (Rows > 2) part(std::integral_constant<int, 2>(), Rows - 4);
        part(std::integral_constant<int, 1>(), Rows - 2);
      }
    };
    parts([&](auto count, int place) {
      if (one_by_one || (rest & decltype(count)::value)) load(loaded, count, place);
    });
    parts([&](auto count, int place) {
      if (one_by_one || (rest & decltype(count)::value)) {
        add(loaded, count, place);
        row += decltype(count)::value;
      }
    });
  }
  if constexpr (down > 1) fold_down<states_count>(a, state, states, across);
  if (splits > 1) {
    const int pitch = across * states_count;
    state_type* const partials = problem.partials + (tile * splits) * pitch;
    if (y == 0) {
#pragma unroll
      for (int e = 0; e < states_count; ++e)
        partials[static_cast<std::int64_t>(split) * pitch + e * across + x] = state[e];
    }
    if (!last_block(problem.tickets + tile, splits)) return;
#pragma unroll
    for (int e = 0; e < states_count; ++e) state[e] = a.identity();
    constexpr int together = states_count * shape<A>::state_words <= 4 ? 8 : 2;
    for (int s = y; s < splits; s += together * down) {
      state_type other[together][states_count];
#pragma unroll
      for (int k = 0; k < together; ++k) {
#pragma unroll
        for (int e = 0; e < states_count; ++e) {
          if (s + k * down < splits)
            other[k][e] = partials[static_cast<std::int64_t>(s + k * down) * pitch + e * across + x];
        }
      }
#pragma unroll
      for (int k = 0; k < together; ++k) {
#pragma unroll
        for (int e = 0; e < states_count; ++e) {
          if (s + k * down < splits) a.merge(state[e], other[k][e]);
        }
      }
    }
    if constexpr (down > 1) fold_down<states_count>(a, state, states, across);
  }
  if (y == 0) {
#pragma unroll
    for (int j = 0; j < Each; ++j) {
      if (x + j * across >= vectors) continue;
      typename A::result results[Width];
#pragma unroll
      for (int e = 0; e < Width; ++e) results[e] = a.finish(state[j * Width + e], problem.rows_count);
      store_results<Width>(problem.out + plane * problem.columns_count + (first + x + j * across) * Width, results);
    }
  }
}

// Vectors of a thread of the kernel for so many rows: 8 to 16 under way.
constexpr int few_vectors(int rows) { return rows <= 4 ? 4 : rows <= 8 ? 2 : 1; }

template <int Width, int Rows, class A, class Source>
status launch_few_rows(const wide_columns<A, Source>& problem, cudaStream_t stream) {
  if constexpr (Rows > most_few_rows) {
    return {};
  } else {
    constexpr int next = Rows + (Rows < exactly_few_rows ? 1 : 2);
    if (problem.rows_count > Rows) return launch_few_rows<Width, next>(problem, stream);
    constexpr int each = few_vectors(Rows);
    const std::int64_t blocks = ceil_div(problem.planes * problem.across_plane, wide_threads * each);
    return launch(reduce_few_rows<Width, each, Rows, 5, A, Source>, problem, blocks, wide_threads, 0, stream);
  }
}

// Blocks: of a multiprocessor.
template <int Width, int Each, int Rows, int Blocks, int Log2Across = 8, class A, class Source>
status launch_wide_tiles(wide_columns<A, Source> problem, cudaStream_t stream, workspace* work) {
  constexpr int of_block = (1 << Log2Across) * Each, down = wide_threads >> Log2Across;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  problem.tiles = ceil_div(problem.across_plane, of_block);
  const std::int64_t tiles = problem.planes * problem.tiles;
  // A split's partial results are to be a small part of what it reads.
  const std::int64_t least = wide_rows_of_split * down;
  double share = 0;
  const std::int64_t splits = splits_of_tiles(tiles, tiles <= max_tickets ? problem.rows_count / least : 1,
                                              static_cast<std::int64_t>(device.processors) * Blocks, share);
  problem.rows_of_split = ceil_div(ceil_div(problem.rows_count, splits), Rows) * Rows;
  problem.splits = static_cast<int>(ceil_div(problem.rows_count, problem.rows_of_split));
  if (problem.splits > 1) {
    const std::int64_t bytes =
        tiles * problem.splits * of_block * Width * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  return launch(reduce_wide_columns<Width, Each, Rows, Blocks, Log2Across, A, Source>, problem, tiles * problem.splits,
                wide_threads, 0, stream);
}

template <class A, class Source>
status launch_wide_columns(const A& a, const Source& in, typename A::result* out, const plan& p, cudaStream_t stream,
                           workspace* work) {
  constexpr int vector = vector_of_states<A, Source>;  // elements of up to 16 bytes, and of up to 4
  constexpr int word = Source::bytes >= 4 || vector * Source::bytes < 4 ? 1 : 4 / Source::bytes;
  constexpr bool large = shape<A>::state_words > 2, of_words = Source::bytes == 4 && vector > 1;
  wide_columns<A, Source> problem = {a, in, out, p.planes, p.plane, p.rows, p.stride, p.columns};
  problem.across_plane = p.columns;
  const auto by = [&](int width) { problem.across_plane = p.columns / width; };
  if (p.kernel == shape_kernel::few_rows) {
    by(p.width);
    return p.width == word ? launch_few_rows<word, 1>(problem, stream) : launch_few_rows<1, 1>(problem, stream);
  }
  switch (p.wide) {
    case wide_form::lines:
      if constexpr (of_words) return by(2), launch_wide_tiles<2, 1, 8, 4, 5>(problem, stream, work);
      break;
    case wide_form::vectors:
      if constexpr (of_words) {
        constexpr int width = large ? 2 : 4;
        return by(width), launch_wide_tiles<width, 1, large ? 8 : 4, 4, 6>(problem, stream, work);
      }
      break;
    case wide_form::pairs:
      if constexpr (of_words)
        return by(2), launch_wide_tiles<2, large ? 1 : 2, large ? 8 : 4, 4>(problem, stream, work);
      break;
    case wide_form::packed:
      if constexpr (!of_words && vector > 1)
        return by(vector), launch_wide_tiles<vector, 1, 8, 3>(problem, stream, work);
      break;
    case wide_form::several:
      return launch_wide_tiles<1, large ? 2 : 4, large ? 8 : 4, 4>(problem, stream, work);
    case wide_form::single:
      break;
  }
  return launch_wide_tiles<1, 1, 16, 4>(problem, stream, work);
}

}  // namespace coalesce::detail
