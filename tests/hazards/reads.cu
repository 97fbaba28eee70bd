// Reads that nothing can be wrong with until something is written: of shared memory between barriers, and of global
// memory that a kernel may write by another way.
#include "cases.h"

// ---- shared memory

KERNEL(overwritten_after_many_other_reads) {
  __shared__ int all[128], others[128];
  all[threadIdx.x] = others[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  int sum = all[(threadIdx.x + 1) % 128];
#pragma unroll 1
  for (int k = 0; k < 1500; ++k) sum += others[(threadIdx.x + k) % 128];
  if (Right) __syncthreads();
  all[threadIdx.x] = sum;  // HERE: race_shared
  out[threadIdx.x] = all[threadIdx.x];
}
// 96 threads: warps 0 and 1 meet, warp 2 does not.
KERNEL(overwritten_by_a_warp_that_was_not_there) {
  __shared__ int all[96];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  int sum = 0;
  if (threadIdx.x < 64) {
    sum = all[threadIdx.x % 32];
    asm volatile("bar.sync 1, 64;" : : : "memory");
  }
  if (Right) __syncthreads();
  if (threadIdx.x >= 64) all[threadIdx.x - 64] = 7;  // HERE: race_shared
  out[threadIdx.x] = sum;
}
KERNEL(every_third_word_overwritten) {
  __shared__ int all[128];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int sum = all[threadIdx.x * 3 % 128] + all[5];
  if (Right) __syncthreads();
  if (threadIdx.x == 64) all[5] = sum;  // HERE: race_shared
  out[threadIdx.x] = sum;
}
// Threads that have ended have not met the others.
KERNEL(overwritten_after_readers_have_ended) {
  __shared__ int all[64];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 32) out[threadIdx.x] = all[threadIdx.x - 32];
  if (Right) __syncthreads();
  if (threadIdx.x >= 32) return;
  if (!Right) __syncthreads();  // HERE: divergent_barrier
  all[threadIdx.x] = 7;         // HERE: race_shared
  out[threadIdx.x] = all[threadIdx.x];
}
KERNEL(bytes_overwritten) {
  __shared__ unsigned char all[128];
  all[threadIdx.x] = static_cast<unsigned char>(in[threadIdx.x]);
  __syncthreads();
  const int sum = all[(threadIdx.x + 1) % 128];
  if (Right) __syncthreads();
  all[threadIdx.x] = static_cast<unsigned char>(sum);  // HERE: race_shared
  out[threadIdx.x] = all[threadIdx.x];
}
KERNEL(sum_read_by_one_that_has_added) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, 1u);
  if (Right) __syncthreads();
  if (threadIdx.x == 32) out[0] = static_cast<int>(sum);  // HERE: race_shared
}

// ---- global memory: two blocks

KERNEL(written_by_a_pointer_from_memory) {
  int* volatile where = Right ? out + 64 : const_cast<int*>(in);
  if (blockIdx.x == 0)
    out[threadIdx.x] = in[threadIdx.x];
  else
    where[threadIdx.x] = 7;  // HERE: race_global
}
KERNEL(written_by_another_parameter) {  // `raw` and `in` are one array
  if (blockIdx.x == 0)
    out[threadIdx.x] = in[threadIdx.x];
  else if (threadIdx.x == 0)
    raw[Right ? 32 : 3] = 7;  // HERE: race_global
}
__device__ int table[64];
KERNEL(variable_written) {
  if (blockIdx.x == 0)
    out[threadIdx.x] = table[threadIdx.x];
  else if (threadIdx.x == 0)
    table[Right ? 40 : 4] = 7;  // HERE: race_global
}
KERNEL(variable_counted) {
  if (blockIdx.x == 0)
    out[threadIdx.x] = table[threadIdx.x];
  else if (threadIdx.x == 0)
    atomicAdd(&table[Right ? 41 : 5], 7);  // HERE: race_global
}

template <bool Right>
void one_array(const Data& d) {
  written_by_another_parameter<Right><<<2, 32>>>(d.in, d.out, d.words, d.in);
}

int main(int argc, char** argv) {
  static const Case cases[] = {
      CASE(overwritten_after_many_other_reads, 1, 128),
      CASE(overwritten_by_a_warp_that_was_not_there, 1, 96),
      CASE(every_third_word_overwritten, 1, 128),
      CASE(overwritten_after_readers_have_ended, 1, 64),
      CASE(bytes_overwritten, 1, 128),
      CASE(sum_read_by_one_that_has_added, 1, 64),
      CASE(written_by_a_pointer_from_memory, 2, 32),
      {"written_by_another_parameter", {one_array<false>, one_array<true>}, false},
      CASE(variable_written, 2, 32),
      CASE(variable_counted, 2, 32),
  };
  return run_cases(cases, argc, argv);
}
