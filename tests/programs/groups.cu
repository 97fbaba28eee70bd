// Cooperative groups: block, tiles, whichever lanes are active, scans over them, the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void tiles(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  int v = block.thread_rank();
  for (int by = tile.size() / 2; by > 0; by /= 2) v += tile.shfl_down(v, by);
  v = tile.shfl(v, 0);
  out[block.thread_rank()] = v;
  block.sync();
  if (block.thread_rank() % 3 == 0) {
    const cg::coalesced_group some = cg::coalesced_threads();
    if (some.thread_rank() == 0) atomicAdd(&out[64], int(some.size()));
  }
}

__global__ void stages(int* a, int* b, int n) {
  const cg::grid_group grid = cg::this_grid();
  const int i = int(grid.thread_rank());
  a[i] = i;
  grid.sync();
  b[i] = a[n - 1 - i];
  grid.sync();
  a[i] = b[(i + 1) % n];
}

// Every third lane: sums up to each, before each, and the largest so far.
__global__ void scans(int* out) {
  const int lane = int(threadIdx.x);
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  out[lane] = cg::inclusive_scan(tile, lane, cg::plus<int>());
  out[32 + lane] = cg::exclusive_scan(tile, lane);
  if (lane % 3 == 0) {
    const cg::coalesced_group some = cg::coalesced_threads();
    out[64 + lane] = cg::inclusive_scan(some, 31 - lane, cg::greater<int>());
    out[96 + lane] = cg::exclusive_scan(some, lane, cg::plus<int>());
  }
}

int main() {
  int* sums = upload(std::vector<int>(128, 0));
  scans<<<1, 32>>>(sums);
  const std::vector<int> s = download(sums, 128);
  for (int lane = 0, all = 0, some = 0; lane < 32; ++lane) {
    if (lane % 16 == 0) all = 0;
    EXPECT(s[32 + lane] == all);
    all += lane;
    EXPECT(s[lane] == all);
    if (lane % 3 != 0) continue;
    EXPECT(s[64 + lane] == 31 && s[96 + lane] == some);
    some += lane;
  }

  int* out = upload(std::vector<int>(65, 0));
  tiles<<<1, 64>>>(out);
  const std::vector<int> v = download(out, 65);
  for (int t = 0; t < 64; ++t) EXPECT(v[t] == 8 * (t / 8 * 8) + 28);
  EXPECT(v[64] == 22);

  int n = 6 * 64;
  int *a = upload(std::vector<int>(n, 0)), *b = upload(std::vector<int>(n, 0));
  void* arguments[] = {&a, &b, &n};
  CHECK(cudaLaunchCooperativeKernel((void*)stages, dim3(6), dim3(64), arguments));
  const std::vector<int> w = download(a, n);
  for (int i = 0; i < n; ++i) EXPECT(w[i] == n - 1 - (i + 1) % n);
}
