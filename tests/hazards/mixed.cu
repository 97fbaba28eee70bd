// Accesses of different kinds to one word, and what one side of a pair leaves out while the other is right: only some
// orders of blocks and warps show it.
#include "cases.h"

// ---- an atomic and a volatile store

KERNEL(exchange_and_a_volatile_store) {
  volatile uint* word = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0)
    atomicExch(&words[0], 1u);
  else if (Right)
    atomicExch(&words[0], 2u);
  else
    word[0] = 2;  // HERE: race_global
}
KERNEL(exchange_and_a_volatile_store_of_warps) {
  volatile uint* word = words;
  if (threadIdx.x == 0)
    atomicExch(&words[0], 1u);
  else if (threadIdx.x == 32)
    Right ? void(atomicExch(&words[0], 2u)) : void(word[0] = 2);  // HERE: race_global
}
KERNEL(narrow_exchange_and_a_volatile_store) {
  volatile uint* word = words;
  if (threadIdx.x == 0) atomicExch_block(&words[0], 1u);
  if (Right) __syncthreads();
  if (threadIdx.x == 32) word[0] = 2;  // HERE: race_global
}
KERNEL(maximum_and_a_volatile_reset) {
  volatile uint* word = words;
  atomicMax(&words[0], threadIdx.x + 1);  // HERE: race_global
  if (Right) __syncthreads();
  if (threadIdx.x == 0) word[0] = 0;
}
KERNEL(shared_sum_and_a_volatile_reset) {
  __shared__ uint sum;
  volatile uint* word = &sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1u);
  if (Right) __syncthreads();
  if (threadIdx.x == 40) *word = 7;  // HERE: race_shared
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(sum);
}
// A loop that takes numbers does not wait for the store, which undoes what others have taken.
KERNEL(numbers_taken_beside_a_volatile_reset) {
  volatile uint* next = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    uint mine;
    do {
      mine = atomicAdd(&words[0], 1u);
      out[mine] = in[mine];
    } while (mine < 8);
  } else if (Right) {
    atomicExch(&words[0], 8u);
  } else {
    next[0] = 8;  // HERE: race_global
  }
}
KERNEL(numbers_counted_round_beside_a_volatile_reset) {
  volatile uint* next = words;
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (uint k = 0; k < 8; ++k) out[k] = atomicInc(&words[0], 63u);  // HERE: race_global
  } else if (threadIdx.x == 32) {
    Right ? void(atomicExch(&words[0], 0u)) : void(next[0] = 0);
  }
}
// Right: a sum of nothing reads.
KERNEL(sum_of_nothing_waits_for_a_volatile_store) {
  volatile uint* flag = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = 5;
    if (Right) __threadfence();
    flag[0] = 1;
  } else {
    while (atomicAdd(&words[0], 0u) == 0) {}
    __threadfence();
    out[1] = out[0];  // HERE: race_global
  }
}

// A loop around an atomic waits for the volatile store; so does a try.
KERNEL(lock_given_by_a_volatile_store) {
  volatile uint* lock = words;
  if (threadIdx.x != 0) return;
  while (atomicCAS(words, 0u, 1u) != 0) {}
  __threadfence();
  out[0] += in[blockIdx.x];  // HERE: race_global
  if (Right) __threadfence();
  *lock = 0;
}
KERNEL(exchanged_lock_given_by_a_volatile_store) {
  volatile uint* lock = words;
  if (threadIdx.x != 0) return;
  while (atomicExch(words, 1u) != 0) {}
  if (Right) __threadfence();
  out[0] += in[blockIdx.x];  // HERE: race_global
  __threadfence();
  *lock = 0;
}
KERNEL(tried_lock_given_by_a_volatile_store) {
  volatile uint* lock = words;
  if (threadIdx.x != 0) return;
  if (atomicCAS(words, 0u, 1u) != 0) return;
  __threadfence();
  out[0] += in[blockIdx.x];  // HERE: race_global
  if (Right) __threadfence();
  *lock = 0;
}
// The last one to come sets the counter back: it has seen all others come.
KERNEL(counter_set_back_by_the_last) {
  volatile uint* count = words;
  if (threadIdx.x != 0) return;
  const uint before = atomicAdd(&words[0], 1u);  // HERE: race_global
  if (before == gridDim.x - (Right ? 1 : 2)) *count = 0;
}

// ---- one of two is wrong

