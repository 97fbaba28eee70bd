// Order within a block: barriers, __syncwarp, flags and atomics in shared memory.
#include <cooperative_groups.h>

#include "cases.h"

// ---- between warps

KERNEL(write_then_read) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  if (Right) __syncthreads();
  out[threadIdx.x] = all[(threadIdx.x + 32) % 128];  // HERE: race_shared
}
KERNEL(read_then_write) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int other = all[(threadIdx.x + 32) % 128];
  if (Right) __syncthreads();
  all[threadIdx.x] = other;  // HERE: race_shared
  out[threadIdx.x] = all[threadIdx.x];
}
KERNEL(syncwarp_for_syncthreads) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  if (Right)
    __syncthreads();
  else
    __syncwarp();
  out[threadIdx.x] = all[(threadIdx.x + 32) % 128];  // HERE: race_shared
}
KERNEL(fence_for_a_barrier) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  if (Right)
    __syncthreads();
  else
    __threadfence_block();
  out[threadIdx.x] = all[(threadIdx.x + 32) % 128];  // HERE: race_shared
}
KERNEL(second_round_overwrites) {
  __shared__ int all[128];
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    all[threadIdx.x] = in[threadIdx.x + round];  // HERE: race_shared
    __syncthreads();
    sum += all[127 - threadIdx.x];
    if (Right) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
KERNEL(two_buffers_in_turn) {
  __shared__ int all[2][128];
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    int* buffer = all[Right ? round % 2 : 0];
    buffer[threadIdx.x] = in[threadIdx.x + round];  // HERE: race_shared
    __syncthreads();
    sum += buffer[127 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
KERNEL(tree_without_barriers) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (static_cast<int>(threadIdx.x) < step) all[threadIdx.x] += all[threadIdx.x + step];  // HERE: race_shared
    if (Right) __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = all[0];
}
KERNEL(barrier_before_the_last_store) {
  __shared__ int total;
  const int mine = in[threadIdx.x];
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (threadIdx.x == 0) total = mine;
  if (Right) __syncthreads();
  out[threadIdx.x] = total;  // HERE: race_shared
}
KERNEL(two_writers) {
  __shared__ int last;
  if (Right ? threadIdx.x == 64 : threadIdx.x % 64 == 0) last = static_cast<int>(threadIdx.x);  // HERE: race_shared
  __syncthreads();
  out[threadIdx.x] = last;
}
KERNEL(counter_of_all) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (Right)
    atomicAdd(&count, 1);
  else
    count = count + in[threadIdx.x];  // HERE: race_shared
  __syncthreads();
  out[threadIdx.x] = count;
}
KERNEL(counter_read_early) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);  // HERE: race_shared
  if (Right) __syncthreads();
  out[threadIdx.x] = count;
}
KERNEL(counter_cleared_late) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  if (Right) __syncthreads();
  atomicAdd(&count, 1);  // HERE: race_shared
  __syncthreads();
  out[threadIdx.x] = count;
}
KERNEL(neighbours_bytes_in_one_word) {
  __shared__ unsigned char bytes[132];
  bytes[threadIdx.x] = static_cast<unsigned char>(in[threadIdx.x]);
  __syncthreads();
  if (!Right) bytes[threadIdx.x + 1] = static_cast<unsigned char>(in[threadIdx.x + 2]);
  if (!Right) out[threadIdx.x] = bytes[threadIdx.x];  // HERE: race_shared
  if (Right) out[threadIdx.x] = bytes[127 - threadIdx.x];
}
KERNEL(column_of_a_neighbours_row) {
  __shared__ int tile[4][33];
  const uint row = threadIdx.x / 32, column = threadIdx.x % 32;
  tile[row][column] = in[threadIdx.x];
  if (Right) __syncthreads();
  out[threadIdx.x] = tile[column % 4][column];  // HERE: race_shared
}
KERNEL(named_barrier_of_another_number) {
  __shared__ int box[64];
  const int t = threadIdx.x;
  if (t < 64) {
    box[t] = in[t];
    asm volatile("bar.arrive 1, 128;" : : : "memory");
    asm volatile("bar.sync 2, 128;" : : : "memory");
  } else {
    if (Right) asm volatile("bar.sync 1, 128;" : : : "memory");
    if (!Right) out[t] = box[t - 64];  // HERE: race_shared
    if (!Right) asm volatile("bar.sync 1, 128;" : : : "memory");
    if (Right) out[t] = box[t - 64];
    asm volatile("bar.arrive 2, 128;" : : : "memory");
  }
}
// Threads that leave before the barrier are no party of it.
KERNEL(half_of_the_block_leaves) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  if (Right) __syncthreads();
  if (threadIdx.x >= 64) return;
  out[threadIdx.x] = all[threadIdx.x + 64];  // HERE: race_shared
}

