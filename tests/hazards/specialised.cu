// Warps with tasks of their own, parts of groups, wide atomics, waits that sleep, memory read as if it were constant.
#include <cooperative_groups.h>

#include "bulk.h"

namespace cg = cooperative_groups;

#define HEARD(object) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(at(object)) : "memory")

// ---- several copies, several barrier objects

KERNEL(expects_half_of_the_bytes) {
  alignas(16) __shared__ int tile[128];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) init(&object, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&object, Right ? 512 : 256);
    BRING(tile, in, 256, &object);
    BRING(tile + 64, in + 64, 256, &object);
  }
  wait(&object, 0);
  out[threadIdx.x] = tile[64 + threadIdx.x];  // HERE: early_use
}
// Warp 0 brings tiles, warps 1 to 3 use them.
KERNEL(one_consumer_too_few_is_counted) {
  alignas(16) __shared__ int tile[32];
  alignas(8) __shared__ unsigned long long full, empty;
  if (threadIdx.x == 0) init(&full, 1), init(&empty, Right ? 3 : 2);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int round = 0; round < 4; ++round) {
    if (warp == 0 && lane == 0) {
      if (round > 0) wait(&empty, (round - 1) % 2);
      expect(&full, 128);
      BRING(tile, in + 32 * round, 128, &full);  // HERE: race_shared
    } else if (warp > 0) {
      if (!Right && round > 0 && warp == 3) break;
      wait(&full, round % 2);
      out[128 * round + threadIdx.x] = tile[lane];
      __syncwarp();
      if (lane == 0 && (Right || warp < 3)) HEARD(&empty);
    }
  }
}
KERNEL(lane_says_empty_before_its_warp_has_read) {
  alignas(16) __shared__ int tile[32];
  alignas(8) __shared__ unsigned long long full, empty;
  if (threadIdx.x == 0) init(&full, 1), init(&empty, 1);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < 4; ++round) {
    if (threadIdx.x == 0) {
      if (round > 0) wait(&empty, (round - 1) % 2);
      expect(&full, 128);
      BRING(tile, in + 32 * round, 128, &full);  // HERE: race_shared
    } else if (threadIdx.x >= 32) {
      wait(&full, round % 2);
      out[32 * round + lane] = tile[31 - lane];
      if (Right) __syncwarp();
      if (lane == 0) HEARD(&empty);
    }
  }
}
KERNEL(stages_swapped_by_the_consumer) {
  alignas(16) __shared__ int tile[2][32];
  alignas(8) __shared__ unsigned long long full[2];
  if (threadIdx.x == 0) init(&full[0], 1), init(&full[1], 1);
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 0; k < 2; ++k) {
      expect(&full[k], 128);
      BRING(tile[k], in + 32 * k, 128, &full[k]);
    }
  if (threadIdx.x >= 32)
    for (int k = 0; k < 2; ++k) {
      wait(&full[k], 0);
      out[32 * k + threadIdx.x] = tile[Right ? k : 1 - k][threadIdx.x % 32];  // HERE: early_use
    }
}
// Two halves of a block take turns by two named barriers.
KERNEL(turn_is_given_before_the_box_is_read) {
  __shared__ int box[64];
  const int half = threadIdx.x / 64, i = threadIdx.x % 64;
  for (int round = 0; round < 2; ++round) {
    if (half == 0) {
      if (round > 0) asm volatile("bar.sync 2, 128;" : : : "memory");
      box[i] = in[64 * round + i];  // HERE: race_shared
      asm volatile("bar.arrive 1, 128;" : : : "memory");
    } else {
      asm volatile("bar.sync 1, 128;" : : : "memory");
      if (!Right && round < 1) asm volatile("bar.arrive 2, 128;" : : : "memory");
      out[64 * round + i] = box[63 - i];
      if (Right && round < 1) asm volatile("bar.arrive 2, 128;" : : : "memory");
    }
  }
}

// ---- parts of groups

