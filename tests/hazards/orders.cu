// Mistakes that the usual order of blocks and warps does not meet: found in another order.
#include "cases.h"

__device__ inline void take(uint* lock, bool fence) {
  while (atomicCAS(lock, 0u, 1u) != 0) {}
  if (fence) __threadfence();
}
__device__ inline void give(uint* lock, bool fence) {
  if (fence) __threadfence();
  atomicExch(lock, 0u);
}

KERNEL(first_block_takes_without_a_fence) {
  if (threadIdx.x != 0) return;
  take(words, Right || blockIdx.x != 0);
  out[0] += in[blockIdx.x];  // HERE: race_global
  give(words, true);
}
KERNEL(last_block_gives_without_a_fence) {
  if (threadIdx.x != 0) return;
  take(words, true);
  out[0] += in[blockIdx.x];  // HERE: race_global
  give(words, Right || blockIdx.x != gridDim.x - 1);
}
KERNEL(flag_polled_once_without_a_fence) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (load_relaxed(&words[0]) == 0) return;
    if (Right) __threadfence();
    out[1] = out[0];  // HERE: race_global
  } else {
    out[0] = in[0];
    __threadfence();
    store_relaxed(&words[0], 1);
  }
}
KERNEL(flag_polled_once_before_a_release) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (load_acquire(&words[0]) == 0) return;
    out[1] = out[0];  // HERE: race_global
  } else {
    out[0] = in[0];
    if (Right)
      store_release(&words[0], 1);
    else
      store_relaxed(&words[0], 1);
  }
}
KERNEL(work_taken_if_there_is_any) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    const uint n = atomicAdd(&words[0], 0u);
    __threadfence();
    for (uint k = 0; k < n; ++k) out[64 + k] = out[k];  // HERE: race_global
  } else if (blockIdx.x == 1) {
    out[0] = in[0];
    if (Right) __threadfence();
    atomicAdd(&words[0], 1u);
  }
}
KERNEL(first_warp_takes_without_a_fence) {
  __shared__ uint lock;
  __shared__ int sum;
  if (threadIdx.x == 0) lock = 0, sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0u, 1u) != 0) {}
    if (Right || threadIdx.x != 0) __threadfence_block();
    sum += in[threadIdx.x];  // HERE: race_shared
    __threadfence_block();
    atomicExch(&lock, 0u);
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}
KERNEL(first_warp_looks_once) {
  __shared__ uint flag;
  __shared__ int box;
  if (threadIdx.x == 0) flag = 0, box = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (atomicAdd(&flag, 0u) != 0) {
      __threadfence_block();
      out[0] = box;  // HERE: race_shared
    }
  } else if (threadIdx.x == 32) {
    box = in[0];
    if (Right) __threadfence_block();
    atomicExch(&flag, 1u);
  }
}
KERNEL(last_of_the_tickets_does_not_fence) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = in[blockIdx.x];
  if (Right || blockIdx.x != gridDim.x - 1) __threadfence();
  if (atomicAdd(&words[0], 1u) != gridDim.x - 1) return;
  __threadfence();
  int sum = 0;
  for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
  raw[0] = sum;
}

const Case kCases[] = {
    CASE(first_block_takes_without_a_fence, 4, 32),
    CASE(last_block_gives_without_a_fence, 4, 32),
    CASE(flag_polled_once_without_a_fence, 2, 32),
    CASE(flag_polled_once_before_a_release, 2, 32),
    CASE(work_taken_if_there_is_any, 2, 32),
    CASE(first_warp_takes_without_a_fence, 1, 128),
    CASE(first_warp_looks_once, 1, 64),
    CASE(last_of_the_tickets_does_not_fence, 4, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
