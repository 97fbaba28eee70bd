// Columns so many that each has a thread of its own, which goes down all its rows: nothing is shared, nobody waits.
//
// A thread owns a vector of columns at a time. Where there are few rows it has several vectors under way: Rows rows of
// each of 8 / Rows vectors. With Rows = 8 any number of rows will do, 8 of them under way.
#pragma once

#include "../source.cuh"
#include "launch.cuh"

namespace coalesce::detail {

template <class A, class Source>
struct whole_columns {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t planes, plane_stride, rows_count, stride, columns_count;
};

inline constexpr int whole_threads = 256;

// Blocks on a multiprocessor: registers for states of several columns and 8 vectors.
template <int Width, class A>
inline constexpr int whole_blocks = Width == 1                           ? 4
                                    : shape<A>::blocks_per_processor > 3 ? 3
                                                                         : 2;

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

// A thread's way down `count` rows `step` elements apart, the first of them at `at`: row `row` of the matrix, the next
// one row_step further. Column e's position in that row's numbering is row * rows_each + row_of[e].
template <int Width, class A, class Source, class State>
__device__ __forceinline__ void walk_columns(const A& a, const Source& in, State (&state)[Width], std::int64_t at,
                                             std::int64_t step, std::int64_t count, std::int64_t row,
                                             std::int64_t row_step, const int (&row_of)[Width], int rows_each) {
  using element = typename A::element;
  constexpr int at_once = 8;
#pragma unroll 1
  for (; count >= at_once; count -= at_once) {
    typename Source::template vector_of<Width> loaded[at_once];
#pragma unroll
    for (int r = 0; r < at_once; ++r, at += step) loaded[r] = in.template fetch<Width>(at);
    element rows[at_once][Width];
#pragma unroll
    for (int r = 0; r < at_once; ++r) in.template unpack<Width>(loaded[r], rows[r]);
#pragma unroll
    for (int e = 0; e < Width; ++e) {
      element tile[at_once];
#pragma unroll
      for (int r = 0; r < at_once; ++r) tile[r] = rows[r][e];
      a.add(state[e], tile, positions<1>{row * rows_each + row_of[e], row_step * rows_each});
    }
    if constexpr (A::indexed) row += at_once * row_step;
  }
  typename Source::template vector_of<Width> loaded[at_once - 1];
#pragma unroll
  for (int r = 0; r < at_once - 1; ++r, at += step) {
    if (r < count) loaded[r] = in.template fetch<Width>(at);
  }
#pragma unroll
  for (int r = 0; r < at_once - 1; ++r) {
    if (r < count) {
      element rows[Width];
      in.template unpack<Width>(loaded[r], rows);
#pragma unroll
      for (int e = 0; e < Width; ++e) {
        const element one[1] = {rows[e]};
        a.add(state[e], one, positions<1>{(row + r * row_step) * rows_each + row_of[e], 0});
      }
    }
  }
}

// Few rows: Rows at most, of several vectors at a time.
template <int Width, int Rows, class A, class Source>
__global__ void __launch_bounds__(whole_threads, whole_blocks<Width, A>)
    reduce_few_rows(const whole_columns<A, Source> problem) {
  using element = typename A::element;
  using result = typename A::result;
  constexpr int at_once = 4 / Rows;
  const A& a = problem.accumulator;
  const int rows_count = static_cast<int>(problem.rows_count);
  const std::int64_t columns_count = problem.columns_count, stride = problem.stride;
  const std::int64_t across = divide(columns_count + Width - 1, Width), total = problem.planes * across;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * whole_threads;

  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * whole_threads + threadIdx.x; first < total;
       first += threads * at_once) {
    typename Source::template vector_of<Width> loaded[at_once][Rows];
    std::int64_t place[at_once];  // of the first result; -1: none, or not a whole vector
#pragma unroll
    for (int v = 0; v < at_once; ++v) {
      const std::int64_t i = first + v * threads;
      const std::int64_t plane = problem.planes == 1 ? 0 : divide(i, across), column = (i - plane * across) * Width;
      const Source in = problem.in.from(plane * problem.plane_stride + column);
      place[v] = i < total ? plane * columns_count + column : -1;
      if (place[v] >= 0 && column + Width > columns_count) {  // the last vector of a row that has no whole ones
        for (int e = 0; column + e < columns_count; ++e) {
          typename A::state state = a.identity();
          for (int r = 0; r < rows_count; ++r) {
            const element one[1] = {in.at(r * stride + e)};
            a.add(state, one, positions<1>{r, 0});
          }
          problem.out[place[v] + e] = a.finish(state, rows_count);
        }
        place[v] = -1;
      }
      if (place[v] >= 0) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          if (r < rows_count) loaded[v][r] = in.template fetch<Width>(r * stride);
        }
      }
    }
