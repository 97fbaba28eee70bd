// Arrays left: into the next variable of shared memory, into another allocation; malloc in kernels.
#include "cases.h"

// ---- shared variables

KERNEL(past_a_shared_array) {
  __shared__ int first[32], second[32];
  first[threadIdx.x] = second[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x + (Right ? 0 : in[0])] + second[threadIdx.x];  // HERE: out_of_array
}
KERNEL(before_a_shared_array) {
  __shared__ int first[32], second[32];
  first[threadIdx.x] = second[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  int sum = 0;
  const int* from = second + threadIdx.x;
  for (int k = 0; k < 2; ++k) sum += from[Right ? 0 : -k * in[0]];  // HERE: out_of_array
  out[threadIdx.x] = sum + first[threadIdx.x];
}
KERNEL(row_past_a_shared_tile) {
  __shared__ float tile[8][8];
  __shared__ float sums[8];
  const uint row = threadIdx.x / 8, column = threadIdx.x % 8;
  tile[row][column] = static_cast<float>(in[threadIdx.x]);
  if (threadIdx.x < 8) sums[threadIdx.x] = 0.0f;
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(tile[row + (Right ? 0 : in[0])][column] + sums[column]);  // HERE: out_of_array
}
KERNEL(store_past_a_shared_array) {
  __shared__ int first[32], second[32];
  second[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) first[(Right ? 0 : 31) + in[0] - (Right ? 1 : 0)] = 7;  // HERE: out_of_array
  __syncthreads();
  out[threadIdx.x] = second[threadIdx.x] + (threadIdx.x == 0 && Right ? first[0] : 0);
}
KERNEL(atomic_past_a_shared_array) {
  __shared__ int bins[8];
  __shared__ int total[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = total[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % (Right ? 8 : 9)], 1);  // HERE: out_of_array
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x] + total[threadIdx.x];
}
KERNEL(all_of_one_shared_array) {
  __shared__ int all[64];
  int* low = all;
  int* high = all + 32;
  low[threadIdx.x] = in[threadIdx.x];
  high[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = low[threadIdx.x + 32 * in[0]] + high[-in[0]];
}
KERNEL(either_of_two_arrays) {
  __shared__ int first[32], second[32];
  first[threadIdx.x] = second[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  const int* from = in[threadIdx.x] % 2 ? first : second;
  out[threadIdx.x] = from[31 - threadIdx.x];
}

// ---- global memory

KERNEL(far_into_another_allocation) {
  const long far = reinterpret_cast<const char*>(words) - reinterpret_cast<const char*>(in);
  if (threadIdx.x == 0) out[32] = static_cast<int>(far / 4);
  __syncwarp();
  const int step = *reinterpret_cast<volatile int*>(out + 32);
  out[threadIdx.x] = in[static_cast<int>(threadIdx.x) + (Right ? 0 : step)];  // HERE: out_of_array
}
KERNEL(neighbour_in_one_allocation) {
  const int* middle = in + 1000;
  out[threadIdx.x] = middle[static_cast<int>(threadIdx.x) - in[100]];
}
KERNEL(by_the_difference_of_pointers) {
  const long apart = words - reinterpret_cast<uint*>(out);
  out[threadIdx.x] = static_cast<int>(reinterpret_cast<uint*>(out)[apart + threadIdx.x]);
}

// ---- malloc in kernels

KERNEL(past_a_block_of_malloc) {
  int* mine = static_cast<int*>(malloc(4 * sizeof(int)));
  for (int k = 0; k < (Right ? 4 : 5); ++k) mine[k] = in[k];  // HERE: out_of_array
  out[threadIdx.x] = mine[in[0]];
  free(mine);
}
KERNEL(before_a_block_of_malloc) {
  int* mine = static_cast<int*>(malloc(4 * sizeof(int)));
  mine[0] = in[3];
  if (threadIdx.x == 1) mine[Right ? 1 : -in[1]] = 5;  // HERE: out_of_array
  out[threadIdx.x] = mine[0];
  free(mine);
}
KERNEL(used_after_free) {
  volatile int* mine = static_cast<volatile int*>(malloc(4 * sizeof(int)));
  mine[1] = in[1];
  if (!Right) free(const_cast<int*>(mine));
  out[threadIdx.x] = mine[in[0]];  // HERE: out_of_array
  if (Right) free(const_cast<int*>(mine));
}
KERNEL(malloc_unwritten) {
  volatile int* mine = static_cast<volatile int*>(malloc(4 * sizeof(int)));
  if (Right) mine[1] = in[1];
  if (mine[in[0]] > 3) out[threadIdx.x] = 1;  // HERE: uninitialised
  free(const_cast<int*>(mine));
}
KERNEL(freed_twice) {
  int* mine = static_cast<int*>(malloc(16));
  asm volatile("" : "+l"(mine));  // or the compiler takes malloc and free away
  out[threadIdx.x] = mine != nullptr;
  free(mine);
  if (!Right) free(mine);  // HERE: illegal_address
}
KERNEL(freed_in_the_middle) {
  char* mine = static_cast<char*>(malloc(64));
  asm volatile("" : "+l"(mine));
  out[threadIdx.x] = mine != nullptr;
  free(mine + (Right ? 0 : 16));  // HERE: illegal_address
}

const Case kCases[] = {
    CASE(past_a_shared_array, 1, 32),
    CASE(before_a_shared_array, 1, 32),
    CASE(row_past_a_shared_tile, 1, 64),
    CASE(store_past_a_shared_array, 1, 32),
    CASE(atomic_past_a_shared_array, 1, 32),
    RIGHT(all_of_one_shared_array, 1, 32),
    RIGHT(either_of_two_arrays, 1, 32),
    CASE(far_into_another_allocation, 1, 32),
    RIGHT(neighbour_in_one_allocation, 1, 32),
    RIGHT(by_the_difference_of_pointers, 1, 32),
    CASE(past_a_block_of_malloc, 1, 4),
    CASE(before_a_block_of_malloc, 1, 4),
    CASE(used_after_free, 1, 4),
    CASE(malloc_unwritten, 1, 4),
    ENDS(freed_twice, 1, 1),
    ENDS(freed_in_the_middle, 1, 1),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
