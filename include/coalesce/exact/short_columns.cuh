// Many columns, quickly: a thread adds 16 bytes' worth of neighbouring columns to windows in registers (as in
// short_rows.cuh), several threads and blocks share the rows. Columns whose sum the windows do not hold are listed, and
// added with bins by later launches.
#pragma once

#include <coalesce/exact/short_rows.cuh>
#include <coalesce/exact/threads.cuh>

namespace coalesce::exact {

// (high:low), signed, times 2^exponent.
struct window_sum {
  unsigned long long low, high;
  int exponent, failed;
};

__device__ __forceinline__ window_sum together(window_sum a, window_sum b) {
  if (a.failed | b.failed) return {0, 0, 0, 1};
  if ((a.low | a.high) == 0) return b;
  if ((b.low | b.high) == 0) return a;
  if (a.exponent < b.exponent) {
    const window_sum other = a;
    a = b;
    b = other;
  }
  const int up = a.exponent - b.exponent;
  if (up > 0) {
    const unsigned long long sign = a.high >> 63 ? ~0ull : 0ull;
    if (up > 60 || (a.high ^ sign) >> (62 - up) != 0) return {0, 0, 0, 1};  // a bit is left for the carry
    a.high = a.high << up | a.low >> (64 - up);
    a.low <<= up;
  }
  a.exponent = b.exponent;
  const unsigned long long low = a.low + b.low;
  a.high += b.high + (low < b.low ? 1 : 0);
  a.low = low;
  // Of two numbers that need no more than 127 bits each: only the sum's top bits can be too many.
  const unsigned long long top = a.high >> 62;
  a.failed = top == 1 || top == 2;
  return a;
}

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
  constexpr int threads = 256, width = Input::width, loads = 4;
  __shared__ window_sum part[threads];
  const int t = static_cast<int>(threadIdx.x), across = problem.across, slices = problem.slices;
  const int x = t % across, y = t / across, members = threads / across;
  const std::int64_t group = blockIdx.x / slices;
  const int slice = static_cast<int>(blockIdx.x % slices);
  const std::int64_t r = (group * across + x) * width;
  const bool works = r < problem.results;
  const auto high = [](double d) { return static_cast<unsigned>(__double2hiint(d)); };
  const auto low = [](double d) { return static_cast<unsigned>(__double2loint(d)); };
  places::pair begin{0, 0};
  if (works) begin = problem.where.begin(r);
  const Input in = problem.in.from(begin.first, begin.second);
  const axis along = problem.where.layout.reduced[0];
  double first[width] = {}, second[width] = {}, first_start = 0, second_start = 0;
  unsigned moved = 0, over = 0;
  const std::int64_t start = static_cast<std::int64_t>(slice) * members + y;
  const std::int64_t step = static_cast<std::int64_t>(slices) * members;
  const std::int64_t count = works ? problem.count : 0;
  for (std::int64_t j = start; j < count; j += loads * step) {
    typename Input::vector flying[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const std::int64_t at = j + u * step;
      flying[u] = {};
      if (at < count) flying[u] = in.from(at * along.stride, at * along.other).load(0);
    }
    if (j == start) {
      unsigned largest = 0;
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        Input::numbers(flying[u], [&](auto p, auto q) {
          largest = ::max(largest, ::max(high(as_double(p)) & 0x7fffffffu, high(as_double(q)) & 0x7fffffffu));
        });
      }
      const int exponent = ::max(static_cast<int>(largest >> 20) + 12, 41);  // room for 2^11 of them
      const bool off = exponent > 2040;
      first_start = __hiloint2double(off ? 0 : exponent << 20 | 0x80000, 0);
      second_start = __hiloint2double(off ? 0 : (exponent - 40) << 20 | 0x80000, 0);
#pragma unroll
      for (int k = 0; k < width; ++k) {
        first[k] = first_start;
        second[k] = second_start;
      }
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      int k = 0;
      const auto put = [&](double v) {
        const double a = __dadd_rn(first[k], v), rest = __dsub_rn(v, __dsub_rn(a, first[k]));
        const double b = __dadd_rn(second[k], rest), none = __dsub_rn(rest, __dsub_rn(b, second[k]));
        first[k] = a;
        second[k] = b;
        moved |= (high(a) ^ high(first_start)) | (high(b) ^ high(second_start));
        over |= high(none) | low(none);
        ++k;
      };
      Input::numbers(flying[u], [&](auto p, auto q) {
        put(as_double(p));
        put(as_double(q));
      });
    }
  }
  const int failed = ((moved & 0x7ff00000u) | over) != 0;
  const auto finish = [&](std::int64_t result, const window_sum& sum) {
    if (sum.failed) {
      const unsigned at = atomicAdd(problem.listed, 1u);
      if (at < most_columns_listed) problem.list[at] = result;
      return;
    }
    const bool negative = sum.high >> 63 != 0, zero = (sum.high | sum.low) == 0;
    head number{negative ? ~sum.high + (sum.low == 0 ? 1 : 0) : sum.high, negative ? ~sum.low + 1 : sum.low,
                sum.exponent, negative, false};
    unsigned flags = something;
    if (zero) {  // of which sign?
      flags = 0;
      const auto at = problem.where.begin(result);
      const Input column = problem.in.from(at.first, at.second);
      for (std::int64_t j = 0; j < problem.count && !(flags & something); ++j) {
        flags |= column.flags(j * along.stride, j * along.other);
      }
    } else {
      number = aligned(number);
    }
    problem.to.out[problem.where.index(result)] = answer_of<R>(number, zero, flags, problem.to.how, problem.count);
  };
  window_sum* mine = problem.left + static_cast<std::int64_t>(blockIdx.x) * across * width;
#pragma unroll
  for (int k = 0; k < width; ++k) {
    const long long upper = __double_as_longlong(first[k]) - __double_as_longlong(first_start);
    const long long lower = __double_as_longlong(second[k]) - __double_as_longlong(second_start);
    window_sum sum{static_cast<unsigned long long>(upper) << 40, static_cast<unsigned long long>(upper >> 24),
                   static_cast<int>(high(second_start) >> 20) - 1023 - 52, failed};
    sum.low += static_cast<unsigned long long>(lower);
    sum.high +=
        static_cast<unsigned long long>(lower >> 63) + (sum.low < static_cast<unsigned long long>(lower) ? 1 : 0);
    if (start >= count) sum = {0, 0, 0, 0};
    __syncthreads();
    part[t] = sum;
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
  for (int c = t; c < across * width; c += threads) {
    const std::int64_t result = group * across * width + c;
    if (result >= problem.results) break;
    window_sum sum{0, 0, 0, 0};
    for (int s = 0; s < slices; ++s) {
      const window_sum* other = problem.left + (group * slices + s) * across * width + c;
      sum =
          together(sum, {__ldcg(&other->low), __ldcg(&other->high), __ldcg(&other->exponent), __ldcg(&other->failed)});
    }
    finish(result, sum);
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

// Behind all that look at the list. (A template, as kernels in headers have to be.)
template <class Count>
__global__ void empty_list(Count* const listed) {
  *listed = 0;
}

}  // namespace coalesce::exact
