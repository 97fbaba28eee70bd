// Barriers that not all threads reach, and *_sync instructions with wrong masks.
#include "cases.h"

// ---- warps that skip a barrier

KERNEL(one_warp_skips) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  if (Right || threadIdx.x < 64) __syncthreads();  // HERE: divergent_barrier
  out[threadIdx.x] = all[threadIdx.x];
}
KERNEL(first_warp_skips) {
  if (Right || threadIdx.x >= 32) __syncthreads();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(skipped_by_data) {
  if (Right || in[threadIdx.x / 32] % 2 == 1) __syncthreads();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(trip_counts_differ) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  for (int round = 0; round < (Right ? 4 : 1 + warp); ++round) {
    out[threadIdx.x] += in[threadIdx.x];
    __syncthreads();  // HERE: divergent_barrier
  }
  out[256 + threadIdx.x] = in[threadIdx.x];
}
KERNEL(next_barrier_while_others_wait) {
  if (Right || threadIdx.x < 32) __syncthreads();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[256 + threadIdx.x] = in[threadIdx.x];
}
KERNEL(loop_left_early) {
  for (int round = 0; round < 4; ++round) {
    if (!Right && in[threadIdx.x / 32] == round + 1) break;
    __syncthreads();  // HERE: divergent_barrier
  }
  out[threadIdx.x] = in[threadIdx.x];
}

// ---- lanes that skip a barrier

KERNEL(half_of_each_warp) {
  if (Right || threadIdx.x % 32 < 16) __syncthreads();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(one_thread_skips) {
  if (Right || threadIdx.x != 45) __syncthreads();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}

// ---- right: what looks like it

// Threads leave, the others go on.
KERNEL(warps_leave_early) {
  if (threadIdx.x >= 96) return;
  out[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[256 + threadIdx.x] = out[95 - threadIdx.x];
}
KERNEL(a_warp_has_a_barrier_of_its_own) {
  __shared__ int box[64];
  const int t = threadIdx.x;
  if (t < 64) {
    box[t] = in[t];
    asm volatile("bar.sync 1, 64;" : : : "memory");
    out[t] = box[63 - t];
  } else {
    out[t] = in[t];
  }
}
KERNEL(both_branches_have_the_barrier) {
  __shared__ int all[128];
  const int t = threadIdx.x;
  for (int round = 0; round < 3; ++round) {
    if (t < 64) {
      all[t] = in[t];
      __syncthreads();
      out[t] += all[t + 64];
    } else {
      all[t] = in[t] + 1;
      __syncthreads();
      out[t] += all[t - 64];
    }
    __syncthreads();
  }
}
KERNEL(trip_count_from_memory) {
  for (int round = 0; round < in[3]; ++round) {
    out[threadIdx.x] += in[threadIdx.x + round];
    __syncthreads();
  }
  out[256 + threadIdx.x] = in[threadIdx.x];
}
KERNEL(votes_of_the_block) {
  const int any = __syncthreads_or(in[threadIdx.x] == 5);
  out[threadIdx.x] = any + __syncthreads_count(in[threadIdx.x] > 7);
}

// ---- masks

KERNEL(syncwarp_that_does_not_name_its_lane) {
  if (threadIdx.x < 16) __syncwarp(Right ? 0xffffu : 0xff00ffu);  // HERE: bad_mask
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(shuffle_that_does_not_name_its_lane) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(Right ? 0xffffu : 0xffu, in[threadIdx.x], 3);  // HERE: bad_mask
}
KERNEL(ballot_that_does_not_name_its_lane) {
  if (threadIdx.x < 16)
    out[threadIdx.x] =
        static_cast<int>(__ballot_sync(Right ? 0xffffu : 0xfffeu, in[threadIdx.x] > 3));  // HERE: bad_mask
}
KERNEL(any_that_does_not_name_its_lane) {
  if (threadIdx.x < 8) out[threadIdx.x] = __any_sync(Right ? 0xffu : 0xf0u, in[threadIdx.x] > 3);  // HERE: bad_mask
}
KERNEL(half_masks_swapped) {
  const bool low = threadIdx.x < 16;
  out[threadIdx.x] = __shfl_xor_sync(low == Right ? 0xffffu : 0xffff0000u, in[threadIdx.x], 1);  // HERE: bad_mask
}
KERNEL(active_lanes_name_themselves) {
  if (in[threadIdx.x] % 3 == 0) out[threadIdx.x] = __popc(__ballot_sync(__activemask(), 1));
}

// ---- values of lanes that take no part

KERNEL(shuffle_from_a_lane_elsewhere) {
  const uint t = threadIdx.x;
  if (t < 16) out[t] = __shfl_sync(0xffffu, in[t], Right ? 5 : 20);  // HERE: uninitialised
}
KERNEL(shuffle_from_lanes_that_do_not_exist) {
  int sum = in[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) {
    const int other = __shfl_down_sync(0xfffffu, sum, step);
    if (!Right || threadIdx.x + step < 20) sum += other;
  }
  if (threadIdx.x == 0) out[0] = sum;  // HERE: uninitialised
}
KERNEL(shuffle_within_its_width) { out[threadIdx.x] = __shfl_down_sync(0xfffffu, in[threadIdx.x], 2, 4); }

const Case kCases[] = {
    CASE(one_warp_skips, 1, 128),
    CASE(first_warp_skips, 1, 128),
    CASE(skipped_by_data, 1, 128),
    CASE(trip_counts_differ, 1, 128),
    CASE(next_barrier_while_others_wait, 1, 64),
    CASE(loop_left_early, 1, 128),
    CASE(half_of_each_warp, 1, 64),
    CASE(one_thread_skips, 1, 64),
    RIGHT(warps_leave_early, 1, 128),
    RIGHT(a_warp_has_a_barrier_of_its_own, 1, 128),
    RIGHT(both_branches_have_the_barrier, 1, 128),
    RIGHT(trip_count_from_memory, 1, 128),
    RIGHT(votes_of_the_block, 1, 128),
    CASE(syncwarp_that_does_not_name_its_lane, 1, 32),
    CASE(shuffle_that_does_not_name_its_lane, 1, 32),
    CASE(ballot_that_does_not_name_its_lane, 1, 32),
    CASE(any_that_does_not_name_its_lane, 1, 32),
    CASE(half_masks_swapped, 1, 32),
    RIGHT(active_lanes_name_themselves, 1, 32),
    CASE(shuffle_from_a_lane_elsewhere, 1, 32),
    CASE(shuffle_from_lanes_that_do_not_exist, 1, 20),
    RIGHT(shuffle_within_its_width, 1, 20),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
