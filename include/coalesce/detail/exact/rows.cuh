// Many results, each of a row that one warp adds: rows of an array, ragged segments, or any elements that do not lie
// one behind the other. A warp folds and rounds on its own, so no thread waits for a block.
#pragma once

#include <coalesce/detail/exact/long_rows.cuh>

namespace coalesce::detail::exact {

// Rows by a layout: neighbouring elements if the reduced axis has stride 1, else one by one.
struct rows_of_layout {
  places where;
  struct row {
    places::pair begin;
    std::int64_t count, index;
  };
  __device__ __forceinline__ row at(std::int64_t r) const {
    return {where.begin(r), where.layout.reduced_count, where.index(r)};
  }
  __device__ __forceinline__ places::pair element(std::int64_t j) const { return where.element(j); }
  __device__ __forceinline__ bool left_for_blocks(const row&, bool) const { return false; }
  __device__ __forceinline__ std::int64_t count(std::int64_t results) const { return results; }
  __device__ __forceinline__ void done() const {}
};

// Segment s is the elements from offsets[s] up to offsets[s + 1].
// Those of more than 2^17 elements are left for whole blocks: a warp only lists them.
inline constexpr std::int64_t longest_of_warp = 1 << 17;
template <class Offset>
struct rows_of_segments {
  const Offset* offsets;
  std::int64_t* list;
  unsigned* listed;
  __device__ __forceinline__ rows_of_layout::row at(std::int64_t s) const {
    const std::int64_t begin = offsets[s];
    return {{begin, begin}, offsets[s + 1] - begin, s};
  }
  __device__ __forceinline__ std::int64_t count(std::int64_t results) const { return results; }
  __device__ __forceinline__ void done() const {}
  __device__ __forceinline__ places::pair element(std::int64_t j) const { return {j, j}; }
  __device__ __forceinline__ bool left_for_blocks(const rows_of_layout::row& row, bool lists) const {
    if (row.count <= longest_of_warp) return false;
    if (lists) list[atomicAdd(listed, 1u)] = row.index;
    return true;
  }
};

template <class Input, class Rows, class R>
struct row_sums {
  Input in;
  result_to<R> to;
  Rows rows;
  std::int64_t results;
};

template <class Input>
constexpr int row_bytes =
    engine<Input>::shared_bytes + engine<Input>::threads / 32 * static_cast<int>(sizeof(warp_room<engine<Input>>));

template <bool Dense, class Input, class Rows, class R>
__global__ void __launch_bounds__(engine<Input>::threads, 1) sum_rows(const row_sums<Input, Rows, R> problem) {
  using Engine = engine<Input>;
  constexpr int threads = Engine::threads, limbs = limbs_of<Input::values>;
  extern __shared__ __align__(16) char shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  detail::wait_for_stream();
  const std::int64_t results = problem.rows.count(problem.results);
  if (results == 0) return;
  auto& room = reinterpret_cast<warp_room<Engine>*>(shared + Engine::shared_bytes)[warp];
  Engine engine;
  engine.place(shared, static_cast<int>(threadIdx.x), room.limb);
  engine.need_bins();
  for (int k = lane; k < limbs; k += 32) room.limb[k] = 0;
  __syncwarp();
  constexpr int warps = threads / 32;
  for (std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * warps + warp; r < results;
       r += static_cast<std::int64_t>(gridDim.x) * warps) {
    const auto row = problem.rows.at(r);
    if (problem.rows.left_for_blocks(row, lane == 0)) continue;
    const Input in = problem.in.from(row.begin.first, row.begin.second);
    engine.begin();
    if constexpr (Dense) {
      add_share(in, row.count, engine, 0, 1, nullptr, nullptr, 0, 1, [] {});
    } else {
      for (std::int64_t j = lane; j < row.count; j += 32) {
        const auto at = problem.rows.element(j);
        engine.one(in.at(at.first, at.second));
      }
    }
    __syncwarp();
    engine.close();
    const bool special = __any_sync(~0u, engine.met_special());
    fold_warp<Engine>(engine.column - lane, room);
    carried sum = carry_limbs<limbs>(room.limb, room.word);
    for (int k = lane; k < limbs; k += 32) room.limb[k] = 0;
    unsigned flags = something;
    if (special || sum.zero) {
      flags = 0;
      for (std::int64_t j = lane; j < row.count && (special || !(flags & something)); j += 32) {
        const auto at = problem.rows.element(j);
        flags |= Dense ? in.flags(j, j) : in.flags(at.first, at.second);
      }
      __syncwarp();
      flags = __reduce_or_sync(~0u, flags);
    }
    sum.number.exponent += layout<Input::values>::unit;
    const R result = result_of<R>(sum.number, sum.zero, flags, problem.to.how, row.count);
    if (lane == 0) problem.to.out[row.index] = result;
    __syncwarp();
  }
  problem.rows.done();
}

// The segments that were listed: all blocks share each, one after the other; or, where there are as many as blocks,
// each block takes some.
template <class Input, class Offset, class R>
struct long_segments {
  Input in;
  result_to<R> to;
  rows_of_segments<Offset> rows;
  combination<Input::values>* combinations;  // as many as blocks
  unsigned* ticket;                          // of the launch
};

template <class Input, class Offset, class R>
__global__ void __launch_bounds__(run_engine<Input>::threads, 1)
    sum_long_segments(const long_segments<Input, Offset, R> problem) {
  using Engine = run_engine<Input>;
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<Engine> room;
  __shared__ tiles_of_all rest;
  detail::wait_for_stream();
  const unsigned listed = *problem.rows.listed, blocks = gridDim.x;
  if (listed == 0) return;
  const bool together = listed < blocks;
  for (unsigned i = together ? 0 : blockIdx.x; i < listed; i += together ? 1 : blocks) {
    const auto row = problem.rows.at(problem.rows.list[i]);
    const int split = together ? static_cast<int>(blockIdx.x) : 0, splits = together ? static_cast<int>(blocks) : 1;
    const Input in = problem.in.from(row.begin.first, row.begin.second);
    if (together && threadIdx.x == 0) rest.next = &problem.combinations[i].next;
    bool held =
        sum_split(in, row.count, shared, room, Engine::threads, split, splits, together ? &rest : nullptr, [] {});
    window_sum sum = room.sum;
    if (threadIdx.x < 32 && (!together || combine(problem.combinations[i], splits, held, sum, room))) {
      const R result = result_of_room<R>(room, held, sum, problem.to.how, row.count);
      if (threadIdx.x == 0) problem.to.out[row.index] = result;
    }
    __syncthreads();
  }
  // The next call finds an empty list.
  if (detail::last_block(problem.ticket, blocks) && threadIdx.x == 0) *problem.rows.listed = 0;
}

}  // namespace coalesce::detail::exact
