// cp.async: what is used or overwritten before the copy has ended.
#include "cases.h"

__device__ inline void copy(int* to, const int* from) {
  const uint at = static_cast<uint>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(at), "l"(from) : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int N>
__device__ inline void wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}

KERNEL(used_without_a_wait) {
  __shared__ int staged[64];
  copy(staged + threadIdx.x, in + threadIdx.x);
  commit();
  if (Right) wait<0>();
  out[threadIdx.x] = staged[threadIdx.x];  // HERE: early_use
}
KERNEL(waits_for_too_few_groups) {
  __shared__ int staged[2][64];
  copy(staged[0] + threadIdx.x, in + threadIdx.x);
  commit();
  copy(staged[1] + threadIdx.x, in + 64 + threadIdx.x);
  commit();
  if (Right)
    wait<0>();
  else
    wait<1>();
  out[threadIdx.x] = staged[0][threadIdx.x];
  out[64 + threadIdx.x] = staged[1][threadIdx.x];  // HERE: early_use
}
KERNEL(group_is_not_committed) {
  __shared__ int staged[64];
  copy(staged + threadIdx.x, in + threadIdx.x);
  if (Right) commit();
  wait<0>();
  out[threadIdx.x] = staged[threadIdx.x];  // HERE: early_use
}
KERNEL(waits_without_a_barrier) {
  __shared__ int staged[64];
  copy(staged + threadIdx.x, in + threadIdx.x);
  commit();
  wait<0>();
  if (Right) __syncthreads();
  out[threadIdx.x] = staged[63 - threadIdx.x];  // HERE: race_shared
}
KERNEL(barrier_without_a_wait) {
  __shared__ int staged[64];
  copy(staged + threadIdx.x, in + threadIdx.x);
  commit();
  if (Right) wait<0>();
  __syncthreads();
  out[threadIdx.x] = staged[63 - threadIdx.x];  // HERE: early_use
}
KERNEL(overwritten_while_it_is_copied) {
  __shared__ int staged[64];
  copy(staged + threadIdx.x, in + threadIdx.x);
  commit();
  if (Right) wait<0>();
  staged[threadIdx.x] = 5;  // HERE: early_use
  wait<0>();
  out[threadIdx.x] = staged[threadIdx.x];
}
KERNEL(next_round_begins_early) {
  __shared__ int staged[64];
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    const uint to = static_cast<uint>(__cvta_generic_to_shared(staged + threadIdx.x));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"  // HERE: race_shared
                 :
                 : "r"(to), "l"(in + 64 * round + threadIdx.x)
                 : "memory");
    commit();
    wait<0>();
    __syncthreads();
    sum += staged[63 - threadIdx.x];
    if (Right) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
KERNEL(two_stages_in_turn) {
  __shared__ int staged[2][64];
  int sum = 0;
  copy(staged[0] + threadIdx.x, in + threadIdx.x);
  commit();
  for (int round = 0; round < 4; ++round) {
    copy(staged[(round + 1) % 2] + threadIdx.x, in + 64 * (round + 1) + threadIdx.x);
    commit();
    wait<1>();
    __syncthreads();
    sum += staged[round % 2][63 - threadIdx.x];
    __syncthreads();
  }
  wait<0>();
  out[threadIdx.x] = sum;
}

const Case kCases[] = {
    CASE(used_without_a_wait, 1, 64),     CASE(waits_for_too_few_groups, 1, 64),
    CASE(group_is_not_committed, 1, 64),  CASE(waits_without_a_barrier, 1, 64),
    CASE(barrier_without_a_wait, 1, 64),  CASE(overwritten_while_it_is_copied, 1, 64),
    CASE(next_round_begins_early, 1, 64), RIGHT(two_stages_in_turn, 1, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
