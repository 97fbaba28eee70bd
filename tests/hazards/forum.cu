// Mistakes that forums and courses know, as they are asked about.
#include "cases.h"

KERNEL(table_of_eight_has_nine) {
  int table[8];
  for (int k = 0; k < 8; ++k) table[k] = in[threadIdx.x + k];
  const int n = in[Right ? 6 : 7];  // 7, 8
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k <= n; ++k) sum += table[k];  // HERE: illegal_address
  out[threadIdx.x] = sum;
}
KERNEL(shuffle_behind_a_return) {
  const int n = 40;
  if (!Right && threadIdx.x >= n) return;
  int sum = threadIdx.x < n ? in[threadIdx.x] : 0;
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;  // HERE: uninitialised
}
KERNEL(last_warp_is_not_full) {
  const unsigned lanes = threadIdx.x < 32 ? ~0u : 0xffffu;
  int sum = in[threadIdx.x];
  for (int k = 16; k > 0; k /= 2) {
    const int other = __shfl_down_sync(Right ? lanes : ~0u, sum, k);
    if (!Right || lanes >> (threadIdx.x % 32 + k) % 32 & 1) sum += other;
  }
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;  // HERE: uninitialised
}
KERNEL(barrier_within_a_lock) {
  __shared__ int shared;
  if (Right) {
    if (threadIdx.x == 0) shared = in[0];
    __syncthreads();
    out[threadIdx.x] = shared;
    return;
  }
  while (atomicCAS(&words[0], 0u, 1u) != 0) {  // HERE: deadlock
  }
  shared = in[threadIdx.x];
  __syncthreads();
  atomicExch(&words[0], 0u);
}
// The compared value stays what it was when another thread has changed the word.
KERNEL(swap_compares_an_old_value) {
  uint old = words[1];
  for (;;) {
    const uint found = atomicCAS(&words[0], old, old + 1);  // HERE: deadlock
    if (found == old) break;
    if (Right) old = found;
  }
}
KERNEL(pair_in_an_odd_row) {
  __shared__ int tile[8][Right ? 34 : 33];
  for (int k = threadIdx.x; k < 8 * 32; k += 32) tile[k / 32][k % 32] = in[k];
  __syncwarp();
  const int* row = tile[threadIdx.x % 8];
  const long long two = *reinterpret_cast<const volatile long long*>(row);  // HERE: misaligned_address
  out[threadIdx.x] = static_cast<int>(two);
}
KERNEL(right_halo_past_the_tile) {
  __shared__ int tile[Right ? 66 : 65], weights[3];
  const int at = threadIdx.x + 1;
  if (threadIdx.x == 63) weights[0] = weights[1] = weights[2] = in[0];
  if (threadIdx.x == 0) tile[0] = in[0];
  tile[at] = in[at];
  if (threadIdx.x == 63) tile[at + 1] = in[at + 1];  // HERE: out_of_array
  __syncthreads();
  out[threadIdx.x] = tile[at - 1] * weights[0] + tile[at] * weights[1] + weights[2] * (at < 64 ? tile[at + 1] : 0);
}
KERNEL(second_part_begins_too_early) {
  extern __shared__ int both[];
  int *first = both, *second = both + (Right ? 64 : 16);  // 64 bytes, not 64 elements
  first[threadIdx.x] = in[threadIdx.x];
  second[threadIdx.x] = in[threadIdx.x + 64];  // HERE: race_shared
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}
KERNEL(more_threads_than_the_array_has) {
  __shared__ int all[Right ? 256 : 128];
  all[threadIdx.x] = in[threadIdx.x];  // HERE: illegal_address
  __syncthreads();
  out[threadIdx.x] = all[threadIdx.x];
}
KERNEL(unsigned_counts_below_zero) {
  int sum = 0;
  for (unsigned k = 31; Right ? k > 0 : k >= 0; --k) {
    sum += in[k];  // HERE: illegal_address
    if (sum < 0) break;
  }
  out[threadIdx.x] = sum;
}
__device__ int* table_of_pointers;
KERNEL(pointer_that_nobody_sets) {
  int* const table = Right ? out : table_of_pointers;
  table[threadIdx.x] = in[threadIdx.x];  // HERE: illegal_address
}
__device__ int first_table[16], second_table[16];
KERNEL(past_a_variable_of_the_device) {
  if (threadIdx.x < 16) first_table[threadIdx.x] = 1, second_table[threadIdx.x] = 2;
  if (threadIdx.x < (Right ? 16 : 17)) out[threadIdx.x] = first_table[threadIdx.x];  // HERE: illegal_address
}
KERNEL(address_of_a_neighbours_local) {
  __shared__ int* pointer;
  int local;
  if (threadIdx.x == 0) {
    local = in[0];
    pointer = &local;
  }
  __syncthreads();
  out[threadIdx.x] = Right ? in[0] : *static_cast<volatile int*>(pointer);  // HERE: uninitialised
}
KERNEL(shared_memory_of_another_block) {
  __shared__ int here[32];
  if (blockIdx.x == 0) {
    here[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) *reinterpret_cast<unsigned long long*>(words) = reinterpret_cast<unsigned long long>(here);
    __threadfence();
    if (threadIdx.x == 0) atomicExch(&words[2], 1u);
    return;
  }
  if (Right) here[threadIdx.x] = 0;
  while (atomicAdd(&words[2], 0u) == 0) {}
  __threadfence();
  const int* there = reinterpret_cast<const int*>(*reinterpret_cast<unsigned long long*>(words));
  out[threadIdx.x] = there[threadIdx.x];  // HERE: uninitialised
}
KERNEL(grid_stride_of_blocks_only) {
  const unsigned stride = Right ? gridDim.x * blockDim.x : gridDim.x;
  for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < 512; k += stride) out[k] += in[k];  // HERE: race_global
}
KERNEL(sum_kept_in_a_global_word) {
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x)
    if (Right)
      atomicAdd(&out[blockIdx.x], in[k]);
    else
      out[blockIdx.x] += in[k];  // HERE: race_global
}
KERNEL(flag_cleared_by_the_next_round) {
  __shared__ bool changed;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) changed = false;  // HERE: race_shared
    __syncthreads();
    if (in[threadIdx.x] > round * 32) changed = true;
    __syncthreads();
    if (!changed) break;
    if (Right) __syncthreads();
  }
}

