// Blocks that share columns (split-K): their partial results, and those of the threads of a block.
//
// Each of `splits` blocks has a partial result of every column of a tile. The last of each `fan` blocks to end merges
// their results, in order; then the last of each `fan` of these, until one has them all, in the number of turns that
// takes least time. One block alone waits for the memory once for each 8 partial results of a column.
#pragma once

#include <coalesce/detail/block/launch.cuh>

namespace coalesce::detail {

struct tiling {
  std::int64_t tiles, splits;
};
// For each plane: tiles, as few as `fewest` or up to a quarter more, and splits of each, up to `most`, with which all
// blocks are whole rounds of `resident`. Few rounds: blocks that begin and end cost time.
inline tiling tiling_of_columns(std::int64_t planes, std::int64_t fewest, std::int64_t most, std::int64_t resident) {
  tiling best{fewest, 1};
  double least = 1e300;
  const std::int64_t first = ceil_div(planes * fewest, resident);
  for (std::int64_t rounds = first; rounds < first + 4; ++rounds) {
    std::int64_t splits = rounds * resident / (planes * fewest);
    if (splits > most) splits = most;
    if (splits < 1 || planes * fewest * 5 / 4 > max_tickets) splits = 1;
    std::int64_t tiles = rounds * resident / (planes * splits);
    if (tiles < fewest || tiles * 4 > fewest * 5) tiles = fewest;
    const std::int64_t blocks = planes * tiles * splits, needed = ceil_div(blocks, resident);
    const double cost = static_cast<double>(needed * resident) / static_cast<double>(blocks) +
                        0.02 * static_cast<double>(needed) +
                        0.03 * static_cast<double>(tiles - fewest) / static_cast<double>(fewest);
    if (cost < least) {
      least = cost;
      best = {tiles, splits};
    }
  }
  return best;
}

struct split_tree {
  int splits = 1, fan = 1;

  // Partial results and tickets of all turns.
  __host__ __device__ int partials() const {
    int all = 0;
    for (int count = splits; count > 1; count = (count + fan - 1) / fan) all += count;
    return all;
  }
  __host__ __device__ int tickets() const {
    int all = 0;
    for (int count = splits; count > 1;) all += count = (count + fan - 1) / fan;
    return all;
  }
};
// Partial results that a thread has under way: more would be registers that the kernels' loops miss.
template <class A>
inline constexpr int splits_under_way = shape<A>::state_words <= 4 ? 8 : 4;

// UnderWay, here and in merge_splits: partial results that a thread has under way, the same number for both.
// The number of turns that takes least: each has a ticket, which takes as long as waiting for loads three times.
template <int UnderWay>
split_tree tree_of_splits(std::int64_t tiles, std::int64_t splits, std::int64_t columns, int threads) {
  const int all = static_cast<int>(splits);
  const std::int64_t teams = columns < threads ? threads / columns : 1, passes = ceil_div(columns, threads);
  split_tree best{all, all};
  std::int64_t least = INT64_MAX;
  const auto power = [](std::int64_t x, int n) { return n == 1 ? x : n == 2 ? x * x : x * x * x; };
  for (int turns = 1; turns <= 3; ++turns) {
    split_tree tree{all, 2};
    while (power(tree.fan, turns) < all) ++tree.fan;
    const std::int64_t time = turns * (3 + passes * ceil_div(tree.fan, teams * UnderWay));
    if (time < least && (turns == 1 || tiles * tree.tickets() <= max_tickets)) {
      least = time;
      best = tree;
    }
  }
  return best;
}

// Room for N states of each of so many threads: e of thread t in place e * pitch + t. The pitch spreads a thread's
// states over the banks, so that 32 neighbouring columns are in 32 of them.
template <int N, int Threads, class A>
struct states_of_threads {
  static constexpr int pitch = Threads + 32 / N;
  planes<typename A::state, N * pitch> states;
  __device__ __forceinline__ void put(int e, int t, const typename A::state& s) { states.put(e * pitch + t, s); }
  __device__ __forceinline__ typename A::state get(int e, int t) const { return states.get(e * pitch + t); }
  // Column j of the row of threads: a member of thread t's vector of N columns.
  __device__ __forceinline__ typename A::state column(int j) const { return get(j % N, j / N); }
};

// Merges rows of threads, row y being threads y * across ... (y + 1) * across - 1, into the first. Whole block; `room`
// is for half of its threads.
template <int N, class A, class Room>
__device__ __forceinline__ void fold_rows(const A& a, typename A::state (&state)[N], Room& room, int across, int rows) {
  const int t = static_cast<int>(threadIdx.x);
  while (rows > 1) {
    const int half = (rows + 1) / 2, kept = half * across, given = (rows - half) * across;
    if (t >= kept && t < kept + given) {
#pragma unroll
      for (int e = 0; e < N; ++e) room.put(e, t - kept, state[e]);
    }
    __syncthreads();
    if (t < given) {
#pragma unroll
      for (int e = 0; e < N; ++e) a.merge(state[e], room.get(e, t));
    }
    __syncthreads();
    rows = half;
  }
}

// Called by each block when it has written its partial results, of `columns` columns, to partials[split * columns ...].
// The block that comes to have all of them calls write(column, state) for each; that one returns true.
template <int UnderWay, class A, class Room, class Write>
__device__ __forceinline__ bool merge_splits(const A& a, const split_tree& tree, typename A::state* partials,
                                             unsigned int* tickets, int split, int columns, Room& room,
                                             const Write& write) {
  const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x), fan = tree.fan;
  const int teams = columns < threads ? threads / columns : 1;
  for (int index = split, count = tree.splits; count > 1;) {
    const int group = index / fan, groups = (count + fan - 1) / fan, begin = group * fan;
    const int members = count - begin < fan ? count - begin : fan;
    if (!last_block(tickets + group, members)) return false;
    typename A::state* const next = partials + static_cast<std::int64_t>(count) * columns;
    // All threads are shared out to the columns; then again by halves.
    for (int first = 0; first < columns; first += threads) {
      const int wide = columns - first < threads ? columns - first : threads, c = t % wide, team = t / wide;
      typename A::state merged[1] = {a.identity()};
      if (team < teams) {
        merged[0] = merge_partials<UnderWay>(a, partials + static_cast<std::int64_t>(begin) * columns + first + c, team,
                                             members, teams, columns);
      }
      fold_rows(a, merged, room, wide, teams);
      if (t < wide) {
        if (groups == 1) {
          write(first + t, merged[0]);
        } else {
          next[static_cast<std::int64_t>(group) * columns + first + t] = merged[0];
        }
      }
    }
    partials = next;
    tickets += groups;
    index = group;
    count = groups;
  }
  return true;
}

}  // namespace coalesce::detail
