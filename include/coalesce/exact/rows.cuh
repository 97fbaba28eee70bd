// Many results, each of a row that one warp adds: rows of an array, ragged segments, or any elements that do not lie
// one behind the other. A warp folds and rounds on its own, so no thread waits for a block.
#pragma once

#include <coalesce/exact/runs.cuh>

namespace coalesce::exact {

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
};

// Segment s is the elements from offsets[s] up to offsets[s + 1].
template <class Offset>
struct rows_of_segments {
  const Offset* offsets;
  __device__ __forceinline__ rows_of_layout::row at(std::int64_t s) const {
    const std::int64_t begin = offsets[s];
    return {{begin, begin}, offsets[s + 1] - begin, s};
  }
  __device__ __forceinline__ places::pair element(std::int64_t j) const { return {j, j}; }
};

template <class Input, class Rows, class R>
struct row_sums {
  Input in;
  answer_to<R> to;
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
  auto& room = reinterpret_cast<warp_room<Engine>*>(shared + Engine::shared_bytes)[warp];
  Engine engine;
  engine.place(shared, static_cast<int>(threadIdx.x), room.limb);
  engine.zero();
  for (int k = lane; k < limbs; k += 32) room.limb[k] = 0;
  __syncwarp();
  constexpr int warps = threads / 32;
  for (std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * warps + warp; r < problem.results;
       r += static_cast<std::int64_t>(gridDim.x) * warps) {
    const auto row = problem.rows.at(r);
    const Input in = problem.in.from(row.begin.first, row.begin.second);
    engine.begin();
    if constexpr (Dense) {
      add_share(in, row.count, engine, lane, 32, 0, 1);
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
    const R answer = answer_of<R>(sum.number, sum.zero, flags, problem.to.how, row.count);
    if (lane == 0) problem.to.out[row.index] = answer;
    __syncwarp();
  }
}

}  // namespace coalesce::exact
