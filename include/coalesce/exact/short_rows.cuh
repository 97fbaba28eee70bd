// Many rows, quickly: a group of 1 to 32 lanes takes a row, and its numbers go to two windows in registers, without
// bins and without shared memory. Where the windows do not hold a row exactly (it spans too many powers of two, or has
// an infinity or NaN), the group lists it, and sum_rows adds the listed rows in a second launch.
//
// The first window begins at the row's first elements' largest exponent plus what their count needs, the second 40
// powers of two below: together some 75 bits, into which a float fits down to 2^-50 of the largest, a double down to
// 2^-22.
#pragma once

#include <coalesce/exact/rows.cuh>

namespace coalesce::exact {

__device__ __forceinline__ double as_double(float x) { return widened(x); }
__device__ __forceinline__ double as_double(double x) { return x; }

template <class Input, class Rows, class R>
struct short_row_sums {
  Input in;
  answer_to<R> to;
  Rows rows;
  std::int64_t results;
  int lanes;           // of a group
  std::int64_t* list;  // rows that did not fit, the first of `listed`
  unsigned* listed;
};

// The list's room. Where more rows do not fit, all are added again.
inline constexpr std::int64_t most_listed = 1 << 18;

template <bool Vectors, class Input, class Rows, class R>
__global__ void __launch_bounds__(256, 4) sum_short_rows(const short_row_sums<Input, Rows, R> problem) {
  constexpr int loads = Vectors ? 4 : 8, width = Vectors ? Input::width : 1;
  const int lanes = problem.lanes, lane = static_cast<int>(threadIdx.x) % 32, member = lane % lanes;
  const std::int64_t group = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / lanes;
  const std::int64_t groups = static_cast<std::int64_t>(gridDim.x) * blockDim.x / lanes;
  const auto high = [](double d) { return static_cast<unsigned>(__double2hiint(d)); };
  const auto low = [](double d) { return static_cast<unsigned>(__double2loint(d)); };
  const std::int64_t turns = detail::ceil_div(problem.results, groups);
  for (std::int64_t turn = 0; turn < turns; ++turn) {  // the same for all lanes of a warp
    const std::int64_t r = turn * groups + group;
    const bool works = r < problem.results;
    const auto row = works ? problem.rows.at(r) : rows_of_layout::row{{0, 0}, 0, 0};
    const Input in = problem.in.from(row.begin.first, row.begin.second);
    const bool too_long = problem.rows.left_for_blocks(row, false);
    const std::int64_t tiles = too_long ? 0 : row.count / width;
    double first = 0, second = 0, first_start = 0, second_start = 0;
    unsigned moved = 0, left = 0;
    const auto put = [&](double x) {
      const double t = __dadd_rn(first, x), rest = __dsub_rn(x, __dsub_rn(t, first));
      const double u = __dadd_rn(second, rest), over = __dsub_rn(rest, __dsub_rn(u, second));
      first = t;
      second = u;
      moved |= (high(t) ^ high(first_start)) | (high(u) ^ high(second_start));
      left |= high(over) | low(over);
    };
    for (std::int64_t i = member; __any_sync(~0u, i - member < tiles); i += static_cast<std::int64_t>(loads) * lanes) {
      std::conditional_t<Vectors, typename Input::vector, typename Input::number> flying[loads];
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        flying[u] = {};
        const std::int64_t at = i + static_cast<std::int64_t>(u) * lanes;
        if (at < tiles) {
          if constexpr (Vectors)
            flying[u] = in.load(at * width);
          else
            flying[u] = in.at(at, at);
        }
      }
      const auto each = [&](auto body) {
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          if constexpr (Vectors) {
            Input::numbers(flying[u], [&](auto x, auto y) {
              body(as_double(x));
              body(as_double(y));
            });
          } else {
            body(as_double(flying[u]));
          }
        }
      };
      if (i == member) {  // the first tile places the windows
        unsigned largest = 0;
        each([&](double x) { largest = ::max(largest, high(x) & 0x7fffffffu); });
        for (int step = lanes / 2; step > 0; step /= 2) largest = ::max(largest, __shfl_xor_sync(~0u, largest, step));
        const int room = 34 - __clz(static_cast<int>(::min(row.count, static_cast<std::int64_t>(1 << 20)) | 1));
        const int exponent = ::max(static_cast<int>(largest >> 20) + room, 41);
        const bool off = exponent > 2040;
        first = first_start = __hiloint2double(off ? 0 : exponent << 20 | 0x80000, 0);
        second = second_start = __hiloint2double(off ? 0 : (exponent - 40) << 20 | 0x80000, 0);
      }
      each(put);
    }
    long long upper = __double_as_longlong(first) - __double_as_longlong(first_start);
    long long lower = __double_as_longlong(second) - __double_as_longlong(second_start);
    unsigned failed = (moved & 0x7ff00000u) | left;
    unsigned flags = upper != 0 || lower != 0 ? something : 0;
    for (int step = lanes / 2; step > 0; step /= 2) {
      upper += __shfl_xor_sync(~0u, upper, step);
      lower += __shfl_xor_sync(~0u, lower, step);
      failed |= __shfl_xor_sync(~0u, failed, step);
      flags |= __shfl_xor_sync(~0u, flags, step);
    }
    if (!works || member != 0) continue;
    if (too_long) {
      problem.rows.left_for_blocks(row, true);
      continue;
    }
    if (failed != 0) {
      const unsigned at = atomicAdd(problem.listed, 1u);
      if (at < most_listed) problem.list[at] = r;
      continue;
    }
    if (flags == 0) {  // zeros: of which sign?
      for (std::int64_t j = 0; j < row.count && !(flags & something); ++j) flags |= in.flags(j, j);
    }
    // upper * 2^40 + lower, in units of the second window's last bit.
    unsigned long long digits = static_cast<unsigned long long>(upper) << 40;
    unsigned long long top = static_cast<unsigned long long>(upper >> 24);
    digits += static_cast<unsigned long long>(lower);
    top += static_cast<unsigned long long>(lower >> 63) + (digits < static_cast<unsigned long long>(lower) ? 1 : 0);
    head number{};
    number.negative = top >> 63 != 0;
    number.high = number.negative ? ~top + (digits == 0 ? 1 : 0) : top;
    number.low = number.negative ? ~digits + 1 : digits;
    number.exponent = static_cast<int>(high(second_start) >> 20) - 1023 - 52;
    const bool zero = (number.high | number.low) == 0;
    if (!zero) number = aligned(number);
    problem.to.out[row.index] = answer_of<R>(number, zero, flags, problem.to.how, row.count);
  }
}

// The rows of the list.
template <class Rows>
struct listed_rows {
  Rows rows;
  const std::int64_t* list;
  unsigned *listed, *ticket;
  __device__ __forceinline__ rows_of_layout::row at(std::int64_t i) const {
    return rows.at(*listed > most_listed ? i : list[i]);
  }
  __device__ __forceinline__ places::pair element(std::int64_t j) const { return rows.element(j); }
  __device__ __forceinline__ bool left_for_blocks(const rows_of_layout::row& row, bool) const {
    return rows.left_for_blocks(row, false);
  }
  __device__ __forceinline__ std::int64_t count(std::int64_t results) const {
    const unsigned many = *listed;
    return many > most_listed ? results : many;
  }
  __device__ __forceinline__ void done() const {  // the next call finds an empty list
    if (detail::last_block(ticket, gridDim.x) && threadIdx.x == 0) *listed = 0;
  }
};

}  // namespace coalesce::exact
