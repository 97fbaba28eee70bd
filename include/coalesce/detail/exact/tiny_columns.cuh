// Columns of which there are many, quickly: a thread adds `Width` neighbouring columns from top to bottom, in
// registers, and rounds them; threads tell each other nothing. Width is 16 bytes' worth of short columns, or 1 where
// rows do not begin at multiples of 16 bytes. As in short_columns.cuh, columns that do not fit are listed.
#pragma once

#include <coalesce/detail/exact/short_columns.cuh>

namespace coalesce::detail::exact {

// Neighbouring elements of a row.
template <class Input, int Width>
struct neighbours {
  using number = typename Input::number;
  using vector = std::conditional_t<Width == 1, number, uint4>;
  static __device__ __forceinline__ vector request(const Input& in) {
    if constexpr (Width == 1)
      return in.at(0, 0);
    else
      return in.load_aligned(0);
  }
  static __device__ __forceinline__ void unpack(const vector& v, number (&x)[Width]) {
    if constexpr (Width == 1) {
      x[0] = v;
    } else {
      int k = 0;
      Input::numbers(v, [&](number a, number b) {
        x[k++] = a;
        x[k++] = b;
      });
    }
  }
};
__device__ __forceinline__ unsigned magnitude(float x) { return __float_as_uint(x) & 0x7fffffffu; }
__device__ __forceinline__ unsigned magnitude(double x) { return high(x) & 0x7fffffffu; }

// A column from memory once more, with all windows. Rarely gone.
template <class Input, class R>
__device__ __forceinline__ void column_again(const short_column_sums<Input, R>& problem, std::int64_t r) {
  const std::int64_t stride = problem.where.layout.reduced[0].stride;
  const Input column = problem.in.from(problem.where.begin(r).first, 0);
  constexpr int parts = windows_for<typename Input::number>;
  unsigned most = 0;
  for (std::int64_t j = 0; j < problem.count; ++j) most = ::max(most, magnitude(column.at(j * stride, 0)));
  window_places<parts> places;
  places.set(field_of<Input>(most), 34 - __clz(static_cast<int>(problem.count)));
  window_losses losses;
  windows<parts> sum;
  sum.begin(places);
  for (std::int64_t j = 0; j < problem.count; ++j) sum.put(as_double(column.at(j * stride, 0)), places, losses);
  long long part[parts];
#pragma unroll
  for (int i = 0; i < parts; ++i) part[i] = sum.part(i, places);
  finish_column(problem, r, total_of(part, places.exponent(), losses.any()));
}

// Up to so many rows are in registers all at once.
inline constexpr int few_rows = 8;

// A thread's columns of at most few_rows, added one to the other in Number: false if that is not exact. Of -0s only the
// sum is -0.
template <class Number, class Input, int Width>
__device__ __forceinline__ bool add_few(const typename neighbours<Input, Width>::vector (&rows)[few_rows], int count,
                                        Number (&sum)[Width]) {
  bool inexact = false;
  const auto each = [&](int u, auto body) {
    typename Input::number x[Width];
    neighbours<Input, Width>::unpack(rows[u], x);
#pragma unroll
    for (int k = 0; k < Width; ++k) {
      if constexpr (sizeof(Number) == 8)
        body(k, as_double(x[k]));
      else
        body(k, x[k]);
    }
  };
  each(0, [&](int k, Number x) { sum[k] = x; });
#pragma unroll
  for (int u = 1; u < few_rows; ++u) {
    if (u < count) each(u, [&](int k, Number x) { sum[k] = exact_pair(sum[k], x, inexact); });
  }
  return !inexact;
}

// More rows: windows, of all of a thread's columns at the same places.
template <class Input, int Width>
struct tiny_columns {
  using number = typename Input::number;
  static constexpr bool is_half = std::is_same_v<typename Input::element, __half>,
                        is_bfloat16 = std::is_same_v<typename Input::element, __nv_bfloat16>;
  static constexpr int parts = is_half ? 1 : windows_at_first<number>;
  window_places<parts> places;
  window_losses losses;
  windows<parts> sum[Width];

