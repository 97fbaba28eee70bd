// Waits that cannot end. Each case ends its launch; the line is where the first of the waiting threads waits.
#include <cooperative_groups.h>

#include "cases.h"

#define COOPERATIVE(name, blocks, threads)                                                                       \
  {#name,                                                                                                        \
   {[](const Data& d) {                                                                                          \
      void* arguments[] = {(void*)&d.in, (void*)&d.out, (void*)&d.words, (void*)&d.raw};                         \
      cudaLaunchCooperativeKernel((const void*)name<false>, dim3(blocks), dim3(threads), arguments, 0, nullptr); \
    },                                                                                                           \
    [](const Data& d) {                                                                                          \
      void* arguments[] = {(void*)&d.in, (void*)&d.out, (void*)&d.words, (void*)&d.raw};                         \
      cudaLaunchCooperativeKernel((const void*)name<true>, dim3(blocks), dim3(threads), arguments, 0, nullptr);  \
    }},                                                                                                          \
   true}

// ---- between blocks

KERNEL(lock_that_nobody_gives_back) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&words[0], 0u, 1u) != 0) {}  // HERE: deadlock
  __threadfence();
  out[0] += in[blockIdx.x];
  __threadfence();
  if (Right || blockIdx.x != 1) atomicExch(&words[0], 0u);
}
KERNEL(lock_taken_twice) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&words[0], 0u, 1u) != 0) {}
  if (!Right)
    while (atomicCAS(&words[0], 0u, 1u) != 0) {}  // HERE: deadlock
  __threadfence();
  out[0] += in[blockIdx.x];
  __threadfence();
  atomicExch(&words[0], 0u);
}
// Both hold one and ask for the other's. They meet before, so that it does not depend on luck.
KERNEL(two_locks_in_opposite_order) {
  if (threadIdx.x != 0) return;
  const uint first = Right ? 0 : blockIdx.x, second = 1 - first;
  while (atomicExch(&words[first], 1u) != 0) {}
  if (!Right) {
    atomicAdd(&words[2], 1u);
    while (atomicAdd(&words[2], 0u) < 2) {}
  }
  while (atomicExch(&words[second], 1u) != 0) {}  // HERE: deadlock
  __threadfence();
  out[0] += in[blockIdx.x];
  __threadfence();
  atomicExch(&words[second], 0u);
  atomicExch(&words[first], 0u);
}
KERNEL(flag_that_nobody_sets) {
  if (threadIdx.x != 0) return;
  volatile uint* flags = words;
  if (blockIdx.x == 1) {
    flags[Right ? 0 : 1] = 1;
    return;
  }
  while (flags[0] == 0) {}  // HERE: deadlock
  out[0] = in[0];
}
KERNEL(each_waits_for_its_left_neighbour) {
  if (threadIdx.x != 0) return;
  const uint left = (blockIdx.x + gridDim.x - 1) % gridDim.x;
  if (!Right || blockIdx.x > 0)
    while (load_acquire(&words[left]) == 0) {}  // HERE: deadlock
  store_release(&words[blockIdx.x], 1);
}
KERNEL(barrier_of_blocks_counts_one_too_many) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&words[0], 1u);
    while (atomicAdd(&words[0], 0u) < gridDim.x + (Right ? 0 : 1)) {}  // HERE: deadlock
    __threadfence();
  }
  __syncthreads();
  out[blockIdx.x] = in[blockIdx.x];
}
KERNEL(ticket_that_is_not_called) {
  if (threadIdx.x != 0) return;
  const uint mine = atomicAdd(&words[0], 1u);
  while (load_acquire(&words[1]) != mine) {}  // HERE: deadlock
  out[0] += in[blockIdx.x];
  if (Right || blockIdx.x != 2) store_release(&words[1], mine + 1);
}
KERNEL(consumer_and_producer_wait_for_each_other) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (!Right)
      while (load_acquire(&words[1]) == 0) {}  // HERE: deadlock
    out[0] = in[0];
    store_release(&words[0], 1);
  } else {
    while (load_acquire(&words[0]) == 0) {}
    out[1] = out[0];
    store_release(&words[1], 1);
  }
}
KERNEL(grid_sync_by_some_blocks) {
  if (Right || blockIdx.x != 2) cooperative_groups::this_grid().sync();  // HERE: deadlock
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
}

