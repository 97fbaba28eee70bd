// Columns whose rows do not begin at 16-byte boundaries: through shared memory.
//
// A block takes tiles of neighbouring columns; a tile's rows come into shared memory some at a time, as they lie, by
// copies of 16 bytes that nobody waits for while the rows before are added up. A thread has up to `columns_each` of the
// tile's columns, 256 apart, so that the lanes of a warp read neighbouring elements at any shift of the row. Few tiles:
// `slices` blocks share the rows of each, and the last folds.
//
// A row's first and last vector are read whole where all of their bytes belong to the view, else element by element.
#pragma once

#include "../block/stage.cuh"
#include "columns.cuh"

namespace coalesce::detail {

template <class A, class Source>
struct staged_columns {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t planes, plane_stride, rows_count, stride, columns_count;
  std::int64_t tiles;     // of a plane
  std::int64_t elements;  // where the rows follow each other without gaps: how many elements there are in all, else 0
  int width;              // columns of a tile
  int pitch;              // elements from row to row in shared memory
  int at_once;            // rows of a stage
  int groups;             // stages of a tile
  int log2_across;        // 2^that threads copy a row
  int slices;
  typename A::state* partials;  // [tile][slice][column]
  unsigned int* tickets;        // [tile]
};

inline constexpr int staged_columns_threads = 256;
inline constexpr int staged_columns_stages = 2;
inline constexpr int staged_columns_bytes = 15744;  // of a stage: four rows of nearly 4 KB
inline constexpr int staged_columns_blocks = 4;     // of a multiprocessor

template <class A, class Source>
constexpr int columns_of_thread() {
  constexpr int state = static_cast<int>(sizeof(typename A::state));
  constexpr int wanted = Source::bytes < 4 ? 8 : 4;
  return state * wanted <= 64 ? wanted : state <= 16 ? 4 : state <= 32 ? 2 : 1;
}
template <class A, class Source>
inline constexpr int columns_each = columns_of_thread<A, Source>();

// Starts copying `rows` rows of `columns` elements, `stride` apart, to rows `pitch` apart, each as far behind the
// beginning of a sector as it is in memory. `low` ... `high`: what belongs to the view; null: of each row only
// row_length elements from row_begin on, which are `stride` apart like the rows.
// There is a thread for each vector that a row can have.
template <class T>
__device__ __forceinline__ void start_staging_rows(T* to, const T* from, int rows, int columns, std::int64_t stride,
                                                   int pitch, int log2_across, const T* low, const T* high,
                                                   std::int64_t row_length, const T* row_begin) {
  constexpr int width = 16 % sizeof(T) == 0 ? 16 / static_cast<int>(sizeof(T)) : 1, sector = 2 * width;
  const int thread = static_cast<int>(threadIdx.x) & ((1 << log2_across) - 1);
  const int y = static_cast<int>(threadIdx.x) >> log2_across, step = staged_columns_threads >> log2_across;
  // Nearly always every sector in reach belongs to the view.
  const bool inside = low && from - sector >= low && from + (rows - 1) * stride + columns + sector <= high;
  const T* row = from + y * stride;
  T* place = to + y * pitch + thread * width;
  const std::int64_t row_step = step * stride;
  for (int r = y; r < rows; r += step, row += row_step, place += step * pitch) {
    const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 32 / sizeof(T));
    const int at = thread * width - shift;  // this thread's vector, counted from the row's beginning
    if (at <= -width || at >= columns) continue;
    if (inside) {
      start_copy16(place, row + at);
      continue;
    }
    const T* const begin = low ? low : row_begin + r * stride;
    const T* const end = low ? high : begin + row_length;
    if (row + at >= begin && row + at + width <= end) {
      start_copy16(place, row + at);
    } else {
      for (int e = 0; e < width; ++e) {
        if (at + e >= 0 && at + e < columns) start_copy_of_one(place + e, row + at + e);
      }
    }
  }
}

