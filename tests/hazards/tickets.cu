// The last ticket is drawn by a block that has seen the atomics before its own (observation order): they come before
// its next accesses of that word. Other words need fences.
#include "cases.h"

KERNEL(ticket_reset_by_the_last) {
  if (threadIdx.x != 0) return;
  const uint last = Right ? gridDim.x - 1 : 1;
  if (atomicInc(&words[0], gridDim.x) == last)  // HERE: race_global
    words[0] = 0;                               // HERE: race_global
}
KERNEL(ticket_read_by_the_last) {
  if (threadIdx.x != 0) return;
  const uint last = Right ? gridDim.x - 1 : 1;
  if (atomicAdd(&words[0], 1u) == last)  // HERE: race_global
    out[0] = words[0];
}
// An atomic without a result sees nothing.
KERNEL(sum_reset_by_who_has_not_read_it) {
  if (threadIdx.x != 0) return;
  atomicAdd(&words[1], 1u);
  if (Right) __threadfence();
  if (atomicAdd(&words[0], 1u) == gridDim.x - 1) {
    if (Right) __threadfence();
    words[1] = 0;  // HERE: race_global
  }
}
KERNEL(no_fence_around_the_ticket) {
  __shared__ bool last;
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
  if (Right) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&words[0], gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  if (Right) __threadfence();
  int sum = 0;
  for (uint b = 0; b < gridDim.x; ++b) sum += out[b * blockDim.x + threadIdx.x];  // HERE: race_global
  raw[threadIdx.x] = sum;
  if (threadIdx.x == 0) words[0] = 0;
}
// volatile keeps the compiler from holding values, and orders nothing. A loop that ends by its counter waits for none.
KERNEL(volatile_data_without_a_fence) {
  volatile int* partial = out;
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = in[blockIdx.x];
  if (Right) __threadfence();
  if (atomicInc(&words[0], gridDim.x) != gridDim.x - 1) return;
  int sum = 0;
  for (uint b = 0; b < gridDim.x; ++b) sum += partial[b];  // HERE: race_global
  raw[0] = sum;
}
KERNEL(volatile_maximum_without_a_fence) {
  volatile int* partial = out;
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = in[blockIdx.x];
  if (Right) __threadfence();
  if (atomicInc(&words[0], gridDim.x) != gridDim.x - 1) return;
  int most = 0;
  for (uint b = 0; b < gridDim.x; ++b) {
    const int value = partial[b];  // HERE: race_global
    if (value > most) {
      most = value;
      asm volatile("" : "+r"(most));
    }
  }
  raw[0] = most;
}

// ---- right

KERNEL(ticket_reset_behind_a_barrier) {
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicInc(&words[0], gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 40) words[0] = 0;
}
KERNEL(flags_polled_one_after_the_other) {
  volatile uint* flags = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x < gridDim.x - 1) {
    out[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    flags[blockIdx.x] = 1;
    return;
  }
  int sum = 0;
  for (uint b = 0; b + 1 < gridDim.x; ++b) {
    while (flags[b] == 0) {}
    __threadfence();
    sum += out[b];
  }
  raw[0] = sum;
}
KERNEL(flag_polled_a_number_of_times) {
  volatile uint* flag = words;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *flag = 1;
  } else {
    bool seen = false;
    for (int k = 0; k < 100 && !seen; ++k) seen = *flag != 0;
    raw[blockIdx.x] = seen;
  }
}
// A warp polls together: its vote decides.
KERNEL(flags_polled_by_a_vote) {
  volatile uint* flags = words;
  if (blockIdx.x == 0) {
    flags[threadIdx.x] = 1;
  } else {
    while (!__all_sync(~0u, flags[threadIdx.x] != 0)) {}
    raw[threadIdx.x] = in[threadIdx.x];
  }
}

const Case kCases[] = {
    CASE(ticket_reset_by_the_last, 4, 64),         CASE(ticket_read_by_the_last, 4, 64),
    CASE(sum_reset_by_who_has_not_read_it, 4, 64), CASE(no_fence_around_the_ticket, 4, 64),
    CASE(volatile_data_without_a_fence, 4, 64),    CASE(volatile_maximum_without_a_fence, 4, 64),
    RIGHT(ticket_reset_behind_a_barrier, 4, 64),   RIGHT(flags_polled_one_after_the_other, 4, 64),
    RIGHT(flag_polled_a_number_of_times, 2, 64),   RIGHT(flags_polled_by_a_vote, 2, 32),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
