// Many columns, quickly: a thread adds 16 bytes' worth of neighbouring columns in registers (quick.cuh); where there
// are few of them, several threads and blocks share the rows. Columns that do not fit are listed, and added with bins
// by later launches.
#pragma once

#include <coalesce/exact/quick.cuh>
#include <coalesce/exact/rows.cuh>
#include <coalesce/exact/threads.cuh>

namespace coalesce::exact {

// A thread's columns: `width` sums, of `loads` rows that are under way, added `at_once` at a time.
template <class Input>
struct quick_columns {
  static constexpr bool by_fours = std::is_same_v<Input, elements<__nv_bfloat16>>;  // are added in float first
  static constexpr int width = Input::width, loads = 4, at_once = by_fours ? 4 : 1;
  static constexpr int parts = windows_for<typename Input::number>;
  window_places<parts> places;
  window_losses losses;
  windows<parts> sum[width];

  __device__ __forceinline__ void place(const typename Input::vector (&rows)[loads]) {
    unsigned most = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) look_at<Input>(rows[u], most);
    places.set(field_of<Input>(most), 14);  // room for 2^13 of the first rows' largest
#pragma unroll
    for (int k = 0; k < width; ++k) sum[k].begin(places);
  }
  __device__ __forceinline__ void add(const typename Input::vector (&rows)[at_once]) {
    if constexpr (by_fours) {
      const auto four = [&](float a, float b, float c, float d, int k) {
        bool inexact = false;
        const float x = exact_pair(exact_pair(a, b, inexact), exact_pair(c, d, inexact), inexact);
        put(inexact ? a : x, k);
        if (inexact) {
          put(b, k);
          put(c, k);
          put(d, k);
        }
      };
      const auto two = [&](unsigned a, unsigned b, unsigned c, unsigned d, int k) {
        const float2 p = both(a, __nv_bfloat16()), q = both(b, __nv_bfloat16()), r = both(c, __nv_bfloat16()),
                     s = both(d, __nv_bfloat16());
        four(p.x, q.x, r.x, s.x, k);
        four(p.y, q.y, r.y, s.y, k + 1);
      };
      two(rows[0].x, rows[1].x, rows[2].x, rows[3].x, 0);
      two(rows[0].y, rows[1].y, rows[2].y, rows[3].y, 2);
      two(rows[0].z, rows[1].z, rows[2].z, rows[3].z, 4);
      two(rows[0].w, rows[1].w, rows[2].w, rows[3].w, 6);
    } else {
      int k = 0;
      Input::numbers(rows[0], [&](auto x, auto y) {
        put(x, k++);
        put(y, k++);
      });
    }
  }
  template <class Number>
  __device__ __forceinline__ void put(Number x, int k) {
    sum[k].put(as_double(x), places, losses);
  }
  __device__ __forceinline__ window_sum result(int k) const {
    long long part[parts];
#pragma unroll
    for (int i = 0; i < parts; ++i) part[i] = sum[k].part(i, places);
    return total_of(part, places.exponent(), losses.any());
  }
};

template <>
struct quick_columns<elements<__half>> {
  static constexpr int width = 8, loads = 4, at_once = 1;
  double sum[width] = {};
  int rows_added = 0;

  __device__ __forceinline__ void place(const uint4 (&)[loads]) {}
  __device__ __forceinline__ void add(const uint4 (&rows)[1]) {
    ++rows_added;
    int k = 0;
    elements<__half>::numbers(rows[0], [&](float x, float y) {
      sum[k] = __dadd_rn(sum[k], widened(x));
      sum[k + 1] = __dadd_rn(sum[k + 1], widened(y));
      k += 2;
    });
  }
  __device__ __forceinline__ window_sum result(int k) const {
    const bool fits = fabs(sum[k]) < 0x1p40 && rows_added <= 8192;
    const long long part[1] = {fits ? static_cast<long long>(sum[k] * 0x1p24) : 0};
    return total_of(part, -24, !fits);
  }
};

template <class Input, class R>
struct short_column_sums {
  Input in;
  answer_to<R> to;
  places where;
  std::int64_t results, count;
  int across, slices;  // vectors of a block side by side; blocks that share them
  window_sum* left;    // of each block: across * width
  unsigned* tickets;   // one for each group of blocks
  std::int64_t* list;
  unsigned* listed;
};

// More than so many columns that do not fit are not listed: all are added again.
inline constexpr std::int64_t most_columns_listed = 1024;

