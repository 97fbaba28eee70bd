// Many rows of 8, 16 or 32 bytes, quickly: a thread takes a row, and requests several rows at once, because one row's
// bytes are too few to keep memory busy. As in short_rows.cuh, rows that do not fit windows are listed.
#pragma once

#include <coalesce/exact/short_rows.cuh>

namespace coalesce::exact {

// Vectors: of 16 bytes, of a row; one may be half full.
template <int Vectors, class Input, class R>
__global__ void __launch_bounds__(quick_threads, 4)
    sum_tiny_rows(const short_row_sums<Input, rows_of_layout, R> problem) {
  constexpr int at_once = 4 / Vectors;
  using quick = quick_sum<Input, windows_at_first<typename Input::number>>;
  using all = quick_sum<Input, windows_for<typename Input::number>>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * quick_threads;
  const int count = static_cast<int>(problem.rows.where.layout.reduced_count);
  const bool half_vector = Vectors == 1 && count < Input::width;
  const int room = 34 - __clz(count);  // as many of the largest as there are numbers
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * quick_threads + threadIdx.x;
       first < problem.results; first += at_once * step) {
    uint4 flying[at_once][Vectors];
#pragma unroll
    for (int u = 0; u < at_once; ++u) {
      const std::int64_t r = first + u * step;
      const Input in = problem.in.from(r < problem.results ? problem.rows.where.begin(r).first : 0, 0);
#pragma unroll
      for (int v = 0; v < Vectors; ++v) {
        flying[u][v] = uint4{};
        if (r >= problem.results) continue;
        if (half_vector)
          flying[u][v] = in.half_of_vector();
        else
          flying[u][v] = in.load_aligned(v * Input::width);
      }
    }
#pragma unroll 1
    for (int u = 0; u < at_once; ++u) {
      const std::int64_t r = first + u * step;
      if (r >= problem.results) break;
      uint4 row[Vectors];
#pragma unroll
      for (int v = 0; v < Vectors; ++v) row[v] = flying[0][v];
#pragma unroll
      for (int next = 0; next + 1 < at_once; ++next) {
#pragma unroll
        for (int v = 0; v < Vectors; ++v) flying[next][v] = flying[next + 1][v];
      }
      unsigned most = 0;
#pragma unroll
      for (int v = 0; v < Vectors; ++v) quick::look(row[v], most);
      const auto add_up = [&](auto sum) {
        sum.begin();
        sum.place(most, room);
#pragma unroll
        for (int v = 0; v < Vectors; ++v) sum.vector(row[v]);
        long long part[decltype(sum)::parts];
        const bool failed = !sum.close(part);
        return total_of(part, sum.exponent(), failed);
      };
      window_sum total = add_up(quick());
      if (quick::parts < all::parts && total.failed) total = add_up(all());
      finish_row<R>(problem, r, problem.rows.at(r), total);
    }
  }
}

// Whether the rows of a layout are such: how many vectors a row is, or 0. Half a vector counts as one.
template <class Input>
int tiny_rows(const Input& in, const reduction_layout& l) {
  constexpr std::int64_t size = 16 / Input::width;
  if (Input::inputs > 1 || l.reduced_count == 0) return 0;
  const std::int64_t bytes = l.reduced_count * size;
  if (bytes != 8 && bytes != 16 && bytes != 32) return 0;
  const std::int64_t whole = bytes == 8 ? 8 : 16;
  bool all = reinterpret_cast<std::uintptr_t>(in.data + l.offset) % static_cast<std::uintptr_t>(whole) == 0;
  for (int k = 0; k < l.kept_rank; ++k) all = all && l.kept[k].stride * size % whole == 0;
  return all ? (bytes == 32 ? 2 : 1) : 0;
}

}  // namespace coalesce::exact
