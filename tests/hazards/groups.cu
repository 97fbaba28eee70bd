// Cooperative groups that a part of their threads synchronise, and accesses across groups.
#include <cooperative_groups.h>

#include "cases.h"

namespace cg = cooperative_groups;

KERNEL(block_sync_by_half_the_warps) {
  if (Right || threadIdx.x < 64) cg::this_thread_block().sync();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(tile_sync_by_part_of_the_tile) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  if (Right || tile.thread_rank() < 8) tile.sync();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(syncwarp_by_half_the_lanes) {
  if (Right || threadIdx.x < 16) __syncwarp();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(tile_sync_for_a_block_sync) {
  __shared__ int box[64];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  box[threadIdx.x] = in[threadIdx.x];
  if (Right)
    cg::this_thread_block().sync();
  else
    tile.sync();
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
}
KERNEL(small_tile_for_a_large_one) {
  __shared__ int box[32];
  auto tile = cg::tiled_partition<Right ? 32 : 8>(cg::this_thread_block());
  box[threadIdx.x] = in[threadIdx.x];
  tile.sync();
  out[threadIdx.x] = box[31 - threadIdx.x];  // HERE: race_shared
}
KERNEL(tiles_exchange_within_themselves) {
  __shared__ int box[64];
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  box[threadIdx.x] = in[threadIdx.x];
  tile.sync();
  out[threadIdx.x] = box[threadIdx.x ^ 7];
}
KERNEL(coalesced_group_of_some) {
  __shared__ int box[32];
  if (in[threadIdx.x] % 3 != 0) return;
  auto some = cg::coalesced_threads();
  box[some.thread_rank()] = in[threadIdx.x];
  some.sync();
  out[threadIdx.x] = box[some.size() - 1 - some.thread_rank()];
}
KERNEL(lanes_leave_before_syncwarp) {
  __shared__ int box[32];
  if (threadIdx.x >= 20) return;
  box[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = box[19 - threadIdx.x];
}
KERNEL(both_sides_have_their_syncwarp) {
  __shared__ int box[32];
  const uint t = threadIdx.x;
  box[t] = in[t];
  if (t < 16) {
    __syncwarp(0xffff);
    out[t] = box[15 - t];
  } else {
    __syncwarp(0xffff0000);
    out[t] = box[47 - t];
  }
}

const Case kCases[] = {
    CASE(block_sync_by_half_the_warps, 1, 128),   CASE(tile_sync_by_part_of_the_tile, 1, 64),
    CASE(syncwarp_by_half_the_lanes, 1, 32),      CASE(tile_sync_for_a_block_sync, 1, 64),
    CASE(small_tile_for_a_large_one, 1, 32),      RIGHT(tiles_exchange_within_themselves, 1, 64),
    RIGHT(coalesced_group_of_some, 1, 32),        RIGHT(lanes_leave_before_syncwarp, 1, 32),
    RIGHT(both_sides_have_their_syncwarp, 1, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