template <class Input, class R>
__global__ void __launch_bounds__(256, 2) sum_short_columns(const short_column_sums<Input, R> problem) {
  using columns = quick_columns<Input>;
  constexpr int threads = 256, width = Input::width, loads = columns::loads;
  __shared__ window_sum part[threads];
  const int t = static_cast<int>(threadIdx.x), across = problem.across, slices = problem.slices;
  const int x = t % across, y = t / across, members = threads / across;
  const std::int64_t group = blockIdx.x / slices;
  const int slice = static_cast<int>(blockIdx.x % slices);
  const std::int64_t r = (group * across + x) * width;
  const bool works = r < problem.results;
  places::pair begin{0, 0};
  if (works) begin = problem.where.begin(r);
  const Input in = problem.in.from(begin.first, begin.second);
  const axis along = problem.where.layout.reduced[0];
  columns sums;
  const std::int64_t start = static_cast<std::int64_t>(slice) * members + y;
  const std::int64_t step = static_cast<std::int64_t>(slices) * members;
  const std::int64_t count = works ? problem.count : 0;
  // A thread's rows, one after the other; zeros stand for those that are not there.
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
  sums.place(rows);
  constexpr int at_once = columns::at_once;
  const auto tile = [&](auto is_there) {
#pragma unroll
    for (int u = 0; u < loads; u += at_once) {
      typename Input::vector now[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) now[i] = rows[u + i];
      sums.add(now);
#pragma unroll
      for (int i = 0; i < at_once; ++i) rows[u + i] = request(is_there(u + i));
    }
    left -= loads;
  };
  while (left >= 2 * loads) tile([](int) { return true; });
  while (left > 0) tile([&](int u) { return loads + u < left; });
  const auto finish = [&](std::int64_t result, const window_sum& sum) {
    if (sum.failed) {
      const unsigned at = atomicAdd(problem.listed, 1u);
      if (at < most_columns_listed) problem.list[at] = result;
      return;
    }
    R answer;
    if ((sum.high | sum.low) == 0) {  // of which sign?
      unsigned flags = 0;
      const auto at = problem.where.begin(result);
      const Input column = problem.in.from(at.first, at.second);
      for (std::int64_t j = 0; j < problem.count && !(flags & something); ++j) {
        flags |= column.flags(j * along.stride, j * along.other);
      }
      answer = answer_of<R>(head{}, true, flags, problem.to.how, problem.count);
    } else {
      answer = quick_answer<R>(sum.low, sum.high, sum.exponent, problem.to.how, problem.count);
    }
    problem.to.out[problem.where.index(result)] = answer;
  };
  // Column k's: loops over k are not unrolled, because what they do is long.
  const auto result = [&](int k) {
    window_sum sum{};
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if (i == k) sum = sums.result(i);
    }
    return sum;
  };
  if (members == 1 && slices == 1) {
    if (!works) return;
#pragma unroll 1
    for (int k = 0; k < width; ++k) finish(r + k, result(k));
    return;
  }
  // Members' sums meet in shared memory, a column of each thread's at a time; half of the rest adds the other half.
  window_sum* mine = problem.left + static_cast<std::int64_t>(blockIdx.x) * across * width;
#pragma unroll 1
  for (int k = 0; k < width; ++k) {
    __syncthreads();
    part[t] = start < count ? result(k) : window_sum{0, 0, 0, 0};
    for (int half = members / 2; half > 0; half /= 2) {
      __syncthreads();
      if (y < half) part[t] = together(part[t], part[t + half * across]);
    }
    if (y == 0 && works) {
      if (slices == 1)
        finish(r + k, part[t]);
      else
        mine[x * width + k] = part[t];
    }
  }
  if (slices == 1 || !detail::last_block(problem.tickets + group, static_cast<unsigned>(slices))) return;
  // As many threads to a column as there are.
  const int wide = across * width < threads ? across * width : threads, teams = threads / wide;
  for (int first = 0; first < across * width; first += wide) {
    const int c = first + t % wide, team = t / wide;
    const std::int64_t result = group * across * width + c;
    window_sum sum{0, 0, 0, 0};
    if (result < problem.results) {
      for (int s = team; s < slices; s += teams) {
        const window_sum* other = problem.left + (group * slices + s) * across * width + c;
        const uint4 digits = __ldcg(reinterpret_cast<const uint4*>(other)),
                    rest = __ldcg(reinterpret_cast<const uint4*>(other) + 1);
        window_sum one;
        memcpy(&one, &digits, 16);
        memcpy(reinterpret_cast<char*>(&one) + 16, &rest, 16);
        sum = together(sum, one);
      }
    }
    __syncthreads();
    part[t] = sum;
    for (int half = teams / 2; half > 0; half /= 2) {
      __syncthreads();
      if (team < half) part[t] = together(part[t], part[t + half * wide]);
    }
    if (team == 0 && result < problem.results) finish(result, part[t]);
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

}  // namespace coalesce::exact