// Waits that sleep for longer and longer, by a clock that does not end them.
__device__ inline unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
__device__ inline void sleep(uint ns) { asm volatile("nanosleep.u32 %0;" : : "r"(ns)); }
KERNEL(sleeps_for_longer_and_longer) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) {
    out[0] = in[0];
    __threadfence();
    atomicExch(&words[Right ? 0 : 1], 1u);
    return;
  }
  const unsigned long long begin = nanoseconds();
  for (int count = 0; atomicAdd(&words[0], 0u) == 0;) {  // HERE: deadlock
    if (count < 16) {
      ++count;
      continue;
    }
    const unsigned long long step = (nanoseconds() - begin) / 4;
    if (step >= 100000)
      sleep(100000);
    else if (step >= 1000)
      sleep(static_cast<uint>(step));
  }
  __threadfence();
  out[1] = out[0];
}
// The clock ends it.
KERNEL(waits_for_a_millisecond) {
  if (threadIdx.x != 0) return;
  const unsigned long long begin = nanoseconds();
  while (atomicAdd(&words[0], 0u) == 0) {
    const unsigned long long passed = nanoseconds() - begin;
    if (passed > 1000000) break;
    if (passed > 1000) sleep(static_cast<uint>(passed / 4));
  }
  out[0] = in[0];
}
// The clock has it count, and the count ends it.
KERNEL(counts_the_milliseconds) {
  if (threadIdx.x != 0) return;
  unsigned long long last = nanoseconds();
  for (int count = 0; count < 3 && atomicAdd(&words[0], 0u) == 0;) {
    const unsigned long long now = nanoseconds();
    if (now - last < 1000000) continue;
    last = now;
    ++count;
  }
  out[0] = in[0];
}

// ---- within a block

KERNEL(flag_set_behind_a_barrier) {
  __shared__ volatile uint flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 32 && Right) flag = 1;
  if (threadIdx.x == 0)
    while (flag == 0) {}  // HERE: deadlock
  __syncthreads();
  if (threadIdx.x == 32) flag = 1;
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(named_barrier_of_too_many) {
  if (threadIdx.x < 64) {
    if (Right)
      asm volatile("bar.sync 1, 64;" : : : "memory");
    else
      asm volatile("bar.sync 1, 96;" : : : "memory");  // HERE: deadlock
  }
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(two_named_barriers_crossed) {
  if (Right || threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" : : : "memory");  // HERE: deadlock
    asm volatile("bar.sync 2, 64;" : : : "memory");
  } else {
    asm volatile("bar.sync 2, 64;" : : : "memory");
    asm volatile("bar.sync 1, 64;" : : : "memory");
  }
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(warps_counted_as_threads) {
  __shared__ uint there;
  if (threadIdx.x == 0) there = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&there, 1u);
    while (atomicAdd(&there, 0u) < (Right ? blockDim.x / 32 : blockDim.x)) {}  // HERE: deadlock
  }
  out[threadIdx.x] = in[threadIdx.x];
}
KERNEL(lane_waits_for_one_that_waits_for_it) {
  __shared__ volatile uint flag;
  if (threadIdx.x == 0) flag = 0;
  __syncwarp();
  if (Right && threadIdx.x == 1) flag = 1;
  if (threadIdx.x == 0)
    while (flag == 0) {}  // HERE: deadlock
  __syncwarp();
  if (threadIdx.x == 1) flag = 1;
  out[threadIdx.x] = in[threadIdx.x];
}

// The block in the middle changes nothing but by its last instruction, for which the third waits.
KERNEL(told_by_a_block_s_last_instruction) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = 1;
    __threadfence();
    atomicExch(&words[0], 1u);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(&words[0], 0u) == 0) {}
    __threadfence();
    atomicExch(&words[1], 1u);
  } else {
    while (atomicAdd(&words[1], 0u) == 0) {}
    __threadfence();
    out[1] = out[0];
  }
}

const Case kCases[] = {
    ENDS(lock_that_nobody_gives_back, 3, 32),
    ENDS(lock_taken_twice, 1, 32),
    ENDS(two_locks_in_opposite_order, 2, 32),
    ENDS(flag_that_nobody_sets, 2, 32),
    ENDS(each_waits_for_its_left_neighbour, 4, 32),
    ENDS(barrier_of_blocks_counts_one_too_many, 3, 64),
    ENDS(ticket_that_is_not_called, 4, 32),
    ENDS(consumer_and_producer_wait_for_each_other, 2, 32),
    COOPERATIVE(grid_sync_by_some_blocks, 4, 32),
    ENDS(flag_set_behind_a_barrier, 1, 64),
    ENDS(named_barrier_of_too_many, 1, 96),
    ENDS(two_named_barriers_crossed, 1, 64),
    ENDS(warps_counted_as_threads, 1, 128),
    ENDS(lane_waits_for_one_that_waits_for_it, 1, 32),
    RIGHT(told_by_a_block_s_last_instruction, 3, 32),
    ENDS(sleeps_for_longer_and_longer, 2, 32),
    RIGHT(waits_for_a_millisecond, 1, 32),
    RIGHT(counts_the_milliseconds, 1, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