template <class A, class Source>
__global__ void __launch_bounds__(staged_columns_threads,
                                  columns_each<A, Source> >= 4 && !A::indexed ? staged_columns_blocks : 3)
    reduce_staged_columns(const staged_columns<A, Source> problem) {
  using memory = typename Source::memory;
  using element = typename A::element;
  using state_type = typename A::state;
  constexpr int threads = staged_columns_threads, stages = staged_columns_stages, together = 4;
  constexpr int each = columns_each<A, Source>;
  constexpr int sector = 16 % sizeof(memory) == 0 ? 32 / static_cast<int>(sizeof(memory)) : 1;
  extern __shared__ __align__(16) char shared[];
  const A& a = problem.accumulator;
  const int at_once = problem.at_once, pitch = problem.pitch, slices = problem.slices;
  const std::int64_t units = problem.planes * problem.tiles * slices, stride = problem.stride;
  const std::int64_t stage_stride = at_once * stride;
  const int groups = problem.groups, groups_each = (groups + slices - 1) / slices;

  // A unit is a tile's slice. The way through the units' stages, once to start the copies and once behind it.
  struct cursor {
    std::int64_t unit;
    const memory* from;  // of the next stage
    int columns, group, group_end;
  };
  const auto tile_of = [&](std::int64_t unit) { return slices == 1 ? unit : divide(unit, slices); };
  const auto plane_of = [&](std::int64_t tile) { return problem.planes == 1 ? 0 : divide(tile, problem.tiles); };
  const auto go_to = [&](cursor& c, std::int64_t unit) {
    c.unit = unit;
    if (unit >= units) return;
    const std::int64_t tile = tile_of(unit), plane = plane_of(tile);
    const std::int64_t first_column = (tile - plane * problem.tiles) * problem.width;
    const std::int64_t left = problem.columns_count - first_column;
    c.columns = left < problem.width ? static_cast<int>(left) : problem.width;
    c.group = static_cast<int>(unit - tile * slices) * groups_each;
    c.group_end = c.group + groups_each < groups ? c.group + groups_each : groups;
    c.from = problem.in.data + plane * problem.plane_stride + c.group * stage_stride + first_column;
  };
  const auto rows_of = [&](const cursor& c) {
    const std::int64_t left = problem.rows_count - static_cast<std::int64_t>(c.group) * at_once;
    return left < at_once ? static_cast<int>(left) : at_once;
  };
  cursor coming, here;
  go_to(coming, blockIdx.x);
  here = coming;
  int coming_stage = 0, stage = 0;
  const auto start_next = [&] {
    if (coming.unit < units && coming.group < coming.group_end) {
      // Where the rows themselves begin matters if nothing else belongs to the view.
      const memory* row_begin = coming.from;
      if (!problem.elements) {
        const std::int64_t tile = tile_of(coming.unit);
        row_begin -= (tile - plane_of(tile) * problem.tiles) * problem.width;
      }
      start_staging_rows(reinterpret_cast<memory*>(shared + coming_stage * staged_columns_bytes), coming.from,
                         rows_of(coming), coming.columns, stride, pitch, problem.log2_across,
                         problem.elements ? problem.in.data : nullptr, problem.in.data + problem.elements,
                         problem.columns_count, row_begin);
      coming.from += stage_stride;
      if (++coming.group == coming.group_end) go_to(coming, coming.unit + gridDim.x);
    }
    end_group();
    coming_stage = coming_stage + 1 == stages ? 0 : coming_stage + 1;
  };
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) start_next();

  while (here.unit < units) {
    state_type state[each];
#pragma unroll
    for (int j = 0; j < each; ++j) state[j] = a.identity();
    for (; here.group < here.group_end; ++here.group, here.from += stage_stride) {
      start_next();
      wait_for_groups<stages - 1>();
      __syncthreads();
      const memory* const rows = reinterpret_cast<const memory*>(shared + stage * staged_columns_bytes);
      const int count = rows_of(here);
      const int first_shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(here.from) % 32 / sizeof(memory));
      const int step = static_cast<int>(stride % sector);
      // Row r's element in this thread's first column.
      const auto element_of = [&](int r) {
        return rows + r * pitch + ((first_shift + r * step) & (sector - 1)) + threadIdx.x;
      };
      const std::int64_t first_row = static_cast<std::int64_t>(here.group) * at_once;
      int r = 0;
      for (; r + together <= count; r += together) {
        const memory* from[together];
#pragma unroll
        for (int k = 0; k < together; ++k) from[k] = element_of(r + k);
#pragma unroll
        for (int j = 0; j < each; ++j) {
          if (static_cast<int>(threadIdx.x) + j * threads < here.columns) {
            element tile[together];
#pragma unroll
            for (int k = 0; k < together; ++k) tile[k] = problem.in.project(from[k][j * threads]);
            a.add(state[j], tile, positions<1>{first_row + r, 1});
          }
        }
      }
      for (; r < count; ++r) {
        const memory* const from = element_of(r);
#pragma unroll
        for (int j = 0; j < each; ++j) {
          if (static_cast<int>(threadIdx.x) + j * threads < here.columns) {
            const element one[1] = {problem.in.project(from[j * threads])};
            a.add(state[j], one, positions<1>{first_row + r, 0});
          }
        }
      }
      __syncthreads();
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    const std::int64_t tile = tile_of(here.unit), plane = plane_of(tile);
    const std::int64_t result = plane * problem.columns_count + (tile - plane * problem.tiles) * problem.width;
    state_type* const partials =
        slices == 1 ? nullptr : problem.partials + tile * slices * static_cast<std::int64_t>(problem.width);
    const std::int64_t slice = here.unit - tile * slices;
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const int column = static_cast<int>(threadIdx.x) + j * threads;
      if (column < here.columns) {
        if (slices == 1) {
          problem.out[result + column] = a.finish(state[j], problem.rows_count);
        } else {
          partials[slice * problem.width + column] = state[j];
        }
      }
    }
    if (slices > 1 && last_block(problem.tickets + tile, slices)) {
      for (int column = threadIdx.x; column < here.columns; column += threads) {
        const state_type merged = merge_partials(a, partials + column, 0, slices, 1, problem.width);
        problem.out[result + column] = a.finish(merged, problem.rows_count);
      }
    }
    go_to(here, here.unit + gridDim.x);
  }
}

