// Many rows of 8, 16 or 32 bytes, quickly: a thread takes a row, and requests several rows at once, because one row's
// bytes are too few to keep memory busy. As in short_rows.cuh, rows that do not fit windows are listed.
#pragma once

#include <coalesce/detail/exact/short_rows.cuh>

namespace coalesce::detail::exact {

// A row's elements added two by two, in Number, and whether that is not exact: of usual data it is, and it takes a
// third of what windows take. Of -0s only the sum is -0.
template <int Bytes, class T>
constexpr bool has_short_sum = Bytes <= 16 && sizeof(T) < 8;
template <class Number>
__device__ __forceinline__ Number in_width(float x) {
  if constexpr (sizeof(Number) == 8)
    return widened(x);
  else
    return x;
}
template <int Bytes, class Number>
__device__ __forceinline__ Number short_sum(const uint4& v, bool& inexact, float) {
  const auto two = [&](unsigned x, unsigned y) {
    return exact_pair(in_width<Number>(__uint_as_float(x)), in_width<Number>(__uint_as_float(y)), inexact);
  };
  const Number first = two(v.x, v.y);
  return Bytes == 8 ? first : exact_pair(first, two(v.z, v.w), inexact);
}
template <int Bytes, class Number, class T>
__device__ __forceinline__ Number short_sum(const uint4& v, bool& inexact, T) {
  const auto two = [&](unsigned w) {
    const float2 p = both(w, T());
    return exact_pair(in_width<Number>(p.x), in_width<Number>(p.y), inexact);
  };
  const Number first = exact_pair(two(v.x), two(v.y), inexact);
  return Bytes == 8 ? first : exact_pair(first, exact_pair(two(v.z), two(v.w), inexact), inexact);
}
// Rounded; false if neither float (which is enough for most of 16 bits) nor double holds it.
template <int Bytes, class T, class R>
__device__ __forceinline__ bool short_result(const uint4& v, R& result) {
  const auto added = [&](auto number) {
    bool inexact = false;
    narrowed(short_sum<Bytes, decltype(number)>(v, inexact, T()), result);
    return !inexact;
  };
  if constexpr (sizeof(T) == 2) {
    if (added(0.0f)) return true;
  }
  return added(0.0);
}

// Bytes: of a row.
template <int Bytes, class Input, class R>
__global__ void __launch_bounds__(window_threads, 4)
    sum_tiny_rows(const short_row_sums<Input, rows_of_layout, R> problem) {
  constexpr int at_once = Bytes == 8 ? 8 : Bytes == 16 ? 4 : 2, vectors = (Bytes + 15) / 16;
  using quick = lane_windows<Input, windows_at_first<typename Input::number>>;
  using all = lane_windows<Input, windows_for<typename Input::number>>;
  struct row_data {
    uint4 vector[vectors];
  };
  detail::wait_for_stream();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * window_threads;
  const int room = 34 - __clz(static_cast<int>(problem.rows.where.layout.reduced_count));  // for as many as there are
  // Rows of one axis: where they lie takes one multiplication.
  const axis& rows = problem.rows.where.layout.kept[0];
  const Input all_rows = problem.in.from(problem.rows.where.layout.offset, 0);
  R* const out = problem.to.out + problem.rows.where.layout.kept_index;
  const auto request = [&](std::int64_t r) {
    row_data row{};
    if (r < problem.results) {
      const Input in = all_rows.from(r * rows.stride, 0);
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        row.vector[v] = Bytes == 8 ? in.half_of_vector() : in.load_aligned(v * Input::width);
    }
    return row;
  };
  const auto put = [&](auto& sum, const row_data& row) {
    unsigned most = 0;
#pragma unroll
    for (int v = 0; v < vectors; ++v) quick::look(row.vector[v], most);
    sum.begin();
    sum.place(most, room);
#pragma unroll
    for (int v = 0; v < vectors; ++v) sum.vector(row.vector[v]);
  };
  const auto in_general = [&](std::int64_t r, const row_data& row) {
    const auto add_up = [&](auto sum) {
      put(sum, row);
      long long part[decltype(sum)::parts];
      const bool failed = !sum.close(part);
      return total_of(part, sum.exponent(), failed);
    };
    window_sum total = add_up(quick());
    if (quick::parts < all::parts && total.failed) total = add_up(all());
    finish_row<R>(problem, r, problem.rows.at(r), total);
  };
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * window_threads + threadIdx.x;
       first < problem.results; first += at_once * step) {
    row_data flying[at_once];
#pragma unroll
    for (int u = 0; u < at_once; ++u) flying[u] = request(first + u * step);
    if constexpr (quick::parts == 1) {
      // With one window the sum is a double, and most are answered by rounding it.
      unsigned left = 0;
#pragma unroll
      for (int u = 0; u < at_once; ++u) {
        const std::int64_t r = first + u * step;
        bool held;
        R result;
        if constexpr (has_short_sum<Bytes, typename Input::element>) {
          held = short_result<Bytes, typename Input::element>(flying[u].vector[0], result);
        } else {
          quick sum;
          put(sum, flying[u]);
          double value;
          held = sum.value(value) && value != 0;
          narrowed(value, result);
        }
        held = held && problem.to.how == reading::sum;
        if (r >= problem.results) continue;
        if (held)
          out[r * rows.index] = result;
        else
          left |= 1u << u;
      }
      for (; left != 0; left &= left - 1) {
        const std::int64_t r = first + (__ffs(static_cast<int>(left)) - 1) * step;
        in_general(r, request(r));
      }
    } else {
#pragma unroll
      for (int u = 0; u < at_once; ++u) {
        if (first + u * step < problem.results) in_general(first + u * step, flying[u]);
      }
    }
  }
}

// The bytes of a layout's rows, if they are such; else 0.
template <class Input>
int tiny_rows(const Input& in, const reduction_layout& l) {
  constexpr std::int64_t size = 16 / Input::width;
  if (Input::inputs > 1 || l.reduced_count == 0 || l.kept_rank != 1) return 0;
  const std::int64_t bytes = l.reduced_count * size;
  if (bytes != 8 && bytes != 16 && bytes != 32) return 0;
  const std::int64_t whole = bytes == 8 ? 8 : 16;
  bool all = reinterpret_cast<std::uintptr_t>(in.data + l.offset) % static_cast<std::uintptr_t>(whole) == 0;
  all = all && l.kept[0].stride * size % whole == 0;
  return all ? static_cast<int>(bytes) : 0;
}

}  // namespace coalesce::detail::exact
