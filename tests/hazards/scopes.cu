// Order between blocks: fences, atomics and their scopes.
#include "cases.h"

// ---- atomics of block scope, used by several blocks

KERNEL(counter_of_block_scope) {
  if (Right)
    atomicAdd(&words[0], 1u);
  else
    atomicAdd_block(&words[0], 1u);  // HERE: race_global
}
KERNEL(maximum_of_block_scope) {
  if (Right)
    atomicMax(&words[0], blockIdx.x);
  else
    atomicMax_block(&words[0], blockIdx.x);  // HERE: race_global
}
KERNEL(block_scope_beside_device_scope) {
  if (threadIdx.x != 0) return;
  if (Right || blockIdx.x == 0)
    atomicOr(&words[0], 1u << blockIdx.x);
  else
    atomicOr_block(&words[0], 1u << blockIdx.x);  // HERE: race_global
}
KERNEL(exchange_of_block_scope) {
  if (threadIdx.x != 0) return;
  if (Right)
    atomicExch(&words[0], blockIdx.x + 1);
  else
    atomicExch_block(&words[0], blockIdx.x + 1);  // HERE: race_global
}
KERNEL(each_block_its_counter) { atomicAdd_block(&words[blockIdx.x], 1u); }

// ---- fences of block scope

KERNEL(ticket_behind_a_block_fence) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = in[blockIdx.x];
  if (Right)
    __threadfence();
  else
    __threadfence_block();
  if (atomicAdd(&words[0], 1u) == gridDim.x - 1) {
    __threadfence();
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
    out[64] = sum;
  }
}
KERNEL(reader_behind_a_block_fence) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = in[blockIdx.x];
  __threadfence();
  if (atomicAdd(&words[0], 1u) == gridDim.x - 1) {
    if (Right)
      __threadfence();
    else
      __threadfence_block();
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
    out[64] = sum;
  }
}
KERNEL(fence_acq_rel_of_a_block) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    if (Right)
      fence_device();
    else
      fence_block();
    store_relaxed(&words[0], 1);
  } else {
    while (load_acquire(&words[0]) == 0) {}
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}
KERNEL(no_fence_before_the_ticket) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = in[blockIdx.x];
  if (Right) __threadfence();
  if (atomicAdd(&words[0], 1u) == gridDim.x - 1) {
    __threadfence();
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
    out[64] = sum;
  }
}
KERNEL(no_fence_behind_the_ticket) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = in[blockIdx.x];
  __threadfence();
  if (atomicAdd(&words[0], 1u) == gridDim.x - 1) {
    if (Right) __threadfence();
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
    out[64] = sum;
  }
}
KERNEL(fence_before_the_data) {
  if (threadIdx.x != 0) return;
  if (!Right) __threadfence();
  out[blockIdx.x] = in[blockIdx.x];
  if (Right) __threadfence();
  if (atomicAdd(&words[0], 1u) == gridDim.x - 1) {
    __threadfence();
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
    out[64] = sum;
  }
}
// The threads of a block store, one of them announces it.
KERNEL(ticket_without_a_barrier) {
  __shared__ bool last;
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
  __threadfence();
  if (Right) __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&words[0], 1u) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    __threadfence();
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b * blockDim.x + threadIdx.x];  // HERE: race_global
    raw[threadIdx.x] = sum;
  }
}
// One thread fences for itself, not for its block.
KERNEL(fence_before_the_barrier_by_one) {
  __shared__ bool last;
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
  if (!Right && threadIdx.x == 0) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (Right) __threadfence();
    last = atomicAdd(&words[0], 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b * blockDim.x + threadIdx.x];  // HERE: race_global
    raw[threadIdx.x] = sum;
  }
}

// ---- release and acquire

KERNEL(release_of_block_scope) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    if (Right)
      store_release(&words[0], 1);
    else
      store_release_block(&words[0], 1);
  } else {
    while (load_acquire(&words[0]) == 0) {}  // HERE: race_global
    out[blockIdx.x] = out[0];                // HERE: race_global
  }
}
KERNEL(acquire_of_block_scope) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    store_release(&words[0], 1);
  } else {
    if (Right)
      while (load_acquire(&words[0]) == 0) {}
    else
      while (load_acquire_block(&words[0]) == 0) {}  // HERE: race_global
    out[blockIdx.x] = out[0];                        // HERE: race_global
  }
}
KERNEL(relaxed_store_for_a_release) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    if (Right)
      store_release(&words[0], 1);
    else
      store_relaxed(&words[0], 1);
  } else {
    while (load_acquire(&words[0]) == 0) {}
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}
KERNEL(relaxed_load_for_an_acquire) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    store_release(&words[0], 1);
  } else {
    if (Right)
      while (load_acquire(&words[0]) == 0) {}
    else
      while (load_relaxed(&words[0]) == 0) {}
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}
KERNEL(relaxed_add_for_acq_rel) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = in[blockIdx.x];
  const uint before = Right ? add_acq_rel(&words[0], 1) : add_relaxed(&words[0], 1);
  if (before == gridDim.x - 1) {
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
    out[64] = sum;
  }
}
KERNEL(acq_rel_of_block_scope) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = in[blockIdx.x];
  const uint before = Right ? add_acq_rel(&words[0], 1) : add_acq_rel_block(&words[0], 1);  // HERE: race_global
  if (before == gridDim.x - 1) {
    int sum = 0;
    for (uint b = 0; b < gridDim.x; ++b) sum += out[b];  // HERE: race_global
    out[64] = sum;
  }
}
// The release comes before the second store.
KERNEL(store_behind_the_release) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    if (Right) out[1] = in[1];
    store_release(&words[0], 1);
    if (!Right) out[1] = in[1];
    store_release(&words[1], 1);
  } else {
    while (load_acquire(&words[0]) == 0) {}
    out[1 + blockIdx.x] = out[0] + out[1];  // HERE: race_global
    while (load_acquire(&words[1]) == 0) {}
  }
}
// A second store of the flag, by somebody who has not acquired, begins its chain anew.
KERNEL(flag_overwritten_by_a_stranger) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    store_release(&words[0], 1);
  } else if (blockIdx.x == 1) {
    while (load_relaxed(&words[0]) != 1) {}
    if (Right) fence_device();
    store_release(&words[0], 2);
  } else {
    while (load_acquire(&words[0]) != 2) {}
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}

const Case kCases[] = {
    CASE(counter_of_block_scope, 4, 64),          CASE(maximum_of_block_scope, 4, 64),
    CASE(block_scope_beside_device_scope, 2, 64), CASE(exchange_of_block_scope, 4, 64),
    RIGHT(each_block_its_counter, 4, 64),         CASE(ticket_behind_a_block_fence, 4, 64),
    CASE(reader_behind_a_block_fence, 4, 64),     CASE(fence_acq_rel_of_a_block, 4, 64),
    CASE(no_fence_before_the_ticket, 4, 64),      CASE(no_fence_behind_the_ticket, 4, 64),
    CASE(fence_before_the_data, 4, 64),           CASE(ticket_without_a_barrier, 4, 64),
    CASE(fence_before_the_barrier_by_one, 4, 64), CASE(release_of_block_scope, 4, 64),
    CASE(acquire_of_block_scope, 4, 64),          CASE(relaxed_store_for_a_release, 4, 64),
    CASE(relaxed_load_for_an_acquire, 4, 64),     CASE(relaxed_add_for_acq_rel, 4, 64),
    CASE(acq_rel_of_block_scope, 4, 64),          CASE(store_behind_the_release, 2, 64),
    CASE(flag_overwritten_by_a_stranger, 3, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
