// Wide matrices: columns enough that neighbouring threads have neighbouring columns, wherever rows begin.
//
// A thread owns `Each` vectors of columns, a block's width apart, so that a warp's loads lie side by side; `Rows` rows
// of them are under way at once. Width is that of vectors that begin aligned in every row, or 1. An H200 likes many
// small loads of many threads: of 4 and 8 bytes.
//
// Where rows begin anywhere between two lines, a warp's 128 bytes of a row are parts of two of them, which L2 is asked
// for twice. Where rows begin repeats every `phases` rows. So a block takes the rows of one phase after the other; in
// each a thread has the column with which its warp's loads begin at a line, and between two phases the states of
// columns change hands in shared memory. A tile is a line narrower than its block then. Matrices with too few rows for
// phases of lines go by phases of sectors, those with fewer still as they lie.
//
// Where there are too few columns for all threads, a block is `across` threads side by side and `down` below each
// other, and `slices` blocks share a tile's rows; the last one folds.
#pragma once

#include "../source.cuh"
#include "launch.cuh"

namespace coalesce::detail {

template <class A, class Source>
struct wide_columns {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t planes, plane_stride, rows_count, stride, columns_count;
  std::int64_t across_plane = 0;  // vectors of a row
  std::int64_t tiles = 1;         // of a plane
  int tile_vectors = 0;           // fewer than a block's where rows are shifted: by Align bytes
  int phases = 1;                 // rows after which they begin alike between two multiples of Align
  std::int64_t rows_of_slice = 0;
  int slices = 1;
  typename A::state* partials = nullptr;  // [tile][slice][element of the tile]
  unsigned int* tickets = nullptr;        // [tile]
};

inline constexpr int wide_threads = 256;
inline constexpr int wide_rows_of_slice = 64;  // at least

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
inline constexpr int exactly_few_rows = 8, most_few_rows = 16;

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

// Elements in Align bytes, from the beginning of which a warp's loads go; 1: they begin where the tile does.
template <int Align, class Source>
inline constexpr int elements_of_shift = Align > 0 && Align % Source::bytes == 0 ? Align / Source::bytes : 1;

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
template <int Width, int Each, int Rows, int Blocks, int Log2Across, int Align, class A, class Source>
__global__ void __launch_bounds__(wide_threads, Blocks) reduce_wide_columns(const wide_columns<A, Source> problem) {
  using element = typename A::element;
  using state_type = typename A::state;
  constexpr int states_count = Each * Width, across = 1 << Log2Across, down = wide_threads / across;
  constexpr int line = elements_of_shift<Align, Source>;
  constexpr bool shares = down > 1 || line > 1;
  __shared__ planes<state_type, shares ? states_count * wide_threads : 1> states;
  const A& a = problem.accumulator;
  const int x = static_cast<int>(threadIdx.x) % across, y = static_cast<int>(threadIdx.x) / across;
  const int slices = problem.slices, phases = line > 1 ? problem.phases : 1;
  const std::int64_t tile = blockIdx.x / slices, plane = problem.planes == 1 ? 0 : divide(tile, problem.tiles);
  const int slice = static_cast<int>(blockIdx.x - tile * slices);
  // In vectors: where the tile begins, and how many it has.
  const std::int64_t first = (tile - plane * problem.tiles) * problem.tile_vectors, left = problem.across_plane - first;
  const int vectors = left < problem.tile_vectors ? static_cast<int>(left) : problem.tile_vectors;
  const bool shifted = problem.tile_vectors < across * Each;
  const std::int64_t begin = slice * problem.rows_of_slice, rows_left = problem.rows_count - begin;
  const std::int64_t end = begin + (rows_left < problem.rows_of_slice ? rows_left : problem.rows_of_slice);
  const std::int64_t stride = problem.stride * phases;
  const Source in = problem.in.from(plane * problem.plane_stride + first * Width);
  state_type state[states_count];
#pragma unroll
  for (int e = 0; e < states_count; ++e) state[e] = a.identity();
  int mine = x;  // the thread's first vector of the tile
  const auto change_hands = [&](int next, bool nothing_yet) {
    if (!nothing_yet) {
      const int row_of_states = y * (Each * across);
#pragma unroll
      for (int j = 0; j < Each; ++j) {
        const int c = mine + j * across;
        if (c >= 0 && c < vectors) states.put(row_of_states + c, state[j]);
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < Each; ++j) {
        const int c = next + j * across;
        if (c >= 0 && c < vectors) state[j] = states.get(row_of_states + c);
      }
      __syncthreads();
    }
    mine = next;
  };
#pragma unroll 1
  for (int phase = 0; phase < phases; ++phase) {
    std::int64_t row = begin + phase + static_cast<std::int64_t>(y) * Rows * phases;
    if constexpr (line > 1) {
      if (shifted) {
        const int head = in.from((begin + phase) * problem.stride).template head<line>();
        change_hands(x - ((line - head) & (line - 1)), phase == 0);
      }
    }
    const auto there = [&](int j) { return mine + j * across < vectors && (line == 1 || j > 0 || mine >= 0); };
    std::int64_t at = row * problem.stride + mine * Width;
    using vector = typename Source::template vector_of<Width>;
    // How many rows are loaded, or added up, is `count`; the first of them goes to, or comes from, place `place`.
    const auto load = [&](vector(&loaded)[Rows][Each], auto count, int place) {
#pragma unroll
      for (int r = 0; r < decltype(count)::value; ++r, at += stride) {
        forget(at);
#pragma unroll
        for (int j = 0; j < Each; ++j) {
          if (there(j)) loaded[place + r][j] = in.template fetch<Width>(at + j * across * Width);
        }
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
            a.add(state[j * Width + e], tile, positions<1>{row, phases});
          }
        }
      }
    };
    const std::int64_t skipped = (down - 1) * Rows * stride;
#pragma unroll 1
    for (; row + (Rows - 1) * phases < end; row += down * Rows * phases, at += skipped) {
      vector loaded[Rows][Each];
      load(loaded, std::integral_constant<int, Rows>(), 0);
      add(loaded, std::integral_constant<int, Rows>(), 0);
    }
    // One of the threads below each other has fewer than Rows rows left, all of them under way at once: added up by
    // halves, or one by one where a tile's rows are not added up by themselves first.
    const int rest = row < end ? static_cast<int>((end - row + phases - 1) / phases) : 0;
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
          row += decltype(count)::value * phases;
        }
      });
    }
  }
  if constexpr (line > 1) {
    if (shifted) change_hands(x, false);
  }
  if constexpr (down > 1) fold_down<states_count>(a, state, states, across);
  if (slices > 1) {
    const int pitch = across * states_count;
    state_type* const partials = problem.partials + (tile * slices) * pitch;
    if (y == 0) {
#pragma unroll
      for (int e = 0; e < states_count; ++e)
        partials[static_cast<std::int64_t>(slice) * pitch + e * across + x] = state[e];
    }
    if (!last_block(problem.tickets + tile, slices)) return;
#pragma unroll
    for (int e = 0; e < states_count; ++e) state[e] = a.identity();
    constexpr int together = states_count * shape<A>::state_words <= 4 ? 8 : 2;
    for (int s = y; s < slices; s += together * down) {
      state_type other[together][states_count];
#pragma unroll
      for (int k = 0; k < together; ++k) {
#pragma unroll
        for (int e = 0; e < states_count; ++e) {
          if (s + k * down < slices)
            other[k][e] = partials[static_cast<std::int64_t>(s + k * down) * pitch + e * across + x];
        }
      }
#pragma unroll
      for (int k = 0; k < together; ++k) {
#pragma unroll
        for (int e = 0; e < states_count; ++e) {
          if (s + k * down < slices) a.merge(state[e], other[k][e]);
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
template <int Width, int Each, int Rows, int Blocks, int Log2Across, int Align, class A, class Source>
status launch_wide_tiles(wide_columns<A, Source> problem, cudaStream_t stream, workspace* work) {
  constexpr int of_block = (1 << Log2Across) * Each, down = wide_threads >> Log2Across;
  constexpr int line = elements_of_shift<Align, Source>;
  static_assert(of_block > line);
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  problem.phases = line / common_divisor(problem.stride, line);
  std::int64_t together = problem.phases * Rows;  // rows
  // Of fewer rows there are not enough of a phase.
  const bool level = problem.phases == 1 && problem.in.template begins_aligned<line>() &&
                     (problem.planes == 1 || problem.plane_stride % line == 0);
  const bool shifted = line > 1 && !level && problem.rows_count >= together;
  if (!shifted) {
    problem.phases = 1;
    together = Rows;
  }
  problem.tile_vectors = of_block - (shifted ? line : 0);
  problem.tiles = ceil_div(problem.across_plane, problem.tile_vectors);
  const std::int64_t tiles = problem.planes * problem.tiles;
  // A slice's partial results are to be a small part of what it reads.
  const std::int64_t least = (together > wide_rows_of_slice ? together : wide_rows_of_slice) * down;
  double share = 0;
  const std::int64_t slices = slices_of_tiles(tiles, tiles <= max_tickets ? problem.rows_count / least : 1,
                                              static_cast<std::int64_t>(device.processors) * Blocks, share);
  problem.rows_of_slice = ceil_div(ceil_div(problem.rows_count, slices), together) * together;
  problem.slices = static_cast<int>(ceil_div(problem.rows_count, problem.rows_of_slice));
  if (problem.slices > 1) {
    const std::int64_t bytes =
        tiles * problem.slices * of_block * Width * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  return launch(reduce_wide_columns<Width, Each, Rows, Blocks, Log2Across, Align, A, Source>, problem,
                tiles * problem.slices, wide_threads, 0, stream);
}

template <int Width, class A, class Source>
bool columns_in_vectors(const Source& in, std::int64_t planes, std::int64_t plane_stride, std::int64_t stride,
                        std::int64_t columns_count) {
  return in.template begins_aligned<Width>() && (planes == 1 || plane_stride % Width == 0) && stride % Width == 0 &&
         columns_count % Width == 0;
}

template <class A, class Source>
status launch_wide_columns(const A& a, const Source& in, typename A::result* out, std::int64_t planes,
                           std::int64_t plane_stride, std::int64_t rows_count, std::int64_t stride,
                           std::int64_t columns_count, cudaStream_t stream, workspace* work) {
  constexpr int vector = vector_of_states<A, Source>;  // elements of up to 16 bytes, and of up to 4
  constexpr int word = Source::bytes >= 4 || vector * Source::bytes < 4 ? 1 : 4 / Source::bytes;
  const bool in_words = columns_in_vectors<word, A>(in, planes, plane_stride, stride, columns_count);
  const bool in_vectors = columns_in_vectors<vector, A>(in, planes, plane_stride, stride, columns_count);
  wide_columns<A, Source> problem = {a, in, out, planes, plane_stride, rows_count, stride, columns_count};
  problem.across_plane = columns_count;
  if (rows_count <= most_few_rows) {
    if (!in_words) return launch_few_rows<1, 1>(problem, stream);
    problem.across_plane = columns_count / word;
    return launch_few_rows<word, 1>(problem, stream);
  }
  constexpr bool large = shape<A>::state_words > 2;
  if constexpr (Source::bytes == 4 && vector > 1) {
    if (columns_in_vectors<2, A>(in, planes, plane_stride, stride, columns_count)) {
      problem.across_plane = columns_count / 2;
      return launch_wide_tiles<2, large ? 1 : 2, large ? 8 : 4, 4, 8, 0>(problem, stream, work);
    }
  } else if (vector > 1 && in_vectors) {
    problem.across_plane = columns_count / vector;
    return launch_wide_tiles<vector, 1, 8, 3, 8, 0>(problem, stream, work);
  }
  if (rows_count < 1024 && columns_count > 4096) {
    if (rows_count < 32) {
      return launch_wide_tiles<1, large ? 2 : 4, large ? 8 : 4, 4, 8, 0>(problem, stream, work);
    }
    if (rows_count < 128) return launch_wide_tiles<1, 1, 16, 4, 8, 0>(problem, stream, work);
    return launch_wide_tiles<1, 1, 8, 4, 8, 0>(problem, stream, work);
  }
  // Loads that begin at lines, or at sectors: a warp's is one request to L2 and not two. States change hands between
  // the phases, which costs the more the larger they are.
  constexpr int blocks = large ? 3 : 4;
  if (columns_count > 128 && rows_count < 512) return launch_wide_tiles<1, 2, 8, blocks, 8, 32>(problem, stream, work);
  if (columns_count >= 1024) {
    if constexpr (large || A::indexed) {
      return launch_wide_tiles<1, 2, 16, 2, 8, 32>(problem, stream, work);
    } else {
      return launch_wide_tiles<1, 4, 4, 4, 8, 128>(problem, stream, work);
    }
  }
  if (columns_count > 128) return launch_wide_tiles<1, 1, 16, blocks, 8, 128>(problem, stream, work);
  return launch_wide_tiles<1, 2, 8, blocks, 5, 32>(problem, stream, work);
}

// Long columns of a matrix with an even number of them, in narrow tiles, so that few blocks share a row and each goes
// down many. Where rows begin at lines a tile is two lines wide, else more, of which fewer are shared with neighbours.
// False: another kernel is better.
template <class A, class Source>
bool launch_long_columns(wide_columns<A, Source> problem, cudaStream_t stream, workspace* work, status& result) {
  if constexpr (Source::bytes == 4 && vector_of_states<A, Source> > 1) {
    const auto fits = [&](std::int64_t tile) {  // into the columns, with a sixteenth left over
      return ceil_div(problem.columns_count, tile) * tile * 15 <= problem.columns_count * 16;
    };
    constexpr int line = 128 / Source::bytes;
    constexpr bool large = shape<A>::state_words > 2;
    const std::int64_t elements = problem.planes * problem.rows_count * problem.columns_count;
    if (problem.rows_count < 1024 || elements < 1 << 18) return false;
    if (fits(64) && problem.columns_count % 2 == 0 &&
        columns_in_vectors<line, A>(problem.in, problem.planes, problem.plane_stride, problem.stride, line)) {
      problem.across_plane = problem.columns_count / 2;
      result = launch_wide_tiles<2, 1, 8, 4, 5, 0>(problem, stream, work);
      return true;
    }
    constexpr int width = large ? 2 : 4;
    if (fits(64 * width) && columns_in_vectors<width, A>(problem.in, problem.planes, problem.plane_stride,
                                                         problem.stride, problem.columns_count)) {
      problem.across_plane = problem.columns_count / width;
      result = launch_wide_tiles<width, 1, large ? 8 : 4, 4, 6, 0>(problem, stream, work);
      return true;
    }
  }
  return false;
}

}  // namespace coalesce::detail
