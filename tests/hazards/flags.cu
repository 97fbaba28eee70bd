// Order between blocks: flags, chains, and what one thread does for others.
#include "cases.h"

// ---- order by way of a third thread

KERNEL(third_block_does_not_acquire) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    store_release(&words[0], 1);
  } else if (blockIdx.x == 1) {
    if (Right)
      while (load_acquire(&words[0]) == 0) {}
    else
      while (load_relaxed(&words[0]) == 0) {}
    store_release(&words[1], 1);
  } else {
    while (load_acquire(&words[1]) == 0) {}
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}
KERNEL(first_step_of_block_scope) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    if (Right)
      __threadfence();
    else
      __threadfence_block();
    store_relaxed(&words[0], 1);
  } else if (blockIdx.x == 1) {
    while (load_acquire(&words[0]) == 0) {}
    store_release(&words[1], 1);
  } else {
    while (load_acquire(&words[1]) == 0) {}
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}
// Within the block a narrow step is wide enough, and what it made known goes on.
KERNEL(narrow_step_within_a_block) {
  const uint t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 0) {
      out[0] = in[0];
      if (Right) __threadfence_block();
      atomicExch_block(&words[0], 1u);
    } else if (t == 32) {
      while (atomicAdd_block(&words[0], 0u) == 0) {}
      __threadfence();
      atomicExch(&words[1], 1u);
    }
  } else if (t == 0) {
    while (atomicAdd(&words[1], 0u) == 0) {}
    __threadfence();
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}

// ---- flags

KERNEL(plain_flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    __threadfence();
    if (Right)
      atomicExch(&words[0], 1u);
    else
      words[0] = 1;
  } else {
    while (atomicAdd(&words[0], 0u) == 0) {}  // HERE: race_global
    __threadfence();
    out[blockIdx.x] = in[0];
  }
}
KERNEL(volatile_flag_without_a_fence) {
  volatile uint* flag = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    if (Right) __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) {}
    __threadfence();
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}
KERNEL(volatile_flag_polled_without_a_fence) {
  volatile uint* flag = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[0] = in[0];
    __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) {}
    if (Right) __threadfence();
    out[blockIdx.x] = out[0];  // HERE: race_global
  }
}
KERNEL(atomic_then_a_plain_store) {
  if (threadIdx.x != 0) return;
  atomicAdd(&words[0], 1u);
  if (blockIdx.x == gridDim.x - 1) {
    if (Right)
      atomicExch(&words[0], 0u);
    else
      words[0] = 0;  // HERE: race_global
  }
}
KERNEL(atomic_then_a_volatile_store) {
  volatile uint* flag = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x < gridDim.x - 1) {
    atomicAdd(&words[0], 1u);
  } else if (Right) {
    atomicExch(&words[1], flag[2]);
  } else {
    words[0] = flag[2];  // HERE: race_global
  }
}
KERNEL(atomic_and_a_plain_read) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x < gridDim.x - 1)
    atomicAdd(&words[0], 1u);
  else
    out[0] = Right ? atomicAdd(&words[0], 0u) : words[0];  // HERE: race_global
}
// Each waits for its left neighbour.
KERNEL(chain_without_a_release) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x > 0)
    while (load_acquire(&words[blockIdx.x - 1]) == 0) {}
  out[blockIdx.x] = in[blockIdx.x] + (blockIdx.x > 0 ? out[blockIdx.x - 1] : 0);  // HERE: race_global
  if (Right)
    store_release(&words[blockIdx.x], 1);
  else
    store_relaxed(&words[blockIdx.x], 1);
}
// The whole block polls by one thread, and does not wait for that.
KERNEL(block_does_not_wait_for_the_poller) {
  const uint t = threadIdx.x;
  if (blockIdx.x == 0) {
    out[t] = in[t];
    __threadfence();
    __syncthreads();
    if (t == 0) atomicExch(&words[0], 1u);
  } else {
    if (t == 0) {
      while (atomicAdd(&words[0], 0u) == 0) {}
      __threadfence();
    }
    if (Right) __syncthreads();
    out[blockIdx.x * blockDim.x + t] = out[t];  // HERE: race_global
  }
}
KERNEL(warp_does_not_wait_for_the_poller) {
  const uint t = threadIdx.x;
  if (t >= 32) return;
  if (blockIdx.x == 0) {
    out[t] = in[t];
    __threadfence();
    __syncwarp();
    if (t == 0) atomicExch(&words[0], 1u);
  } else {
    if (t == 0) {
      while (atomicAdd(&words[0], 0u) == 0) {}
      __threadfence();
    }
    if (Right) __syncwarp();
    out[blockIdx.x * blockDim.x + t] = out[t];  // HERE: race_global
  }
}
KERNEL(warp_announces_before_all_have_stored) {
  const uint t = threadIdx.x;
  if (t >= 32) return;
  if (blockIdx.x == 0) {
    out[t] = in[t];
    __threadfence();
    if (Right) __syncwarp();
    if (t == 0) atomicExch(&words[0], 1u);
  } else {
    while (atomicAdd(&words[0], 0u) == 0) {}
    __threadfence();
    out[blockIdx.x * blockDim.x + t] = out[t];  // HERE: race_global
  }
}

const Case kCases[] = {
    CASE(third_block_does_not_acquire, 3, 64),
    CASE(first_step_of_block_scope, 3, 64),
    CASE(narrow_step_within_a_block, 2, 64),
    CASE(plain_flag, 2, 64),
    CASE(volatile_flag_without_a_fence, 2, 64),
    CASE(volatile_flag_polled_without_a_fence, 2, 64),
    CASE(atomic_then_a_plain_store, 4, 64),
    CASE(atomic_then_a_volatile_store, 4, 64),
    CASE(atomic_and_a_plain_read, 4, 64),
    CASE(chain_without_a_release, 4, 64),
    CASE(block_does_not_wait_for_the_poller, 2, 64),
    CASE(warp_does_not_wait_for_the_poller, 2, 64),
    CASE(warp_announces_before_all_have_stored, 2, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
