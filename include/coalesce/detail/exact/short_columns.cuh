// Many columns, quickly: a thread adds 16 bytes' worth of neighbouring columns in registers (windows.cuh); where there
// are few of them, several threads and blocks share the rows. Columns that do not fit are listed, and added with bins
// by later launches.
#pragma once

#include <coalesce/detail/exact/rows.cuh>
#include <coalesce/detail/exact/thread_per_result.cuh>
#include <coalesce/detail/exact/windows.cuh>

namespace coalesce::detail::exact {

// A thread's columns: `width` sums, with `loads` rows in flight. `blocks` fit a multiprocessor. The figures are
// measured.
template <class Input>
struct window_columns {
  using element = typename Input::element;
  static constexpr bool is_bfloat16 = std::is_same_v<Input, elements<__nv_bfloat16>>;
  static constexpr int width = Input::width, loads = Input::products ? 4 : 8, blocks = 2;
  static constexpr int parts = windows_for<typename Input::number> - (is_bfloat16 ? 1 : 0);
  window_places<parts> places;
  window_losses losses;
  windows<parts> sum[width];

  // Places the windows for numbers whose exponent is at most that of `most`, the largest number's bits. 2^13 of them
  // fit.
  __device__ __forceinline__ void place(unsigned most) {
    places.set(field_of<Input>(most), 14);
#pragma unroll
    for (int k = 0; k < width; ++k) sum[k].begin(places);
  }
  static __device__ __forceinline__ unsigned largest(const typename Input::vector (&rows)[loads]) {
    unsigned most = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) look_at<Input>(rows[u], most);
    return most;
  }
  __device__ __forceinline__ void add(const typename Input::vector& row) {
    int k = 0;
    Input::numbers(row, [&](auto x, auto y) {
      put(x, k++);
      put(y, k++);
    });
  }
  template <class Number>
  __device__ __forceinline__ void put(Number x, int k) {
    sum[k].put(as_double(x), places, losses);
  }
  __device__ __forceinline__ long long part(int k, int i) const { return sum[k].part(i, places); }
  __device__ __forceinline__ bool failed() const { return losses.any(); }
  static __device__ __forceinline__ int exponent(unsigned most) {
    window_places<parts> there;
    there.set(field_of<Input>(most), 14);
    return there.exponent();
  }
};

template <>
struct window_columns<elements<__half>> {
  static constexpr int width = 8, loads = 8, blocks = 2, parts = 1;
  double sum[width] = {};
  int rows_added = 0;

  __device__ __forceinline__ void place(unsigned) {}
  static __device__ __forceinline__ unsigned largest(const uint4 (&)[loads]) { return 0; }
  __device__ __forceinline__ void add(const uint4& row) {
    ++rows_added;
    int k = 0;
    elements<__half>::numbers(row, [&](float x, float y) {
      sum[k] = __dadd_rn(sum[k], widened(x));
      sum[k + 1] = __dadd_rn(sum[k + 1], widened(y));
      k += 2;
    });
  }
  __device__ __forceinline__ long long part(int k, int) const { return static_cast<long long>(sum[k] * 0x1p24); }
  __device__ __forceinline__ bool failed() const {
    bool fits = rows_added <= 8192;
#pragma unroll
    for (int k = 0; k < width; ++k) fits = fits && fabs(sum[k]) < 0x1p40;
    return !fits;
  }
  static __device__ __forceinline__ int exponent(unsigned) { return -24; }
};

template <class Input, class R>
struct short_column_sums {
  Input in;
  result_to<R> to;
  places where;
  std::int64_t results, count;
  int across, splits;  // vectors of a block side by side; blocks that share them
  window_sum* left;    // of each block: across * width
  unsigned* tickets;   // one for each group of blocks
  std::int64_t* list;
  unsigned* listed;
  bool whole_out;  // whether neighbouring columns' results lie side by side, from a multiple of 16 bytes on
};

// More than so many columns that do not fit are not listed: all are added again.
inline constexpr std::int64_t most_columns_listed = 1024;

// Writes a column's sum, or lists the column.
template <class Input, class R>
__device__ __forceinline__ void finish_column(const short_column_sums<Input, R>& problem, std::int64_t result,
                                              const window_sum& sum) {
  if (sum.failed) {
    const unsigned at = atomicAdd(problem.listed, 1u);
    if (at < most_columns_listed) problem.list[at] = result;
    return;
  }
  R rounded;
  if ((sum.high | sum.low) == 0) {  // the elements say which zero
    unsigned flags = 0;
    const axis& along = problem.where.layout.reduced[0];
    const auto at = problem.where.begin(result);
    const Input column = problem.in.from(at.first, at.second);
    for (std::int64_t j = 0; j < problem.count && !(flags & something); ++j) {
      flags |= column.flags(j * along.stride, j * along.other);
    }
    rounded = result_of<R>(head{}, true, flags, problem.to.how, problem.count);
  } else {
    rounded = window_result<R>(sum.low, sum.high, sum.exponent, problem.to.how, problem.count);
  }
  problem.to.out[problem.where.index(result)] = rounded;
}

