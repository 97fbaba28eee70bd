// Groups made of groups: tiles of tiles, partitions by label and by yes or no, groups whose kind is known at run time;
// shuffles of larger values; copies made by a whole group.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

struct Three {
  int a;
  double b;
  short c;
};

// One row of results per thread.
constexpr int kColumns = 24;

__device__ int sum_of(cg::thread_group group, int* scratch, int value) {
  const int rank = static_cast<int>(group.thread_rank());
  scratch[rank] = value;
  group.sync();
  int sum = 0;
  for (int i = 0; i < static_cast<int>(group.size()); ++i) sum += scratch[i];
  group.sync();
  return sum;
}

__global__ void partitions(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const int t = static_cast<int>(block.thread_rank());
  int* row = out + t * kColumns;

  const auto warp = cg::tiled_partition<32>(block);
  const cg::thread_block_tile<8> eight = cg::tiled_partition<8>(warp);
  const auto two = cg::tiled_partition<2>(eight);
  row[0] = warp.meta_group_rank() * 100 + warp.meta_group_size();
  row[1] = eight.meta_group_rank() * 100 + eight.meta_group_size();
  row[2] = two.meta_group_rank() * 100 + two.meta_group_size();
  row[3] = two.thread_rank();

  const Three mine{t, t * 0.5, static_cast<short>(-t)};
  const Three other = eight.shfl_xor(mine, 5);
  row[4] = other.a;
  row[5] = static_cast<int>(other.b * 2);
  row[6] = other.c;
  row[7] = eight.shfl(static_cast<signed char>(t - 100), 3);

  const auto label = cg::labeled_partition(warp, t % 5);
  row[8] = label.size();
  row[9] = label.thread_rank();
  row[10] = label.meta_group_size();
  row[11] = cg::reduce(label, t, cg::plus<int>());
  row[12] = label.shfl(mine, 2).a;

  const auto half = cg::binary_partition(warp, t % 3 == 0);
  row[13] = half.size();
  row[14] = half.ballot(t % 2);
  row[15] = half.meta_group_size();
  row[16] = cg::reduce(half, t, cg::greater<int>());

  __shared__ int scratch[64];
  const cg::thread_group whole = block;
  row[17] = sum_of(whole, scratch, t);
  const cg::thread_group quarter = cg::tiled_partition(whole, 4);
  row[18] = sum_of(quarter, scratch + t / 4 * 4, t);
  block.sync();

  cg::invoke_one(warp, [&] { row[19] = 77; });
  row[20] = cg::invoke_one_broadcast(warp, [&](int add) { return t + add; }, 1000);
  row[21] = half.shfl_down(t, 1);
  row[22] = half.shfl_up(t, 1);
  row[23] = half.match_any(t % 2);
}

__global__ void copies(const int* in, int* out, int n, int offset) {
  __shared__ int staged[256];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, staged, in + offset, sizeof(int) * n);
  cg::wait(block);
  for (int i = block.thread_rank(); i < n; i += block.size()) out[i] = staged[n - 1 - i];
}

int main() {
  int* out = upload(std::vector<int>(64 * kColumns, 0));
  partitions<<<1, 64>>>(out);
  const std::vector<int> v = download(out, 64 * kColumns);
  for (int t = 0; t < 64; ++t) {
    const int* row = &v[t * kColumns];
    const int lane = t % 32, warp = t / 32;
    EXPECT(row[0] == warp * 100 + 2);
    EXPECT(row[1] == lane / 8 * 100 + 4);
    EXPECT(row[2] == t % 8 / 2 * 100 + 4);
    EXPECT(row[3] == t % 2);
    const int other = t ^ 5;
    EXPECT(row[4] == other && row[5] == other && row[6] == -other);
    EXPECT(row[7] == t / 8 * 8 + 3 - 100);

    std::vector<int> label, half;
    unsigned odd = 0, same = 0;
    for (int u = warp * 32; u < warp * 32 + 32; ++u) {
      if (u % 5 == t % 5) label.push_back(u);
      if ((u % 3 == 0) == (t % 3 == 0)) {
        odd |= (u % 2 ? 1u : 0u) << half.size();
        same |= (u % 2 == t % 2 ? 1u : 0u) << half.size();
        half.push_back(u);
      }
    }
    size_t place = 0, half_place = 0;
    int sum = 0;
    for (size_t i = 0; i < label.size(); ++i) {
      sum += label[i];
      if (label[i] == t) place = i;
    }
    for (size_t i = 0; i < half.size(); ++i)
      if (half[i] == t) half_place = i;
    EXPECT(row[8] == int(label.size()) && row[9] == int(place) && row[10] == 5);
    EXPECT(row[11] == sum && row[12] == label[2]);
    EXPECT(row[13] == int(half.size()) && row[14] == int(odd) && row[15] == 2);
    EXPECT(row[16] == half.back());
    EXPECT(row[17] == 63 * 32);
    EXPECT(row[18] == 4 * (t / 4 * 4) + 6);
    const int from = row[20] - 1000;
    EXPECT(from / 32 == warp && row[20] == v[warp * 32 * kColumns + 20]);
    EXPECT(row[21] == half[half_place + 1 < half.size() ? half_place + 1 : half_place]);
    EXPECT(row[22] == half[half_place > 0 ? half_place - 1 : 0]);
    EXPECT(row[23] == int(same));
  }
  // CUDA does not promise which member invoke_one picks: one of each warp.
  for (int warp = 0; warp < 2; ++warp) {
    int runs = 0;
    for (int t = warp * 32; t < warp * 32 + 32; ++t) runs += v[t * kColumns + 19] == 77;
    EXPECT(runs == 1);
  }

  std::vector<int> numbers(300);
  for (int i = 0; i < 300; ++i) numbers[i] = 3 * i;
  int *in = upload(numbers), *back = upload(std::vector<int>(256, 0));
  for (int offset : {0, 1, 4}) {
    for (int n : {256, 37}) {
      copies<<<1, 96>>>(in, back, n, offset);
      const std::vector<int> w = download(back, n);
      for (int i = 0; i < n; ++i) EXPECT(w[i] == 3 * (n - 1 - i + offset));
    }
  }
}