  __device__ __forceinline__ void place(unsigned most, int count) {
    if constexpr (is_half) {
      // Halves are multiples of 2^-24 below 2^16: a double holds the sum of 2^13 of them.
#pragma unroll
      for (int k = 0; k < Width; ++k) sum[k].at[0] = 0;
    } else {
      places.set(field_of<Input>(most), 34 - __clz(count));
#pragma unroll
      for (int k = 0; k < Width; ++k) sum[k].begin(places);
    }
  }
  __device__ __forceinline__ void put(int k, double x) {
    if constexpr (is_half)
      sum[k].at[0] = __dadd_rn(sum[k].at[0], x);
    else
      sum[k].put(x, places, losses);
  }
  // Two rows.
  __device__ __forceinline__ void add(const number (&x)[Width], const number (&y)[Width]) {
    if constexpr (is_bfloat16) {
      bool inexact = false;
      number both[Width];
#pragma unroll
      for (int k = 0; k < Width; ++k) both[k] = exact_pair(x[k], y[k], inexact);
      if (!inexact) {
#pragma unroll
        for (int k = 0; k < Width; ++k) put(k, as_double(both[k]));
        return;
      }
    }
#pragma unroll
    for (int k = 0; k < Width; ++k) {
      put(k, as_double(x[k]));
      put(k, as_double(y[k]));
    }
  }
  // Rounded; false if the sum was not held, or is 0, whose sign the windows do not hold.
  template <class R>
  __device__ __forceinline__ bool result(int k, R& result) const {
    if constexpr (parts == 1) {
      const double value = is_half ? sum[k].at[0] : __dsub_rn(sum[k].at[0], window_at(places.place[0]));
      narrowed(value, result);
      return !losses.any() && value != 0 && fabs(value) < 0x1p1000;
    } else {
      long long part[parts];
#pragma unroll
      for (int i = 0; i < parts; ++i) part[i] = sum[k].part(i, places);
      const window_sum total = total_of(part, places.exponent(), losses.any());
      if (total.failed || (total.low | total.high) == 0) return false;
      result = window_result<R>(total.low, total.high, total.exponent, reading::sum, 1);
      return true;
    }
  }
};

template <bool Few, int Width, class Input, class R>
__global__ void __launch_bounds__(256, Width == 1 ? 4 : 3) sum_tiny_columns(const short_column_sums<Input, R> problem) {
  using beside = neighbours<Input, Width>;
  using number = typename Input::number;
  constexpr int loads = Few ? few_rows : Width == 1 ? (sizeof(number) == 8 ? 8 : 16) : 4;
  detail::wait_for_stream();
  const std::int64_t stride = problem.where.layout.reduced[0].stride, groups = problem.results / Width;
  const int count = static_cast<int>(problem.count);
  for (std::int64_t g = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; g < groups;
       g += static_cast<std::int64_t>(gridDim.x) * 256) {
    const std::int64_t r = g * Width;
    Input here = problem.in.from(problem.where.begin(r).first, 0);
    typename beside::vector rows[loads];
    const auto request = [&](bool is_there) {
      typename beside::vector row{};
      if (is_there) row = beside::request(here);
      here = here.from(stride, 0);
      return row;
    };
#pragma unroll
    for (int u = 0; u < loads; ++u) rows[u] = request(u < count);
    alignas(16) R result[Width];
    bool held = problem.to.how == reading::sum;
    if constexpr (Few) {
      const auto added = [&](auto zero) {
        decltype(zero) sum[Width];
        const bool exact = add_few<decltype(zero), Input, Width>(rows, count, sum);
#pragma unroll
        for (int k = 0; k < Width; ++k) narrowed(sum[k], result[k]);
        return exact;
      };
      if constexpr (sizeof(typename Input::element) == 2)
        held = held && (added(0.0f) || added(0.0));
      else
        held = held && added(0.0);
    } else {
      unsigned most = 0;
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        number x[Width];
        beside::unpack(rows[u], x);
#pragma unroll
        for (int k = 0; k < Width; ++k) most = ::max(most, magnitude(x[k]));
      }
      tiny_columns<Input, Width> sums;
      sums.place(most, count);
      int left = count;
      const auto tile = [&](auto is_there) {
#pragma unroll
        for (int u = 0; u < loads; u += 2) {
          number x[Width], y[Width];
          beside::unpack(rows[u], x);
          beside::unpack(rows[u + 1], y);
          rows[u] = request(is_there(u));
          rows[u + 1] = request(is_there(u + 1));
          sums.add(x, y);
        }
        left -= loads;
      };
#pragma unroll 1
      while (left >= 2 * loads) tile([](int) { return true; });
#pragma unroll 1
      while (left > 0) tile([&](int u) { return loads + u < left; });
#pragma unroll
      for (int k = 0; k < Width; ++k) held = sums.result(k, result[k]) && held;
    }
    if (!held) {
#pragma unroll 1
      for (int k = 0; k < Width; ++k) column_again(problem, r + k);
      continue;
    }
    if (Width * sizeof(R) % 16 == 0 && problem.whole_out) {
      uint4 words[Width * sizeof(R) / 16 + 1];
      memcpy(words, result, sizeof(result));
      uint4* const out = reinterpret_cast<uint4*>(problem.to.out + problem.where.layout.kept_index + r);
#pragma unroll
      for (int i = 0; i < static_cast<int>(Width * sizeof(R) / 16); ++i) out[i] = words[i];
    } else {
      const std::int64_t index = problem.where.index(r);
#pragma unroll
      for (int k = 0; k < Width; ++k) problem.to.out[index + k] = result[k];
    }
  }
}

}  // namespace coalesce::detail::exact
