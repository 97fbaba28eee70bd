// Which kernel reduces which shape. Host code without kernels: a plan depends on numbers alone, and dispatch.cuh starts
// what it says.
#pragma once

#include <coalesce/detail/layout.cuh>
#include <coalesce/detail/tuning.cuh>
#include <coalesce/types/workspace.cuh>

namespace coalesce::detail {

// The properties of an accumulator and a source that a choice depends on.
struct kind {
  int bytes;          // of an element in memory, of both inputs where there are two
  int first_bytes;    // of the first input's alone
  int inputs;         // 1 or 2
  int width;          // elements of a vector of 16 bytes
  int element_bytes;  // of what is accumulated
  int state_words;    // of 4 bytes
  bool indexed;       // positions are looked for
  int kept_width;     // neighbouring results that a thread has where it loads vectors along them
  int columns_width;  // the same of columns

  constexpr bool large() const { return state_words > 2; }
};

// How rows in shared memory are taken: in units of so many bytes, by 2^log2_lanes lanes. unit 0: not by these kernels.
struct row_form {
  int unit, log2_lanes;
};

// Which axis loads are vectors along, wherever the others stand.
enum class vector_axis { none, kept, reduced };

// How threads of wide_columns.cuh have columns: `Width` neighbours a load, `Each` of them, `Rows` rows under way.
enum class wide_form { lines, vectors, pairs, packed, several, single };

enum class shape_kernel {
  nothing,             // no elements: rows.cuh writes what a function of nothing is
  shared_rows,         // form
  rows,                //
  array,               // one result: flat.cuh, or long_rows.cuh
  long_rows,           //
  shared_middle,       //
  dense_columns,       // threads
  few_rows,            // width
  wide_columns,        // wide
  columns,             //
  nested_rows,         //
  shared_nested_rows,  // form
  strided,             // along
};

struct plan {
  shape_kernel kernel = shape_kernel::strided;
  bool few = true;  // fewer elements a result than positions of 32 bits have room for
  // Rows: `count` elements each, `stride` apart; `inner` of them to a plane, the planes `plane` apart (inner 0: none).
  std::int64_t count = 0, stride = 0, inner = 0, plane = 0;
  // Columns: `planes` matrices of `rows` by `columns`, `plane` apart.
  std::int64_t planes = 1, rows = 1, columns = 1;
  // A second reduced axis: so many times those rows, so far apart.
  std::int64_t outers = 1, outer_stride = 0;
  bool dense = false;  // what lies beside a row is the view's
  int run = 1;         // neighbouring columns that make one result
  row_form form = {0, 0};
  int threads = 256, width = 1;
  wide_form wide = wide_form::single;
  vector_axis along = vector_axis::none;
};

constexpr int common_divisor(std::int64_t a, int b) {
  while (b) {
    const int rest = static_cast<int>(a % b);
    a = b;
    b = rest;
  }
  return static_cast<int>(a);
}

// Whether vectors of `width` elements are aligned at every row, plane and end of columns.
inline bool columns_in_vectors(const kind& k, std::uintptr_t address, const plan& p, int width, std::int64_t columns) {
  return address % (static_cast<std::uintptr_t>(width) * k.first_bytes) == 0 &&
         (p.planes == 1 || p.plane % width == 0) && p.stride % width == 0 && columns % width == 0;
}

// Rows without gaps. A lane has all of a row, unless that makes tiles so large that few warps have room; then rows are
// of whole vectors, and several lanes share one.
inline row_form form_of_shared_rows(const kind& k, std::uintptr_t address, std::int64_t length) {
  const std::int64_t bytes = length * k.bytes, vectors = bytes / 16;
  if (k.inputs != 1 || 16 % k.bytes != 0 || bytes > tuning::longest_shared_row) return {0, 0};
  const int unit = common_divisor(bytes, 16);
  if (unit < 4) {  // tiles of 2, 4 times as many rows
    return {bytes <= tuning::longest_row_of_lane * unit / 4 ? unit : 0, 0};
  }
  const bool even = unit == 16 && (k.bytes == 16 || address % 16 == 0);
  // Lanes that share a row without shared memory (rows.cuh): evenly, or where little has to be merged, or as good as
  // all have something to do.
  const bool plain = !k.large() && !k.indexed;
  if (even && vectors >= 32 && vectors < 256 && (vectors & (vectors - 1)) == 0) return {0, 0};
  if (even && bytes > tuning::longest_row_of_lane && (plain || vectors >= 192)) return {0, 0};
  if (bytes <= (k.indexed && even ? tuning::longest_row_with_positions : tuning::longest_row_of_lane)) return {unit, 0};
  if (!even) return {0, 0};
  return {16, vectors < 128 ? 3 : 5};
}

// Vectors in which rows begin alike again.
constexpr std::int64_t period_of_columns(std::int64_t columns, int width) {
  return columns / common_divisor(columns, width);
}

// The number of the block's threads that read whole lines, if that leaves few idle: up to 3 of 16. Else 0. bytes: of a
// vector.
inline int lines_of_columns(std::int64_t period, int bytes, int threads) {
  const int line = 128 / bytes > 0 ? 128 / bytes : 1;
  const int lines = static_cast<int>(period / common_divisor(period, line)) * line;
  return lines <= threads && threads / lines * lines * 16 >= threads * 13 ? threads / lines * lines : 0;
}

// Whether there is enough for large blocks, and a period or a state so long that they have fewer partial results to
// leave, or less.
inline bool columns_are_large(const kind& k, std::int64_t rows, std::int64_t columns, const device_facts& device) {
  return (period_of_columns(columns, k.columns_width) > tuning::period_of_large || k.state_words > 4) &&
         rows * columns / k.columns_width >= tuning::vectors_of_large * 512 * device.processors;
}

// Whether a matrix is best read as one array. Of longer rows tiles are narrower than the matrix (columns.cuh), which
// leaves fewer partial results; but not where rows share lines in a large one, nor of many matrices, a few of which are
// under way, whose rows share sectors.
inline bool columns_are_dense(const kind& k, const plan& p, const device_facts& device) {
  const std::int64_t period = period_of_columns(p.columns, k.columns_width), shared = p.columns * k.bytes % 128;
  const bool best = p.planes > 1 ? shared % 32 != 0
                                 : k.state_words <= 4 && shared != 0 && columns_are_large(k, p.rows, p.columns, device);
  return p.stride == p.columns && (period <= tuning::short_period || (best && period <= tuning::longest_period)) &&
         (p.rows >= 64 || period * k.columns_width < 256);
}
// One large matrix has one block a multiprocessor: as many threads as else several have, and fewer partial results.
// 1024 of them where only so many read whole lines; larger states would not fit.
inline int threads_of_dense_columns(const kind& k, const plan& p, const device_facts& device) {
  if (!columns_are_large(k, p.planes * p.rows, p.columns, device)) return 256;
  const std::int64_t period = period_of_columns(p.columns, k.columns_width);
  const int bytes = k.columns_width * k.bytes;
  return !k.large() && k.columns_width <= 4 && period > tuning::period_of_1024_threads &&
                 lines_of_columns(period, bytes, 512) == 0 && lines_of_columns(period, bytes, 1024) != 0
             ? 1024
             : 512;
}

// How rows of columns are cut into tiles: at least `tiles`, of `across` threads side by side by `down` below each
// other.
struct tile_form {
  std::int64_t tiles;
  int across, down;
  bool aligned, large;
};
// Rows begin alike again after `phases` of them at most, of which `down` is a multiple. A power of two side by side, so
// that warps have whole pieces of rows, in blocks of 256; in a large matrix any number where that would leave too many
// idle: the fewest tiles that fit, or up to twice as many.
inline tile_form form_of_tiles(std::int64_t columns, int width, bool aligned, bool large, int most_threads) {
  const int phases = width < 4 ? 4 : width, shift = aligned ? 0 : 1;
  const auto needed = [&](std::int64_t tiles) {
    return static_cast<int>(((columns + tiles - 1) / tiles + width - 1) / width) + shift;
  };
  const auto fewest = [&](int across) {
    const std::int64_t widest = static_cast<std::int64_t>(across - shift) * width;
    return (columns + widest - 1) / widest;
  };
  int across = 256 / phases;
  while (across > 8 && fewest(across / 2) == 1) across /= 2;
  const std::int64_t tiles = fewest(across);
  const tile_form even = {tiles, across, 256 / across, aligned, large};
  const int part_at_work = most_threads > 256 ? 85 : 75;  // of a hundred
  if (!large || needed(tiles) * 100 >= across * part_at_work) return even;
  tile_form best = even;
  int most = needed(tiles) * even.down * most_threads / 256;
  const std::int64_t first = fewest(most_threads / phases);
  for (std::int64_t some = first; some <= 2 * first; ++some) {
    const int wide = needed(some) < 8 ? 8 : needed(some), down = most_threads / wide / phases * phases;
    if (wide * down > most) {
      most = wide * down;
      best = {some, wide, down, aligned, large};
    }
    if (most * 4 >= most_threads * 3) break;
  }
  return best;
}

// Columns: the plan's planes, rows, stride and columns are set.
inline void choose_columns(const kind& k, std::uintptr_t address, const device_facts& device, plan& p) {
  const auto in_vectors = [&](int width) { return columns_in_vectors(k, address, p, width, p.columns); };
  p.dense = p.stride == p.columns;
  if (p.rows > tuning::most_few_rows && columns_are_dense(k, p, device)) {
    p.kernel = shape_kernel::dense_columns;
    p.threads = threads_of_dense_columns(k, p, device);
    return;
  }
  const int vector = k.kept_width;  // elements of up to 16 bytes, and of up to 4
  const int word = k.bytes >= 4 || vector * k.bytes < 4 ? 1 : 4 / k.bytes;
  const auto wide = [&](wide_form form) {
    p.kernel = shape_kernel::wide_columns;
    p.wide = form;
  };
  // Long columns of a matrix with an even number of them, in narrow tiles, so that few blocks share a row and each goes
  // down many. Where rows begin at lines a tile is two lines wide, else more, of which fewer are shared with
  // neighbours.
  const std::int64_t elements = p.planes * p.rows * p.columns;
  if (k.bytes == 4 && vector > 1 && p.rows >= tuning::long_column && elements >= tuning::least_of_long_columns) {
    const auto fits = [&](std::int64_t tile) {  // into the columns, with a sixteenth left over
      return (p.columns + tile - 1) / tile * tile * 15 <= p.columns * 16;
    };
    const int line = 128 / k.bytes, width = k.large() ? 2 : 4;
    if (fits(64) && p.columns % 2 == 0 && columns_in_vectors(k, address, p, line, line)) return wide(wide_form::lines);
    // (Large states of large matrices are left by fewer blocks where each thread has its own rows: columns.cuh.)
    if (!(k.large() && elements >= tuning::large_of_long_columns) && fits(64 * width) && in_vectors(width)) {
      return wide(wide_form::vectors);
    }
  }
  if (p.rows <= tuning::most_few_rows) {
    p.kernel = shape_kernel::few_rows;
    p.width = in_vectors(word) ? word : 1;
    return;
  }
  p.kernel = shape_kernel::columns;
  if (p.planes * p.columns < device.processors * 1024) return;
  if (k.bytes == 4 && vector > 1) {
    if (in_vectors(2)) return wide(wide_form::pairs);
  } else if (vector > 1 && in_vectors(vector)) {
    return wide(wide_form::packed);
  }
  // Rows enough for a thread to have 8 of a kind under way are read by whole vectors.
  if (p.rows < tuning::rows_of_vectors) wide(p.rows < tuning::short_column ? wide_form::several : wide_form::single);
}

// Whether the last axis of `inner` lies so that loads of `width` elements along it are aligned at every index of the
// others.
inline bool lies_in_vectors(int width, const axis* inner, int inner_rank, const axis* others, int others_rank) {
  if (inner_rank == 0 || inner[inner_rank - 1].stride != 1 || inner[inner_rank - 1].extent % width != 0) return false;
  for (int i = 0; i < inner_rank - 1; ++i) {
    if (inner[i].stride % width != 0) return false;
  }
  for (int i = 0; i < others_rank; ++i) {
    if (others[i].stride % width != 0) return false;
  }
  return true;
}
inline vector_axis vector_axis_of(const kind& k, std::uintptr_t address, const reduction_layout& l) {
  if (k.inputs != 1) return vector_axis::none;
  const auto aligned = [&](int width) {
    return width > 1 && address % (static_cast<std::uintptr_t>(width) * k.first_bytes) == 0;
  };
  if (goes_along_reduced(l)) {
    return aligned(k.width) && lies_in_vectors(k.width, l.reduced, l.reduced_rank, l.kept, l.kept_rank)
               ? vector_axis::reduced
               : vector_axis::none;
  }
  return aligned(k.kept_width) && lies_in_vectors(k.kept_width, l.kept, l.kept_rank, l.reduced, l.reduced_rank)
             ? vector_axis::kept
             : vector_axis::none;
}

// Two reduced axes; the plan's `count`, `few` and `along` are set. The kept axes are one or two, the fastest of stride
// 1 or of whole rows.
inline void choose_two_axes(const kind& k, const reduction_layout& l, plan& p) {
  const axis &slower = l.reduced[0], &reduced = l.reduced[1], &inner = l.kept[l.kept_rank - 1];
  const axis* outer = l.kept_rank > 1 ? &l.kept[0] : nullptr;
  const std::int64_t row_bytes = reduced.extent * k.bytes;
  const bool rows = reduced.stride == 1, dense_rows = rows && inner.stride == reduced.extent && k.inputs == 1;
  const auto set_columns = [&](std::int64_t rows_count, std::int64_t stride, std::int64_t columns) {
    p.kernel = shape_kernel::columns;
    p.planes = outer ? outer->extent : 1;
    p.plane = outer ? outer->stride : 0;
    p.rows = rows_count;
    p.stride = stride;
    p.columns = columns;
    p.dense = is_without_gaps(l);
  };
  const auto set_slower = [&] {
    p.outers = slower.extent;
    p.outer_stride = slower.stride;
  };
  // Short rows, where a lane for each result fills the device.
  if (dense_rows && !outer && row_bytes <= tuning::longest_nested_row && 16 % k.bytes == 0 &&
      l.kept_count >= tuning::fewest_shared_nested && l.reduced_count <= INT32_MAX) {
    if (const int unit = common_divisor(row_bytes, 16); unit >= 4) {
      p.kernel = shape_kernel::shared_nested_rows;
      p.form = {unit, 0};
      p.count = reduced.extent;
      return set_slower();
    }
  }
  // Shorter ones of many groups: columns, of which neighbours make one result.
  if (dense_rows && row_bytes < tuning::least_nested_bytes &&
      reduced.extent / common_divisor(reduced.extent, k.columns_width) * k.columns_width <= tuning::longest_runs &&
      slower.stride >= inner.stride * inner.extent && slower.extent >= tuning::fewest_rows_of_runs) {
    p.run = static_cast<int>(reduced.extent);
    return set_columns(slower.extent, slower.stride, inner.extent * reduced.extent);
  }
  // The slower axis repeats rows or columns, where loads along neither axis are aligned, or rows are short.
  const bool rows_are_short = p.along == vector_axis::reduced && row_bytes <= tuning::longest_nested_row;
  if (p.along != vector_axis::none && !rows_are_short) return;
  if (rows && row_bytes >= tuning::least_nested_bytes) {
    p.kernel = shape_kernel::nested_rows;
    p.stride = inner.stride;
    p.inner = outer ? inner.extent : 0;
    p.plane = outer ? outer->stride : 0;
    p.count = reduced.extent;
    set_slower();
  } else if (inner.stride == 1 && inner.extent * k.bytes >= tuning::least_nested_bytes && reduced.stride > 0 &&
             reduced.extent >= tuning::fewest_nested_rows && slower.stride % reduced.stride == 0) {
    set_columns(reduced.extent, reduced.stride, inner.extent);
    set_slower();
  }
}

// `address`: where the first input's element (0, 0, ...) lies, with the layout's offset.
inline plan choose(const kind& k, const reduction_layout& l, std::uintptr_t address, const device_facts& device) {
  plan p;
  p.count = l.reduced_count;
  p.few = p.count < few;
  if (p.count == 0) {
    p.kernel = shape_kernel::nothing;
    return p;
  }
  // Both inputs of a pair lie alike, or one by one it is.
  bool alike = true;
  for (int i = 0; i < l.kept_rank; ++i) alike = alike && (k.inputs == 1 || l.kept[i].stride == l.kept[i].other);
  for (int i = 0; i < l.reduced_rank; ++i) {
    alike = alike && (k.inputs == 1 || l.reduced[i].stride == l.reduced[i].other);
  }
  const axis* inner = l.kept_rank > 0 ? &l.kept[l.kept_rank - 1] : nullptr;
  const axis* outer = l.kept_rank > 1 ? &l.kept[0] : nullptr;
  const axis* reduced = l.reduced_rank > 0 ? &l.reduced[l.reduced_rank - 1] : nullptr;
  const bool known = alike && l.kept_rank <= 2 && (in_order(l) || (!k.indexed && l.kept_rank == 0));
  const std::int64_t bytes = p.count * k.bytes, results = l.kept_count;
  const auto set_rows = [&] {
    p.stride = inner ? inner->stride : 0;
    p.inner = outer ? inner->extent : 0;
    p.plane = outer ? outer->stride : 0;
  };
  const auto set_columns = [&] {
    p.planes = outer ? outer->extent : 1;
    p.plane = outer ? outer->stride : 0;
    p.rows = reduced ? reduced->extent : 1;
    p.stride = reduced ? reduced->stride : inner->extent;
    p.columns = inner->extent;
  };
  if (known && l.reduced_rank <= 1) {
    if (reduced && reduced->stride == 1) {
      set_rows();
      const bool dense = !outer && (!inner || p.stride == p.count);
      if (dense && results > 1) p.form = form_of_shared_rows(k, address, p.count);
      p.kernel =
          p.form.unit != 0 ? shape_kernel::shared_rows
          : bytes <= tuning::longest_row_of_warp &&
                  results >= (bytes <= tuning::short_row ? tuning::fewest_short_rows : tuning::fewest_rows_of_warps)
              ? shape_kernel::rows
          : results == 1 ? shape_kernel::array
                         : shape_kernel::long_rows;
      return p;
    }
    if (inner && inner->stride == 1 && p.few) {
      set_columns();
      const std::int64_t stretch = p.rows * p.columns;
      const std::int64_t longest =
          p.rows > tuning::most_few_rows ? tuning::longest_shared_middle : tuning::longest_shared_middle_of_few_rows;
      if (k.inputs == 1 && outer && stretch <= longest / k.element_bytes && p.stride == p.columns &&
          p.plane == stretch) {
        p.kernel = shape_kernel::shared_middle;
        return p;
      }
      choose_columns(k, address, device, p);
      return p;
    }
  }
  p.along = vector_axis_of(k, address, l);
  if (known && inner && l.reduced_rank == 2 && p.few) choose_two_axes(k, l, p);
  return p;
}

}  // namespace coalesce::detail