// The first thread to take the lock has nothing to wait for. A later one without a fence has.
KERNEL(one_block_takes_without_a_fence) {
  volatile int* sum = out;
  if (threadIdx.x != 0) return;
  while (atomicCAS(words, 0u, 1u) != 0) {}
  if (Right || blockIdx.x != 0) __threadfence();
  sum[0] = in[blockIdx.x];  // HERE: race_global
  __threadfence();
  atomicExch(words, 0u);
}
KERNEL(one_block_takes_with_a_narrow_fence) {
  volatile int* sum = out;
  if (threadIdx.x != 0) return;
  while (atomicCAS(words, 0u, 1u) != 0) {}
  Right || blockIdx.x != 0 ? __threadfence() : __threadfence_block();
  sum[0] = in[blockIdx.x];  // HERE: race_global
  __threadfence();
  atomicExch(words, 0u);
}
KERNEL(one_warp_takes_without_a_fence) {
  volatile int* sum = out;
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS_block(words, 0u, 1u) != 0) {}
  if (Right || threadIdx.x != 0) __threadfence_block();
  sum[0] = in[threadIdx.x];  // HERE: race_global
  __threadfence_block();
  atomicExch_block(words, 0u);
}
// The widths of the two differ, which within a block is fine.
KERNEL(one_warp_takes_widely_without_a_fence) {
  volatile int* sum = out;
  if (threadIdx.x == 0) {
    while (atomicCAS(words, 0u, 1u) != 0) {}
    if (Right) __threadfence();
    sum[0] = in[0];  // HERE: race_global
    __threadfence();
    atomicExch(words, 0u);
  } else if (threadIdx.x == 32) {
    while (atomicCAS_block(words, 0u, 1u) != 0) {}
    __threadfence_block();
    sum[0] = in[1];
    __threadfence_block();
    atomicExch_block(words, 0u);
  }
}
KERNEL(one_warp_gives_without_a_fence) {
  volatile int* sum = out;
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS_block(words, 0u, 1u) != 0) {}
  __threadfence_block();
  sum[0] = in[threadIdx.x];  // HERE: race_global
  if (Right || threadIdx.x != 0) __threadfence_block();
  atomicExch_block(words, 0u);
}
KERNEL(one_block_takes_no_lock) {
  volatile int* sum = out;
  if (threadIdx.x != 0) return;
  const bool locks = Right || blockIdx.x != 1;
  if (locks)
    while (atomicCAS(words, 0u, 1u) != 0) {}
  __threadfence();
  sum[0] = in[blockIdx.x];  // HERE: race_global
  __threadfence();
  if (locks) atomicExch(words, 0u);
}
// A write behind a flag that was polled without a fence may come before the reads that it is to follow.
KERNEL(overwrites_what_is_still_read) {
  volatile int* data = out;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = data[0];
    __threadfence();
    atomicExch(words, 1u);
  } else {
    while (atomicAdd(words, 0u) == 0) {}
    if (Right) __threadfence();
    data[0] = 1;  // HERE: race_global
  }
}
KERNEL(adds_to_what_is_still_set) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[4];
    __threadfence();
    atomicExch(words, 1u);
  } else {
    while (atomicAdd(words, 0u) == 0) {}
    if (Right) __threadfence();
    atomicAdd(out, 1);  // HERE: race_global
  }
}
// A thread that has read a word has a place behind its writer, and so has the store by which it replaces it.
KERNEL(replaces_what_it_has_read) {
  volatile int* data = out;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = in[4];
    __threadfence();
    atomicExch(words, 1u);
  } else {
    while (atomicAdd(words, 0u) == 0) {}
    const int before = Right ? data[0] : data[1];
    data[0] = before + 2;  // HERE: race_global
  }
}
// A volatile read behind the flag that it polls sees what was written before it.
KERNEL(volatile_read_behind_a_flag) {
  volatile int* data = out;
  volatile uint* flag = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    data[0] = in[4];
    if (Right) __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) {}
    out[4] = data[0];  // HERE: race_global
  }
}

const Case kCases[] = {
    CASE(exchange_and_a_volatile_store, 2, 32),
    CASE(exchange_and_a_volatile_store_of_warps, 1, 64),
    CASE(narrow_exchange_and_a_volatile_store, 1, 64),
    CASE(maximum_and_a_volatile_reset, 1, 64),
    CASE(shared_sum_and_a_volatile_reset, 1, 64),
    CASE(numbers_taken_beside_a_volatile_reset, 2, 32),
    CASE(numbers_counted_round_beside_a_volatile_reset, 1, 64),
    CASE(sum_of_nothing_waits_for_a_volatile_store, 2, 32),
    CASE(lock_given_by_a_volatile_store, 4, 32),
    CASE(exchanged_lock_given_by_a_volatile_store, 4, 32),
    CASE(tried_lock_given_by_a_volatile_store, 4, 32),
    CASE(counter_set_back_by_the_last, 4, 32),
    CASE(one_block_takes_without_a_fence, 2, 32),
    CASE(one_block_takes_with_a_narrow_fence, 2, 32),
    CASE(one_warp_takes_without_a_fence, 1, 64),
    CASE(one_warp_takes_widely_without_a_fence, 1, 64),
    CASE(one_warp_gives_without_a_fence, 1, 64),
    CASE(one_block_takes_no_lock, 2, 32),
    CASE(overwrites_what_is_still_read, 2, 32),
    CASE(adds_to_what_is_still_set, 2, 32),
    CASE(replaces_what_it_has_read, 2, 32),
    CASE(volatile_read_behind_a_flag, 2, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