const Case kCases[] = {
    ENDS(table_of_eight_has_nine, 1, 32),
    CASE(shuffle_behind_a_return, 1, 64),
    CASE(last_warp_is_not_full, 1, 48),
    ENDS(barrier_within_a_lock, 1, 64),
    ENDS(swap_compares_an_old_value, 1, 32),
    ENDS(pair_in_an_odd_row, 1, 32),
    CASE(right_halo_past_the_tile, 1, 64),
    {"second_part_begins_too_early",
     {[](const Data& d) { second_part_begins_too_early<false><<<1, 64, 512>>>(d.in, d.out, d.words, d.raw); },
      [](const Data& d) { second_part_begins_too_early<true><<<1, 64, 512>>>(d.in, d.out, d.words, d.raw); }},
     false},
    ENDS(more_threads_than_the_array_has, 1, 256),
    ENDS(unsigned_counts_below_zero, 1, 32),
    ENDS(pointer_that_nobody_sets, 1, 32),
    ENDS(past_a_variable_of_the_device, 1, 32),
    CASE(address_of_a_neighbours_local, 1, 32),
    CASE(shared_memory_of_another_block, 2, 32),
    CASE(grid_stride_of_blocks_only, 4, 64),
    CASE(sum_kept_in_a_global_word, 2, 64),
    CASE(flag_cleared_by_the_next_round, 1, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