template <class Input, class R>
__global__ void __launch_bounds__(256, window_columns<Input>::blocks)
    sum_short_columns(const short_column_sums<Input, R> problem) {
  using columns = window_columns<Input>;
  detail::wait_for_stream();
  constexpr int threads = 256, width = Input::width, loads = columns::loads, parts = columns::parts;
  constexpr int pitch = threads + 1;                               // so that a column's parts lie in different banks
  constexpr int at_once = width * parts > 20 ? width / 2 : width;  // of a thread's columns, in 48 KB of shared memory
  __shared__ union {
    long long of_member[at_once * parts * pitch];
    window_sum of_split[threads];
  } room;
  __shared__ unsigned most_of[threads], failed_of[threads];
  const int t = static_cast<int>(threadIdx.x), across = problem.across, splits = problem.splits;
  const int x = t % across, y = t / across, members = threads / across;
  const std::int64_t group = blockIdx.x / splits;
  const int split = static_cast<int>(blockIdx.x % splits);
  const std::int64_t r = (group * across + x) * width;
  const bool works = r < problem.results;
  places::pair begin{0, 0};
  if (works) begin = problem.where.begin(r);
  const Input in = problem.in.from(begin.first, begin.second);
  const axis along = problem.where.layout.reduced[0];
  columns sums;
  const std::int64_t start = static_cast<std::int64_t>(split) * members + y;
  const std::int64_t step = static_cast<std::int64_t>(splits) * members;
  const std::int64_t count = works ? problem.count : 0;
  // A thread's rows, one after the other; zeros stand for missing rows.
  std::int64_t left = start < count ? (count - start + step - 1) / step : 0;
  Input here = in.from(start * along.stride, start * along.other);
  const std::int64_t next = step * along.stride, other_next = step * along.other;
  typename Input::vector rows[loads];
  const auto request = [&](bool is_there) {
    typename Input::vector row{};
    if (is_there) row = here.load_aligned(0);
    here = here.from(next, other_next);
    return row;
  };
#pragma unroll
  for (int u = 0; u < loads; ++u) rows[u] = request(u < left);
  // All threads of a column place their windows alike, so that their parts add up as integers.
  most_of[t] = failed_of[t] = 0;
  __syncthreads();
  atomicMax(&most_of[x], columns::largest(rows));
  __syncthreads();
  const unsigned most = most_of[x];
  sums.place(most);
  const auto tile = [&](auto is_there) {
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      sums.add(rows[u]);
      rows[u] = request(is_there(u));
    }
    left -= loads;
  };
  while (left >= 2 * loads) tile([](int) { return true; });
  while (left > 0) tile([&](int u) { return loads + u < left; });
  // The sums of a column's threads combine by shuffles within a warp, then in shared memory.
  const int lanes = across < 32 ? across : 32, entries = threads / 32 * lanes, entry = t / 32 * lanes + t % 32;
  window_sum* mine = problem.left + static_cast<std::int64_t>(blockIdx.x) * across * width;
  const std::int64_t first_result = group * across * width;
  if (sums.failed()) failed_of[x] = 1;
#pragma unroll
  for (int from = 0; from < width; from += at_once) {
    if (from > 0) __syncthreads();
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
#pragma unroll
      for (int i = 0; i < parts; ++i) {
        long long part = sums.part(from + k, i);
        for (int distance = 16; distance >= lanes; distance /= 2) part += __shfl_xor_sync(~0u, part, distance);
        if (t % 32 < lanes) room.of_member[(k * parts + i) * pitch + entry] = part;
      }
    }
    __syncthreads();
    // Each thread then takes a column.
#pragma unroll 1
    for (int i = t; i < across * at_once; i += threads) {
      const int of = i / at_once, k = i % at_once, c = of * width + from + k;
      if (first_result + c >= problem.results) break;
      long long part[parts] = {};
      for (int e = of; e < entries; e += across) {
#pragma unroll
        for (int j = 0; j < parts; ++j) part[j] += room.of_member[(k * parts + j) * pitch + e];
      }
      const window_sum sum = total_of(part, columns::exponent(most_of[of]), failed_of[of] != 0);
      if (splits == 1)
        finish_column(problem, first_result + c, sum);
      else
        mine[c] = sum;
    }
  }
  if (splits == 1 || !detail::last_block(problem.tickets + group, static_cast<unsigned>(splits))) return;
  // Teams of threads share the columns.
  const int wide = across * width < threads ? across * width : threads, teams = threads / wide;
  for (int first = 0; first < across * width; first += wide) {
    const int c = first + t % wide, team = t / wide;
    const std::int64_t result = first_result + c;
    window_sum sum{0, 0, 0, 0};
    if (result < problem.results) {
      for (int s = team; s < splits; s += teams) {
        const window_sum* other = problem.left + (group * splits + s) * across * width + c;
        const uint4 digits = __ldcg(reinterpret_cast<const uint4*>(other)),
                    rest = __ldcg(reinterpret_cast<const uint4*>(other) + 1);
        window_sum one;
        memcpy(&one, &digits, 16);
        memcpy(reinterpret_cast<char*>(&one) + 16, &rest, 16);
        sum = together(sum, one);
      }
    }
    __syncthreads();
    room.of_split[t] = sum;
    for (int half = teams / 2; half > 0; half /= 2) {
      __syncthreads();
      if (team < half) room.of_split[t] = together(room.of_split[t], room.of_split[t + half * wide]);
    }
    if (team == 0 && result < problem.results) finish_column(problem, result, room.of_split[t]);
  }
}

// The columns of the list, one by one.
struct listed_columns {
  places where;
  const std::int64_t* list;
  const unsigned* listed;
  __device__ __forceinline__ rows_of_layout::row at(std::int64_t i) const {
    return {where.begin(list[i]), where.layout.reduced_count, where.index(list[i])};
  }
  __device__ __forceinline__ places::pair element(std::int64_t j) const { return where.element(j); }
  __device__ __forceinline__ bool left_for_blocks(const rows_of_layout::row&, bool) const { return false; }
  __device__ __forceinline__ std::int64_t count(std::int64_t) const {
    return *listed > most_columns_listed ? 0 : static_cast<std::int64_t>(*listed);
  }
  __device__ __forceinline__ void done() const {}
};

}  // namespace coalesce::detail::exact