// ---- flags and atomics

KERNEL(shared_flag_without_a_fence) {
  __shared__ int data;
  __shared__ volatile uint flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = in[0];
    if (Right) __threadfence_block();
    flag = 1;
  } else if (threadIdx.x == 32) {
    while (flag == 0) {}
    __threadfence_block();
    out[0] = data;  // HERE: race_shared
  }
}
KERNEL(shared_flag_read_without_a_fence) {
  __shared__ int data;
  __shared__ volatile uint flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = in[0];
    __threadfence_block();
    flag = 1;
  } else if (threadIdx.x == 32) {
    while (flag == 0) {}
    if (Right) __threadfence_block();
    out[0] = data;  // HERE: race_shared
  }
}
KERNEL(relaxed_atomic_in_shared_memory) {
  __shared__ int data;
  __shared__ uint flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = in[0];
    if (Right) __threadfence_block();
    atomicExch(&flag, 1u);
  } else if (threadIdx.x == 32) {
    while (atomicAdd(&flag, 0u) == 0) {}
    if (Right) __threadfence_block();
    out[0] = data;  // HERE: race_shared
  }
}
KERNEL(global_word_between_warps) {
  __shared__ int data;
  if (threadIdx.x == 0) {
    data = in[0];
    if (Right) __threadfence_block();
    atomicExch_block(&words[0], 1u);
  } else if (threadIdx.x == 32) {
    while (atomicAdd_block(&words[0], 0u) == 0) {}
    __threadfence_block();
    out[0] = data;  // HERE: race_shared
  }
}
KERNEL(slots_given_out_by_an_atomic) {
  __shared__ uint next;
  __shared__ int slots[128];
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  slots[Right ? atomicAdd(&next, 1u) : in[threadIdx.x] / 2] = static_cast<int>(threadIdx.x);  // HERE: race_shared
  __syncthreads();
  out[threadIdx.x] = Right ? slots[threadIdx.x] : slots[1 + threadIdx.x % 60];
}

// ---- within a warp

