// Pointers that come from memory, and blocks of malloc in kernels.
#include "cases.h"

struct Node {
  int* values;
  int count;
};
__device__ int* table[4];
__device__ Node nodes[2];

template <bool Right>
__global__ void past_a_pointer_from_a_table(int step, int* out) {
  out[threadIdx.x] = table[0][threadIdx.x + (Right ? 0 : step)];  // HERE: out_of_array
}
template <bool Right>
__global__ void past_a_pointer_of_a_structure(int step, int* out) {
  const Node& n = nodes[0];
  for (int k = static_cast<int>(threadIdx.x); k < n.count; k += 32)
    n.values[Right ? k : k + step] = k;  // HERE: out_of_array
  out[threadIdx.x] = 1;
}
template <bool Right>
__global__ void before_a_pointer_from_shared_memory(int step, int* out) {
  __shared__ int* box[2];
  if (threadIdx.x == 0) box[0] = table[0], box[1] = table[1];
  __syncthreads();
  out[threadIdx.x] = box[0][static_cast<int>(threadIdx.x) + (Right ? 0 : step)];  // HERE: out_of_array
}
template <bool Right>
__global__ void atomic_past_a_pointer_from_a_table(int step, int* out) {
  atomicAdd(&table[threadIdx.x % 1][Right ? 0 : step], 1);  // HERE: out_of_array
  out[threadIdx.x + 1] = 1;
}
// Right: pointers move on within what they point to, and are exchanged.
template <bool Right>
__global__ void walks_over_pointers(int, int* out) {
  int* current = table[0];
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    int* next = table[(k + 1) % 2];
    sum += current[threadIdx.x];
    current = next;
  }
  out[threadIdx.x] = sum;
}
template <bool Right>
__global__ void later_pointer_of_a_loop(int, int* out) {
  int sum = 0;
  for (int k = 0; k < 8; ++k) {
    const int* p = table[k % 2];
    sum += p[threadIdx.x] + p[k];
  }
  out[threadIdx.x] = sum;
}

void with_tables(const Data& d, void (*kernel)(int, int*)) {
  int* each[4] = {d.in, d.raw, d.in, d.raw};
  Node both[2] = {{const_cast<int*>(d.raw), 32}, {d.out, 32}};
  cudaMemset(d.raw, 0, kInts * sizeof(int));
  cudaMemcpyToSymbol(table, each, sizeof each);
  cudaMemcpyToSymbol(nodes, both, sizeof both);
  const int* from = kernel == past_a_pointer_of_a_structure<false> ? d.raw : d.in;
  kernel<<<1, 32>>>(static_cast<int>(d.out - from), d.out);
}

// ---- malloc in kernels

KERNEL(into_the_next_block_of_malloc) {
  int* mine = static_cast<int*>(malloc(64));
  int* other = static_cast<int*>(malloc(64));
  asm volatile("" : "+l"(mine), "+l"(other));  // or the compiler takes what it knows of them for granted
  mine[in[0]] = 1;
  other[in[0]] = 2;
  *reinterpret_cast<volatile int*>(out + 32 + threadIdx.x) = static_cast<int>(other - mine);
  const int apart = *reinterpret_cast<volatile int*>(out + 32 + threadIdx.x);
  out[threadIdx.x] = mine[in[0] + (Right ? 0 : apart)];  // HERE: out_of_array
  free(mine);
  free(other);
}
KERNEL(new_past_the_end) {
  int* mine = new int[in[threadIdx.x] - in[threadIdx.x] + 8];
  for (int k = 0; k < 8; ++k) mine[k] = k;
  out[threadIdx.x] = mine[in[6 + (Right ? 0 : 1)]];  // HERE: out_of_array
  delete[] mine;
}
KERNEL(used_after_delete) {
  volatile int* mine = new int[4];
  mine[in[0]] = in[1];
  out[threadIdx.x] = mine[in[0]];
  delete[] const_cast<int*>(mine);
  if (!Right) out[32 + threadIdx.x] = mine[in[0]];  // HERE: out_of_array
}
KERNEL(used_after_free_and_malloc_again) {
  volatile int* mine = static_cast<volatile int*>(malloc(64));
  mine[in[0]] = 5;
  if (!Right) free(const_cast<int*>(mine));
  volatile int* other = static_cast<volatile int*>(malloc(64));
  other[in[0]] = 6;
  out[threadIdx.x] = mine[in[0]];  // HERE: out_of_array
  if (Right) free(const_cast<int*>(mine));
  free(const_cast<int*>(other));
}
KERNEL(atomic_on_freed_memory) {
  int* mine = static_cast<int*>(malloc(64));
  mine[in[0]] = 5;
  if (!Right) free(mine);
  atomicAdd(&mine[in[0]], 1);  // HERE: out_of_array
  if (Right) free(mine);
}
KERNEL(one_thread_frees_early) {
  __shared__ int* ours;
  if (threadIdx.x == 0) {
    ours = static_cast<int*>(malloc(256));
    for (int k = 0; k < 64; ++k) ours[k] = in[k];
  }
  __syncthreads();
  out[threadIdx.x] = ours[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) free(ours);
  __syncthreads();
  if (!Right) out[64 + threadIdx.x] = ours[threadIdx.x];  // HERE: out_of_array
}
KERNEL(never_freed) {
  int* mine = static_cast<int*>(malloc(100));  // HERE: leak
  asm volatile("" : "+l"(mine));               // or the compiler takes it away
  mine[in[0]] = in[1];
  out[threadIdx.x] = mine[in[0]];
  if (Right) free(mine);
}
KERNEL(new_without_delete) {
  int* mine = new int[in[9]];     // HERE: leak
  asm volatile("" : "+l"(mine));  // or the compiler takes it away
  mine[in[0]] = in[1];
  out[threadIdx.x] = mine[in[0]];
  if (Right) delete[] mine;
}
KERNEL(freed_by_half_the_threads) {
  int* mine = static_cast<int*>(malloc(100));  // HERE: leak
  asm volatile("" : "+l"(mine));               // or the compiler takes it away
  mine[in[0]] = in[1];
  out[threadIdx.x] = mine[in[0]];
  if (Right || threadIdx.x % 2 == 0) free(mine);
}

#define WITH_TABLES(name)                                                                                   \
  {#name,                                                                                                   \
   {[](const Data& d) { with_tables(d, name<false>); }, [](const Data& d) { with_tables(d, name<true>); }}, \
   false}
#define RIGHT_WITH_TABLES(name) {#name, {nullptr, [](const Data& d) { with_tables(d, name<true>); }}, false}

const Case kCases[] = {
    WITH_TABLES(past_a_pointer_from_a_table),
    WITH_TABLES(past_a_pointer_of_a_structure),
    WITH_TABLES(before_a_pointer_from_shared_memory),
    WITH_TABLES(atomic_past_a_pointer_from_a_table),
    RIGHT_WITH_TABLES(walks_over_pointers),
    RIGHT_WITH_TABLES(later_pointer_of_a_loop),
    CASE(into_the_next_block_of_malloc, 1, 4),
    CASE(new_past_the_end, 1, 4),
    CASE(used_after_delete, 1, 4),
    CASE(used_after_free_and_malloc_again, 1, 4),
    CASE(atomic_on_freed_memory, 1, 4),
    CASE(one_thread_frees_early, 1, 64),
    CASE(never_freed, 1, 4),
    CASE(new_without_delete, 1, 4),
    CASE(freed_by_half_the_threads, 1, 4),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