template <class A, class Source>
status launch_staged_columns(const A& a, const Source& in, typename A::result* out, std::int64_t planes,
                             std::int64_t plane_stride, std::int64_t rows_count, std::int64_t stride,
                             std::int64_t columns_count, cudaStream_t stream, workspace* work) {
  using memory = typename Source::memory;
  constexpr int size = static_cast<int>(sizeof(memory)), vector = 16 % size == 0 ? 16 / size : 1;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  staged_columns<A, Source> problem = {a, in, out, planes, plane_stride, rows_count, stride, columns_count, 1, 0, 0, 0,
                                       0, 0,  0,   1,      nullptr,      nullptr};
  const bool dense = stride == columns_count && (planes == 1 || plane_stride == rows_count * stride);
  if (dense) problem.elements = planes * rows_count * stride;
  // Tiles of equal width, in whole sectors; four rows of them fit into a stage.
  const int threads = staged_columns_threads;
  int widest = (staged_columns_bytes / 4 - 32) / size;
  if (widest > threads * columns_each<A, Source>) widest = threads * columns_each<A, Source>;
  problem.tiles = ceil_div(columns_count, widest);
  const int sector = size < 32 && 32 % size == 0 ? 32 / size : 1;
  problem.width = static_cast<int>(ceil_div(ceil_div(columns_count, problem.tiles), sector)) * sector;
  if (problem.width > widest) problem.width = widest;
  problem.tiles = ceil_div(columns_count, problem.width);
  const int vectors = static_cast<int>(ceil_div(problem.width, vector)) + 2;
  problem.pitch = vectors * vector;
  problem.at_once = staged_columns_bytes / (problem.pitch * size);
  if (problem.at_once > 4) problem.at_once &= ~3;
  if (problem.at_once > rows_count) problem.at_once = static_cast<int>(rows_count);
  while (problem.log2_across < 8 && 1 << problem.log2_across < vectors) ++problem.log2_across;
  const std::int64_t tiles = planes * problem.tiles, groups = ceil_div(rows_count, problem.at_once);
  problem.groups = static_cast<int>(groups);
  // Two blocks a multiprocessor are enough to read at full speed, and the fewer there are the less there is to fold. Of
  // fewer than 64 rows a slice's partial results would be too large a part of what is read.
  double share = 0;
  problem.slices = static_cast<int>(
      slices_of_tiles(tiles, tiles <= max_tickets ? (groups < rows_count / 64 ? groups : rows_count / 64) : 1,
                      static_cast<std::int64_t>(device.processors) * 2, share));
  if (problem.slices > 1) {
    const std::int64_t bytes =
        tiles * problem.slices * problem.width * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  const std::int64_t units = tiles * problem.slices;
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * staged_columns_blocks;
  return launch(reduce_staged_columns<A, Source>, problem, problem.slices > 1 || units < resident ? units : resident,
                threads, staged_columns_stages * staged_columns_bytes, stream);
}

}  // namespace coalesce::detail