KERNEL(lanes_exchange_without_syncwarp) {
  __shared__ int all[32];
  const uint t = threadIdx.x;
  all[t] = in[t];
  if (Right) __syncwarp();
  out[t] = all[31 - t];  // HERE: race_shared
}
KERNEL(lanes_overwrite_without_syncwarp) {
  __shared__ int all[32];
  const uint t = threadIdx.x;
  all[t] = in[t];
  __syncwarp();
  const int other = all[31 - t];
  if (Right) __syncwarp();
  all[t] = other;  // HERE: race_shared
  out[t] = all[t];
}
KERNEL(syncwarp_of_half_the_lanes) {
  __shared__ int all[32];
  const uint t = threadIdx.x;
  all[t] = in[t];
  if (Right)
    __syncwarp();
  else
    __syncwarp(t < 16 ? 0xffffu : 0xffff0000u);
  out[t] = all[31 - t];  // HERE: race_shared
}
KERNEL(each_half_for_itself) {
  __shared__ int all[32];
  const uint t = threadIdx.x;
  all[t] = in[t];
  if (Right) __syncwarp(t < 16 ? 0xffffu : 0xffff0000u);
  out[t] = all[t ^ 15];  // HERE: race_shared
}
KERNEL(shuffle_for_syncwarp) {
  __shared__ int all[32];
  const uint t = threadIdx.x;
  all[t] = in[t];
  const int other = __shfl_xor_sync(~0u, in[t], 1);
  if (Right) __syncwarp();
  out[t] = all[31 - t] + other;  // HERE: race_shared
}
KERNEL(vote_for_syncwarp) {
  __shared__ int all[32];
  const uint t = threadIdx.x;
  all[t] = in[t];
  const bool any = __any_sync(~0u, in[t] > 5);
  if (Right) __syncwarp();
  out[t] = any ? all[31 - t] : 0;  // HERE: race_shared
}
KERNEL(tree_of_a_warp) {
  __shared__ volatile int all[64];
  const uint t = threadIdx.x;
  all[t] = in[t];
  all[t + 32] = in[t + 32];
  if (Right) __syncwarp();
  for (int step = 32; step > 0; step /= 2) {
    const int sum = all[t] + all[t + step];  // HERE: race_shared
    if (Right) __syncwarp();
    all[t] = sum;
    if (Right) __syncwarp();
  }
  out[t] = all[0];  // HERE: race_shared
}
KERNEL(both_sides_of_a_branch) {
  __shared__ int one;
  const uint t = threadIdx.x;
  if (t == 0)
    one = in[0];
  else if (!Right)
    out[t] = one;  // HERE: race_shared
  __syncwarp();
  if (Right) out[t] = one;
}
KERNEL(leader_writes_for_its_warp) {
  __shared__ int first;
  const uint t = threadIdx.x;
  first = 0;
  __syncwarp();
  if (t == 0) first = in[0];  // HERE: race_shared
  if (Right) __syncwarp();
  out[t] = first;
}
KERNEL(tile_of_eight) {
  namespace cg = cooperative_groups;
  __shared__ int all[32];
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const uint t = threadIdx.x;
  all[t] = in[t];
  tile.sync();
  out[t] = all[Right ? t ^ 7 : t ^ 8];  // HERE: race_shared
}
KERNEL(global_memory_within_a_warp) {
  const uint t = threadIdx.x;
  out[t] = in[t];
  if (Right) __syncwarp();
  out[64 + t] = out[31 - t];  // HERE: race_global
}
KERNEL(global_memory_within_a_block) {
  const uint t = threadIdx.x;
  out[t] = in[t];
  if (Right) __syncthreads();
  out[256 + t] = out[127 - t];  // HERE: race_global
}

const Case kCases[] = {
    CASE(write_then_read, 1, 128),
    CASE(read_then_write, 1, 128),
    CASE(syncwarp_for_syncthreads, 1, 128),
    CASE(fence_for_a_barrier, 1, 128),
    CASE(second_round_overwrites, 1, 128),
    CASE(two_buffers_in_turn, 1, 128),
    CASE(tree_without_barriers, 1, 128),
    CASE(barrier_before_the_last_store, 1, 128),
    CASE(two_writers, 1, 128),
    CASE(counter_of_all, 1, 128),
    CASE(counter_read_early, 1, 128),
    CASE(counter_cleared_late, 1, 128),
    CASE(neighbours_bytes_in_one_word, 1, 128),
    CASE(column_of_a_neighbours_row, 1, 128),
    CASE(named_barrier_of_another_number, 1, 128),
    CASE(half_of_the_block_leaves, 1, 128),
    CASE(shared_flag_without_a_fence, 1, 64),
    CASE(shared_flag_read_without_a_fence, 1, 64),
    CASE(relaxed_atomic_in_shared_memory, 1, 64),
    CASE(global_word_between_warps, 1, 64),
    CASE(slots_given_out_by_an_atomic, 1, 128),
    CASE(lanes_exchange_without_syncwarp, 1, 32),
    CASE(lanes_overwrite_without_syncwarp, 1, 32),
    CASE(syncwarp_of_half_the_lanes, 1, 32),
    CASE(each_half_for_itself, 1, 32),
    CASE(shuffle_for_syncwarp, 1, 32),
    CASE(vote_for_syncwarp, 1, 32),
    CASE(tree_of_a_warp, 1, 32),
    CASE(both_sides_of_a_branch, 1, 32),
    CASE(leader_writes_for_its_warp, 1, 32),
    CASE(tile_of_eight, 1, 32),
    CASE(global_memory_within_a_warp, 1, 32),
    CASE(global_memory_within_a_block, 1, 128),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
