// A result for each thread: columns of an array, and whatever else has its results' elements side by side. Neighbouring
// threads add neighbouring results. Where there are fewer results than threads, several threads share one; where there
// are too few for all multiprocessors, the reduced axis is cut into splits, and the last block of a group of results
// puts theirs together.
#pragma once

#include <coalesce/detail/exact/long_rows.cuh>

namespace coalesce::detail::exact {

template <class Input, class R>
struct column_sums {
  Input in;
  result_to<R> to;
  places where;
  std::int64_t results, count, blocks;
  int tile;         // results of a block: at most its threads
  int splits;       // blocks that share a tile
  long long* left;  // of each block: bins + 2 rows of `tile` words (digits, carry, flags)
  unsigned* tickets;
  unsigned *listed, *done;  // null, or: nothing is to be done unless more than `most` columns were listed; a ticket
  std::int64_t most;
};

template <class Engine>
constexpr int words_left = Engine::bins + 2;

// Block `block` of the problem's.
template <class Input, class R>
__device__ __forceinline__ void sum_columns_of(const column_sums<Input, R>& problem, std::int64_t block, char* shared,
                                               unsigned* look, unsigned* flags) {
  using Engine = engine<Input>;
  using word = typename Engine::word;
  static_assert(Input::values != range::product,
                "columns of products of doubles have no limbs for rare ones: use sum_rows");
  constexpr int threads = Engine::threads;
  const int t = static_cast<int>(threadIdx.x), tile = problem.tile, splits = problem.splits;
  const std::int64_t group = block / splits;
  const int split = static_cast<int>(block % splits), members = threads / tile;
  const int mine = t % tile, member = t / tile;
  const std::int64_t r = group * tile + mine;
  const bool works = member < members && r < problem.results;
  Engine engine;
  engine.place(shared, t, nullptr);
  engine.need_bins();
  engine.begin();
  look[t] = flags[t] = 0;
  const std::int64_t first = static_cast<std::int64_t>(split) * members + member,
                     step = static_cast<std::int64_t>(splits) * members;
  places::pair begin{0, 0};
  if (works) begin = problem.where.begin(r);
  const Input in = problem.in.from(begin.first, begin.second);
  const auto each = [&](auto body) {  // over this thread's elements; stops when body returns false
    for (std::int64_t j = first; j < problem.count; j += step) {
      const auto at = problem.where.element(j);
      if (!body(at.first, at.second)) break;
    }
  };
  if (works) {
    constexpr int ahead = 8;
    std::int64_t j = first;
    if (problem.where.layout.reduced_rank == 1) {
      const axis& along = problem.where.layout.reduced[0];
      const std::int64_t next = along.stride * step, other_next = along.other * step;
      Input here = in.from(along.stride * j, along.other * j);
      for (; j + (ahead - 1) * step < problem.count; j += ahead * step) {
        typename Input::number x[ahead];
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          x[u] = here.at(0, 0);
          here = here.from(next, other_next);
        }
#pragma unroll
        for (int u = 0; u < ahead; ++u) engine.one(x[u]);
      }
    }
    for (; j < problem.count; j += step) {
      const auto at = problem.where.element(j);
      engine.one(in.at(at.first, at.second));
    }
  }
  engine.close();
  engine.settle();
  __syncthreads();
  const bool special = works && engine.met_special();
  if (special) atomicOr(&look[mine], 1u);
  // Members' columns go to the first member's, half of the rest at a time.
  for (int rest = members; rest > 1;) {
    const int keep = (rest + 1) / 2;
    if (works && member + keep < rest) {
#pragma unroll 4
      for (int i = 0; i < Engine::bins; ++i) engine.column[i * threads] += engine.column[i * threads + keep * tile];
      engine.settle();
    }
    rest = keep;
    __syncthreads();
  }
  const bool leads = works && member == 0;
  long long carry = 0;
  const auto zero = [&] {
    bool none = carry == 0;
    for (int i = 0; none && i < Engine::bins; ++i) none = engine.column[i * threads] == 0;
    return none;
  };
  if (leads) {
    carry = carry_column(engine);
    if (look[mine] == 0 && zero()) look[mine] = 2;
  }
  __syncthreads();
  if (works && look[mine] != 0) {
    const bool all = (look[mine] & 1) != 0;
    unsigned seen = 0;
    each([&](std::int64_t i, std::int64_t j) {
      seen |= in.flags(i, j);
      return all || !(seen & something);
    });
    if (seen != 0) atomicOr(&flags[mine], seen);
  } else if (leads) {
    flags[mine] = something;
  }
  __syncthreads();
  if (splits > 1) {
    long long* here = problem.left + block * words_left<Engine> * tile;
    if (leads) {
      for (int i = 0; i < Engine::bins; ++i) here[i * tile + mine] = static_cast<long long>(engine.column[i * threads]);
      here[Engine::bins * tile + mine] = carry;
      here[(Engine::bins + 1) * tile + mine] = flags[mine];
    }
    if (!detail::last_block(problem.tickets + group, splits)) return;
    if (leads) {
      // Digits of up to 32 bits: bins of 64 bits take any number of splits, those of 32 bits (digits of 8) 2^23.
      for (int s = 0; s < splits; ++s) {
        if (s == split) continue;
        const long long* other = problem.left + (group * splits + s) * words_left<Engine> * tile;
        for (int i = 0; i < Engine::bins; ++i)
          engine.column[i * threads] += static_cast<word>(__ldcg(other + i * tile + mine));
        carry += __ldcg(other + Engine::bins * tile + mine);
        flags[mine] |= static_cast<unsigned>(__ldcg(other + (Engine::bins + 1) * tile + mine));
      }
      carry += carry_column(engine);
    }
  }
  if (leads) {
    head number{};
    const bool none = !head_of_column(engine, carry, number);
    problem.to.out[problem.where.index(r)] = result_of<R>(number, none, flags[mine], problem.to.how, problem.count);
  }
}

template <class Input, class R>
__global__ void __launch_bounds__(engine<Input>::threads, 1) sum_columns(const column_sums<Input, R> problem) {
  extern __shared__ __align__(16) char shared[];
  __shared__ unsigned look[engine<Input>::threads], flags[engine<Input>::threads];
  detail::wait_for_stream();
  if (problem.listed == nullptr || *problem.listed > problem.most) {
    for (std::int64_t block = blockIdx.x; block < problem.blocks; block += gridDim.x) {
      sum_columns_of(problem, block, shared, look, flags);
      __syncthreads();
    }
  }
  // The next call finds an empty list.
  if (problem.listed != nullptr && detail::last_block(problem.done, gridDim.x) && threadIdx.x == 0) *problem.listed = 0;
}

}  // namespace coalesce::detail::exact
