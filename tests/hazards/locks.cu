// Locks: how they are taken and given back.
#include "cases.h"

__device__ inline void take(uint* lock) {
  while (atomicCAS(lock, 0u, 1u) != 0) {}
  __threadfence();
}
__device__ inline void give(uint* lock) {
  __threadfence();
  atomicExch(lock, 0u);
}

KERNEL(taken_without_a_fence) {
  if (threadIdx.x != 0) return;
  if (Right)
    take(words);
  else
    while (atomicCAS(words, 0u, 1u) != 0) {}
  out[0] += in[blockIdx.x];  // HERE: race_global
  give(words);
}
KERNEL(given_without_a_fence) {
  if (threadIdx.x != 0) return;
  take(words);
  out[0] += in[blockIdx.x];  // HERE: race_global
  if (Right) __threadfence();
  atomicExch(words, 0u);
}
KERNEL(given_by_a_plain_store) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(words, 0u, 1u) != 0) {}  // HERE: race_global
  __threadfence();
  raw[blockIdx.x] = in[blockIdx.x];
  __threadfence();
  if (Right)
    atomicExch(words, 0u);
  else
    words[0] = 0;  // HERE: race_global
}
KERNEL(given_by_an_atomic_of_block_scope) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(words, 0u, 1u) != 0) {}  // HERE: race_global
  __threadfence();
  out[0] += in[blockIdx.x];  // HERE: race_global
  __threadfence();
  if (Right)
    atomicExch(words, 0u);
  else
    atomicExch_block(words, 0u);
}
KERNEL(taken_with_block_scope) {
  if (threadIdx.x != 0) return;
  while ((Right ? atomicCAS(words, 0u, 1u) : atomicCAS_block(words, 0u, 1u)) != 0) {}  // HERE: race_global
  __threadfence();
  out[0] += in[blockIdx.x];  // HERE: race_global
  give(words);
}
KERNEL(fences_of_block_scope) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(words, 0u, 1u) != 0) {}
  if (Right)
    __threadfence();
  else
    __threadfence_block();
  out[0] += in[blockIdx.x];  // HERE: race_global
  if (Right)
    __threadfence();
  else
    __threadfence_block();
  atomicExch(words, 0u);
}
KERNEL(data_behind_the_lock) {
  if (threadIdx.x != 0) return;
  take(words);
  if (Right) out[0] += in[blockIdx.x];
  give(words);
  if (!Right) out[0] += in[blockIdx.x];  // HERE: race_global
}
KERNEL(data_before_the_lock) {
  if (threadIdx.x != 0) return;
  int sum = 0;
  if (!Right) sum = out[0];  // HERE: race_global
  take(words);
  if (Right) sum = out[0];
  out[0] = sum + in[blockIdx.x];
  give(words);
}
KERNEL(two_locks_for_one_word) {
  if (threadIdx.x != 0) return;
  uint* lock = Right ? words : words + blockIdx.x % 2;
  take(lock);
  out[0] += in[blockIdx.x];  // HERE: race_global
  give(lock);
}
// The lock is one thread's, the data are the whole block's.
KERNEL(block_behind_one_threads_lock) {
  const uint t = threadIdx.x;
  if (t == 0) take(words);
  __syncthreads();
  out[t] += in[t];  // HERE: race_global
  if (Right) __syncthreads();
  if (t == 0) give(words);
}
KERNEL(block_does_not_wait_for_the_lock) {
  const uint t = threadIdx.x;
  if (t == 0) take(words);
  if (Right) __syncthreads();
  out[t] += in[t];  // HERE: race_global
  __syncthreads();
  if (t == 0) give(words);
}
KERNEL(warp_does_not_wait_for_the_lock) {
  const uint t = threadIdx.x;
  if (t >= 32) return;
  if (t == 0) take(words);
  if (Right) __syncwarp();
  out[t] += in[t];  // HERE: race_global
  __syncwarp();
  if (t == 0) give(words);
}
KERNEL(warp_gives_the_lock_early) {
  const uint t = threadIdx.x;
  if (t >= 32) return;
  if (t == 0) take(words);
  __syncwarp();
  out[t] += in[t];  // HERE: race_global
  if (Right) __syncwarp();
  if (t == 0) give(words);
}
// Many rounds: what is known must not grow with them.
KERNEL(many_rounds) {
  if (threadIdx.x != 0) return;
  for (int round = 0; round < 16; ++round) {
    uint* lock = words + (round + blockIdx.x) % 4;
    take(lock);
    const int at = static_cast<int>((round + blockIdx.x) % 4);
    out[at] += in[round];
    give(lock);
    if (!Right && round == 15) out[5] = static_cast<int>(blockIdx.x);  // HERE: race_global
  }
}
KERNEL(ticket_lock) {
  if (threadIdx.x != 0) return;
  volatile uint* serving = words + 1;
  const uint mine = atomicAdd(&words[0], 1u);
  while (*serving != mine) {}
  if (Right) __threadfence();
  out[0] += in[blockIdx.x];  // HERE: race_global
  __threadfence();
  *serving = mine + 1;
}
// Within a block, by a lock in shared memory.
KERNEL(lock_in_shared_memory) {
  __shared__ uint lock;
  __shared__ int sum;
  if (threadIdx.x == 0) lock = 0, sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0u, 1u) != 0) {}
    if (Right) __threadfence_block();
    sum += in[threadIdx.x];  // HERE: race_shared
    __threadfence_block();
    atomicExch(&lock, 0u);
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}
KERNEL(shared_lock_given_without_a_fence) {
  __shared__ uint lock;
  __shared__ int sum;
  if (threadIdx.x == 0) lock = 0, sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0u, 1u) != 0) {}
    __threadfence_block();
    sum += in[threadIdx.x];  // HERE: race_shared
    if (Right) __threadfence_block();
    atomicExch(&lock, 0u);
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}
KERNEL(shared_lock_given_by_a_plain_store) {
  __shared__ uint lock;
  if (threadIdx.x == 0) lock = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0u, 1u) != 0) {}  // HERE: race_shared
    __threadfence_block();
    raw[threadIdx.x] = in[threadIdx.x];
    __threadfence_block();
    if (Right)
      atomicExch(&lock, 0u);
    else
      *static_cast<uint*>(&lock) = 0;  // HERE: race_shared
  }
}
// Lanes of one warp take turns.
KERNEL(lanes_take_turns) {
  if (threadIdx.x >= 4) return;
  for (bool done = false; !done;)
    if (atomicCAS(words, 0u, 1u) == 0) {
      __threadfence();
      out[0] += in[threadIdx.x];  // HERE: race_global
      if (Right) __threadfence();
      atomicExch(words, 0u);
      done = true;
    }
}
// A try that fails must leave the data alone.
KERNEL(try_that_fails) {
  if (threadIdx.x != 0) return;
  const bool got = atomicCAS(words, 0u, 1u) == 0;
  __threadfence();
  if (got || !Right) out[0] += in[blockIdx.x];  // HERE: race_global
}

const Case kCases[] = {
    CASE(taken_without_a_fence, 4, 32),
    CASE(given_without_a_fence, 4, 32),
    CASE(given_by_a_plain_store, 4, 32),
    CASE(given_by_an_atomic_of_block_scope, 4, 32),
    CASE(taken_with_block_scope, 4, 32),
    CASE(fences_of_block_scope, 4, 32),
    CASE(data_behind_the_lock, 4, 32),
    CASE(data_before_the_lock, 4, 32),
    CASE(two_locks_for_one_word, 4, 32),
    CASE(block_behind_one_threads_lock, 4, 64),
    CASE(block_does_not_wait_for_the_lock, 4, 64),
    CASE(warp_does_not_wait_for_the_lock, 4, 32),
    CASE(warp_gives_the_lock_early, 4, 32),
    CASE(many_rounds, 8, 32),
    CASE(ticket_lock, 4, 32),
    CASE(lock_in_shared_memory, 1, 128),
    CASE(shared_lock_given_without_a_fence, 1, 128),
    CASE(shared_lock_given_by_a_plain_store, 1, 128),
    CASE(lanes_take_turns, 1, 32),
    CASE(try_that_fails, 4, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
