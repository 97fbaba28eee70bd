// Cooperative groups that a part of their threads synchronise, and accesses across groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

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

// Copies of cg::memcpy_async are there behind the group's wait, no earlier.
KERNEL(copy_of_a_group_without_a_wait) {
  alignas(16) __shared__ int box[64];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, box, in, sizeof box);
  if (Right)
    cg::wait(block);
  else
    block.sync();
  out[threadIdx.x] = box[63 - threadIdx.x];  // HERE: early_use
}
KERNEL(waits_for_the_copy_before_last) {
  alignas(16) __shared__ int box[2][64];
  auto block = cg::this_thread_block();
  for (int k = 0; k < 2; ++k) cg::memcpy_async(block, box[k], in + 64 * k, sizeof box[k]);
  if (Right)
    cg::wait(block);
  else
    cg::wait_prior<1>(block);
  out[threadIdx.x] = box[1][63 - threadIdx.x];  // HERE: early_use
}
KERNEL(first_stage_of_two) {
  alignas(16) __shared__ int box[2][64];
  auto block = cg::this_thread_block();
  for (int k = 0; k < 2; ++k) cg::memcpy_async(block, box[k], in + 64 * k, sizeof box[k]);
  cg::wait_prior<1>(block);
  out[threadIdx.x] = box[0][63 - threadIdx.x];
  cg::wait(block);
}
KERNEL(copy_of_a_tile_read_by_the_block) {
  alignas(16) __shared__ int box[64];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const uint first = threadIdx.x / 32 * 32;
  box[threadIdx.x] = 0;
  __syncthreads();
  cg::memcpy_async(tile, box + first, in + first, 32 * sizeof(int));  // HERE: race_shared
  cg::wait(tile);
  if (Right) __syncthreads();
  out[threadIdx.x] = box[63 - threadIdx.x];
}
KERNEL(box_filled_again_too_early) {
  alignas(16) __shared__ int box[64];
  auto block = cg::this_thread_block();
  for (int k = 0; k < 2; ++k) {
    cg::memcpy_async(block, box, in + 64 * k, sizeof box);  // HERE: race_shared
    cg::wait(block);
    out[64 * k + threadIdx.x] = box[63 - threadIdx.x];
    if (Right) block.sync();
  }
}
// The grid's threads have to come all.
KERNEL(grid_sync_by_some_blocks) {
  if (Right || blockIdx.x != 0) cg::this_grid().sync();  // HERE: deadlock
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
}
KERNEL(block_sync_for_a_grid_sync) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];  // HERE: race_global
  if (Right)
    cg::this_grid().sync();
  else
    cg::this_thread_block().sync();
  raw[blockIdx.x * blockDim.x + threadIdx.x] = out[(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x];
}
KERNEL(grids_sync_twice) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
  cg::this_grid().sync();
  const int other = out[(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x];
  cg::this_grid().sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = other + 1;
}

template <void (*Kernel)(const int*, int*, uint*, int*)>
void together(const Data& d) {
  const int* in = d.in;
  int *out = d.out, *raw = d.raw;
  uint* words = d.words;
  void* arguments[] = {&in, &out, &words, &raw};
  cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Kernel), dim3(4), dim3(64), arguments, 0, nullptr);
}
#define TOGETHER(name) {#name, {together<name<false>>, together<name<true>>}, false}

const Case kCases[] = {
    CASE(block_sync_by_half_the_warps, 1, 128),
    CASE(tile_sync_by_part_of_the_tile, 1, 64),
    CASE(syncwarp_by_half_the_lanes, 1, 32),
    CASE(tile_sync_for_a_block_sync, 1, 64),
    CASE(small_tile_for_a_large_one, 1, 32),
    RIGHT(tiles_exchange_within_themselves, 1, 64),
    RIGHT(coalesced_group_of_some, 1, 32),
    RIGHT(lanes_leave_before_syncwarp, 1, 32),
    RIGHT(both_sides_have_their_syncwarp, 1, 32),
    CASE(copy_of_a_group_without_a_wait, 1, 64),
    CASE(waits_for_the_copy_before_last, 1, 64),
    RIGHT(first_stage_of_two, 1, 64),
    CASE(copy_of_a_tile_read_by_the_block, 1, 64),
    CASE(box_filled_again_too_early, 1, 64),
    TOGETHER(block_sync_for_a_grid_sync),
    {"grids_sync_twice", {nullptr, together<grids_sync_twice<true>>}, false},
    {"grid_sync_by_some_blocks",
     {together<grid_sync_by_some_blocks<false>>, together<grid_sync_by_some_blocks<true>>},
     true},
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
