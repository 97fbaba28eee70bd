// Many rows of 8, 16 or 32 bytes, quickly: a thread takes a row, and requests several rows at once, because one row's
// bytes are too few to keep memory busy. As in short_rows.cuh, rows that do not fit windows are listed.
#pragma once

#include <coalesce/exact/short_rows.cuh>

namespace coalesce::exact {

// Bytes: of a row.
template <int Bytes, class Input, class R>
__global__ void __launch_bounds__(quick_threads, 4)
    sum_tiny_rows(const short_row_sums<Input, rows_of_layout, R> problem) {
  constexpr int at_once = Bytes == 8 ? 8 : Bytes == 16 ? 4 : 2, vectors = (Bytes + 15) / 16;
  using quick = quick_sum<Input, windows_at_first<typename Input::number>>;
  using all = quick_sum<Input, windows_for<typename Input::number>>;
  struct row_data {
    uint4 vector[vectors];
  };
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * quick_threads;
  const int room = 34 - __clz(static_cast<int>(problem.rows.where.layout.reduced_count));  // for as many as there are
  const auto request = [&](std::int64_t r) {
    row_data row{};
    if (r < problem.results) {
      const Input in = problem.in.from(problem.rows.where.begin(r).first, 0);
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
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * quick_threads + threadIdx.x;
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
        quick sum;
        put(sum, flying[u]);
        double value;
        R answer;
        const bool held = sum.value(value) && value != 0 && problem.to.how == reading::sum;
        narrowed(value, answer);
        if (r >= problem.results) continue;
        if (held)
          problem.to.out[problem.rows.where.index(r)] = answer;
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
  if (Input::inputs > 1 || l.reduced_count == 0) return 0;
  const std::int64_t bytes = l.reduced_count * size;
  if (bytes != 8 && bytes != 16 && bytes != 32) return 0;
  const std::int64_t whole = bytes == 8 ? 8 : 16;
  bool all = reinterpret_cast<std::uintptr_t>(in.data + l.offset) % static_cast<std::uintptr_t>(whole) == 0;
  for (int k = 0; k < l.kept_rank; ++k) all = all && l.kept[k].stride * size % whole == 0;
  return all ? static_cast<int>(bytes) : 0;
}

}  // namespace coalesce::exact
