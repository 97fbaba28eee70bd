// Many rows of less than 2^31 elements, quickly: a group of lanes takes a row, and its numbers go to registers
// (windows.cuh), without bins. A row that does not fit is listed, and sum_rows adds the listed rows in a second launch.
//
// A row's vectors are those of memory, aligned, so that rows may begin anywhere: the first and the last may be part of
// the row only, and zeros stand for what is not.
#pragma once

#include <coalesce/detail/exact/rows.cuh>
#include <coalesce/detail/exact/windows.cuh>

namespace coalesce::detail::exact {

template <class Input, class Rows, class R>
struct short_row_sums {
  Input in;
  result_to<R> to;
  Rows rows;
  std::int64_t results;
  int lanes;           // of a group: up to 32, or all of a block
  std::int64_t* list;  // rows that did not fit, the first of `listed`
  unsigned* listed;
};

// The list's room. Where more rows do not fit, all are added again.
inline constexpr std::int64_t most_listed = 1 << 18;
inline constexpr int window_threads = 256;

// The state of a row that the warps of a block share.
struct shared_row {
  unsigned long long part[3];
  unsigned most, failed;
};

// Row r's sum is written; or the row listed.
template <class R, class Input, class Rows>
__device__ __forceinline__ void finish_row(const short_row_sums<Input, Rows, R>& problem, std::int64_t r,
                                           const rows_of_layout::row& row, const window_sum& total) {
  if (total.failed) {
    const unsigned place = atomicAdd(problem.listed, 1u);
    if (place < most_listed) problem.list[place] = r;
  } else if ((total.low | total.high) == 0) {  // of which sign?
    const Input in = problem.in.from(row.begin.first, row.begin.second);
    unsigned flags = 0;
    for (std::int64_t j = 0; j < row.count && !(flags & something); ++j) flags |= in.flags(j, j);
    problem.to.out[row.index] = result_of<R>(head{}, true, flags, problem.to.how, row.count);
  } else {
    problem.to.out[row.index] = window_result<R>(total.low, total.high, total.exponent, problem.to.how, row.count);
  }
}

template <bool Block, int Threads, class Input, class Rows, class R>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    sum_short_rows(const short_row_sums<Input, Rows, R> problem) {
  constexpr int loads = Input::inputs == 2 ? 2 : 4;
  using quick = lane_windows<Input, windows_at_first<typename Input::number>>;
  const int lanes = Block ? Threads : problem.lanes, member = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int groups_here = Threads / lanes, mine = static_cast<int>(threadIdx.x) / lanes;
  const std::int64_t groups = static_cast<std::int64_t>(gridDim.x) * groups_here;
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * groups_here + mine;
  __shared__ shared_row together;
  detail::wait_for_stream();
  for (std::int64_t r0 = group - mine; r0 < problem.results; r0 += groups) {  // the same for all threads of a block
    const std::int64_t r = r0 + mine;
    const bool works = r < problem.results;
    const auto row = works ? problem.rows.at(r) : rows_of_layout::row{{0, 0}, 0, 0};
    const Input in = problem.in.from(row.begin.first, row.begin.second);
    const bool too_long = problem.rows.left_for_blocks(row, false);
    const int shift = vectors_of_run<Input>::shift_of(in);
    const vectors_of_run<Input> request{in, shift, too_long ? 0 : shift + static_cast<int>(row.count)};
    const int vectors = request.count(), whole = request.end / Input::width;
    typename Input::vector flying[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) flying[u] = request(member + u * lanes);
    unsigned most = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) quick::look(flying[u], most);
    if (Block) {
      if (threadIdx.x == 0) together = {};
      __syncthreads();
      most = __reduce_max_sync(~0u, most);
      if (threadIdx.x % 32 == 0) atomicMax(&together.most, most);
      __syncthreads();
      most = together.most;
    } else {
      for (int distance = lanes / 2; distance > 0; distance /= 2)
        most = ::max(most, __shfl_xor_sync(~0u, most, distance));
    }
    window_sum total{0, 0, 0, 1};
    // The row's sum, in all its lanes; or that it failed.
    const auto add_up = [&](auto sum) {
      constexpr int parts = decltype(sum)::parts;
      sum.begin();
      // Room for as many of the first tile's largest as there are numbers.
      sum.place(most, 34 - __clz(static_cast<int>(::min(row.count, static_cast<std::int64_t>(1 << 20)) | 1)));
      int at = member;
      // Tiles that are the row's, as are those behind them: nothing is masked, and a vector is requested as soon as its
      // place is free.
      const Input inside = in.from(static_cast<std::int64_t>(loads) * lanes * Input::width - shift,
                                   static_cast<std::int64_t>(loads) * lanes * Input::width - shift);
      while (__all_sync(~0u, at - member + 2 * loads * lanes <= whole)) {
        const Input next =
            inside.from(static_cast<std::int64_t>(at) * Input::width, static_cast<std::int64_t>(at) * Input::width);
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          const typename Input::vector v = flying[u];
          flying[u] = next.load(u * lanes * Input::width);
          sum.vector(v);
        }
        at += loads * lanes;
      }
      while (true) {
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          if (at + u * lanes < vectors) sum.vector(flying[u]);
        }
        at += loads * lanes;
        if (!__any_sync(~0u, at < vectors)) break;
#pragma unroll
        for (int u = 0; u < loads; ++u) flying[u] = request(at + u * lanes);
      }
      long long part[parts];
      unsigned failed = sum.close(part) ? 0 : 1;
      const int across = Block ? 32 : lanes;
      for (int distance = across / 2; distance > 0; distance /= 2) {
#pragma unroll
        for (int i = 0; i < parts; ++i) part[i] += __shfl_xor_sync(~0u, part[i], distance);
        failed |= __shfl_xor_sync(~0u, failed, distance);
      }
      if (Block) {
        if (threadIdx.x % 32 == 0) {
#pragma unroll
          for (int i = 0; i < parts; ++i) atomicAdd(&together.part[i], static_cast<unsigned long long>(part[i]));
          if (failed != 0) together.failed = 1;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < parts; ++i) part[i] = static_cast<long long>(together.part[i]);
        failed = together.failed;
        __syncthreads();
      }
      return total_of(part, sum.exponent(), failed != 0);
    };
    using all = lane_windows<Input, windows_for<typename Input::number>>;
    if constexpr (quick::parts == all::parts) {
      total = add_up(all());
    } else {
      const bool tried = __all_sync(~0u, row.count <= longest_at_first<Input>);
      if (tried) total = add_up(quick());
      if (__any_sync(~0u, total.failed)) {
        if (tried) {
          if (Block && threadIdx.x == 0) together = {};
          if (Block) __syncthreads();
#pragma unroll
          for (int u = 0; u < loads; ++u) flying[u] = request(member + u * lanes);
        }
        total = add_up(all());
      }
    }
    if (!works || member != 0) continue;
    if (too_long) {
      problem.rows.left_for_blocks(row, true);
      continue;
    }
    finish_row<R>(problem, r, row, total);
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

}  // namespace coalesce::detail::exact