#pragma unroll
    for (int v = 0; v < at_once; ++v) {
      if (place[v] < 0) continue;
      element rows[Rows][Width];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (r < rows_count) problem.in.template unpack<Width>(loaded[v][r], rows[r]);
      }
      result results[Width];
#pragma unroll
      for (int e = 0; e < Width; ++e) {
        typename A::state state = a.identity();
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const element one[1] = {rows[r][e]};
          if (r < rows_count) a.add(state, one, positions<1>{r, 0});
        }
        results[e] = a.finish(state, rows_count);
      }
      store_results<Width>(problem.out + place[v], results);
    }
  }
}

template <int Width, class A, class Source>
__global__ void __launch_bounds__(whole_threads, whole_blocks<Width, A>)
    reduce_whole_columns(const whole_columns<A, Source> problem) {
  using element = typename A::element;
  const A& a = problem.accumulator;
  const std::int64_t rows_count = problem.rows_count, columns_count = problem.columns_count, stride = problem.stride;
  const std::int64_t across = divide(columns_count + Width - 1, Width), total = problem.planes * across;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * whole_threads + threadIdx.x; i < total;
       i += static_cast<std::int64_t>(gridDim.x) * whole_threads) {
    const std::int64_t plane = problem.planes == 1 ? 0 : divide(i, across), column = (i - plane * across) * Width;
    const Source in = problem.in.from(plane * problem.plane_stride + column);
    typename A::result* out = problem.out + plane * columns_count + column;
    if (column + Width <= columns_count) {
      typename A::state state[Width];
#pragma unroll
      for (int e = 0; e < Width; ++e) state[e] = a.identity();
      const int row_of[Width] = {};
      walk_columns<Width>(a, in, state, 0, stride, rows_count, 0, 1, row_of, 1);
      typename A::result results[Width];
#pragma unroll
      for (int e = 0; e < Width; ++e) results[e] = a.finish(state[e], rows_count);
      store_results<Width>(out, results);
    } else {
      for (int e = 0; column + e < columns_count; ++e) {
        typename A::state state = a.identity();
        for (std::int64_t row = 0; row < rows_count; ++row) {
          const element one[1] = {in.at(row * stride + e)};
          a.add(state, one, positions<1>{row, 0});
        }
        out[e] = a.finish(state, rows_count);
      }
    }
  }
}

// Width: of vectors that begin aligned in every row, or 1.
template <int Width, class A, class Source>
status launch_whole_columns(const A& a, const Source& in, typename A::result* out, std::int64_t planes,
                            std::int64_t plane_stride, std::int64_t rows_count, std::int64_t stride,
                            std::int64_t columns_count, cudaStream_t stream) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const whole_columns<A, Source> problem = {a, in, out, planes, plane_stride, rows_count, stride, columns_count};
  // In many waves, so that blocks do not stay in step with each other; unless each has much to do.
  const std::int64_t most =
      static_cast<std::int64_t>(device.processors) * whole_blocks<Width, A> * (rows_count < 256 ? 16 : 1);
  const int at_once = rows_count <= 1 ? 4 : rows_count <= 2 ? 2 : 1;
  const std::int64_t needed = ceil_div(planes * ceil_div(columns_count, Width), whole_threads * at_once);
  void (*kernel)(whole_columns<A, Source>) = rows_count <= 1   ? reduce_few_rows<Width, 1, A, Source>
                                             : rows_count <= 2 ? reduce_few_rows<Width, 2, A, Source>
                                             : rows_count <= 4 ? reduce_few_rows<Width, 4, A, Source>
                                                               : reduce_whole_columns<Width, A, Source>;
  return launch(kernel, problem, needed < most ? needed : most, whole_threads, 0, stream);
}

}  // namespace coalesce::detail