KERNEL(part_reads_the_box_of_another) {
  __shared__ int box[32];
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const bool odd = threadIdx.x % 2 != 0;
  const auto part = cg::binary_partition(tile, odd);
  box[threadIdx.x] = in[threadIdx.x];
  if (Right)
    tile.sync();
  else
    part.sync();
  out[threadIdx.x] = box[31 - threadIdx.x];  // HERE: race_shared
}
KERNEL(part_synchronised_by_some) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto part = cg::labeled_partition(tile, threadIdx.x / 8);
  if (Right || part.thread_rank() < 4) part.sync();  // HERE: divergent_barrier
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(group_of_lanes_that_have_parted) {
  const auto all = cg::coalesced_threads();
  if (in[threadIdx.x] % 2 == 0) {
    if (!Right) all.sync();
    out[threadIdx.x] = 1;
  }
  if (Right) all.sync();
  __syncthreads();  // HERE: divergent_barrier
  out[32 + threadIdx.x] = out[31 - threadIdx.x];
}
KERNEL(shuffle_in_a_group_of_other_lanes) {
  const auto all = cg::coalesced_threads();
  int value = in[threadIdx.x];
  if (Right || threadIdx.x < 16) value = all.shfl(value, 20);
  if (value > 5)  // HERE: uninitialised
    out[threadIdx.x] = value;
}

// ---- wide atomics and vectors

#define SWAP16(p, a, b)                                                                             \
  asm volatile(                                                                                     \
      "{\n.reg .b128 x, y;\nmov.b128 x, {%2, %3};\natom.global.relaxed.gpu.exch.b128 y, [%4], x;\n" \
      "mov.b128 {%0, %1}, y;\n}"                                                                    \
      : "=l"(a), "=l"(b)                                                                            \
      : "l"(a), "l"(b), "l"(p)                                                                      \
      : "memory")
#define ADD4(p, x) asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" : : "l"(p), "f"(x) : "memory")
KERNEL(half_of_a_wide_atomic_read_plainly) {
  auto* wide = reinterpret_cast<unsigned long long*>(words);
  unsigned long long a = blockIdx.x, b = ~a;
  if (Right || blockIdx.x > 0) {
    SWAP16(wide, a, b);  // HERE: race_global
  } else {
    b = wide[1];
  }
  out[blockIdx.x] = static_cast<int>(a + b);
}
KERNEL(vector_added_and_read) {
  auto* sums = reinterpret_cast<float*>(words);
  ADD4(sums, 1.0f);  // HERE: race_global
  if (!Right) out[blockIdx.x] = sums[3] > 1;
}

// ---- waits that sleep

KERNEL(lock_with_a_pause_given_without_a_fence) {
  for (uint pause = 8; atomicCAS(words, 0, 1) != 0; pause *= 2) __nanosleep(pause);
  __threadfence();
  out[0] += 1;  // HERE: race_global
  if (Right) __threadfence();
  atomicExch(words, 0);
}
// ---- memory that a kernel writes, read as if it were constant

KERNEL(constant_load_of_what_the_block_has_written) {
  out[64 * blockIdx.x + threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int* from = out + 64 * blockIdx.x + 63 - threadIdx.x;
  int value;
  if (Right)
    value = *from;
  else
    value = __ldg(from);  // HERE: race_global
  out[1024 + 64 * blockIdx.x + threadIdx.x] = value;
}
KERNEL(constant_load_of_what_the_thread_has_written) {
  int* mine = out + threadIdx.x;
  *mine = in[threadIdx.x];
  int value;
  if (Right)
    value = *mine;
  else
    value = __ldg(mine);  // HERE: race_global
  out[64 + threadIdx.x] = value;
}

const Case kCases[] = {
    CASE(expects_half_of_the_bytes, 1, 64),
    CASE(one_consumer_too_few_is_counted, 1, 128),
    CASE(lane_says_empty_before_its_warp_has_read, 1, 64),
    CASE(stages_swapped_by_the_consumer, 1, 64),
    CASE(turn_is_given_before_the_box_is_read, 1, 128),
    CASE(part_reads_the_box_of_another, 1, 32),
    CASE(part_synchronised_by_some, 1, 32),
    CASE(group_of_lanes_that_have_parted, 1, 32),
    CASE(shuffle_in_a_group_of_other_lanes, 1, 32),
    CASE(half_of_a_wide_atomic_read_plainly, 4, 1),
    CASE(vector_added_and_read, 4, 1),
    CASE(lock_with_a_pause_given_without_a_fence, 4, 1),
    CASE(constant_load_of_what_the_block_has_written, 2, 64),
    CASE(constant_load_of_what_the_thread_has_written, 1, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
