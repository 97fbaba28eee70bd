// Stores of threads to global memory that bulk copies read or add to: a fence.proxy.async has to come between.
#include "bulk.h"

__device__ inline void publish_globally() { asm volatile("fence.proxy.async.global;" : : : "memory"); }
#define ADD_TO(to, from, bytes)                                                             \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" \
               :                                                                            \
               : "l"(to), "r"(at(from)), "r"(bytes)                                         \
               : "memory")
#define BRING_WHOLE(tile, from, bytes, object) \
  if (threadIdx.x == 0) {                      \
    init(&object, 1);                          \
    expect(&object, bytes);                    \
    BRING(tile, from, bytes, &object);         \
    wait(&object, 0);                          \
  }

KERNEL(stored_and_brought_by_one_thread) {
  alignas(16) __shared__ int tile[4];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0)
    for (int k = 0; k < 4; ++k) raw[k] = in[k];
  if (Right) publish_globally();
  BRING_WHOLE(tile, raw, 16, object);  // HERE: race_global
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(stored_by_a_block_and_brought) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  raw[threadIdx.x] = in[threadIdx.x];
  if (Right) publish();
  __syncthreads();
  BRING_WHOLE(tile, raw, 256, object);  // HERE: race_global
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(counted_and_brought) {
  alignas(16) __shared__ int tile[4];
  alignas(8) __shared__ unsigned long long object;
  atomicAdd(&words[threadIdx.x % 4], 1u);
  __syncthreads();
  if (Right) publish_globally();
  BRING_WHOLE(tile, words, 16, object);  // HERE: race_global
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(fence_for_shared_memory) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  raw[threadIdx.x] = in[threadIdx.x];
  if (Right)
    publish_globally();
  else
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  __syncthreads();
  BRING_WHOLE(tile, raw, 256, object);  // HERE: race_global
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(fence_before_the_store) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (!Right) publish();
  raw[threadIdx.x] = in[threadIdx.x];
  if (Right) publish();
  __syncthreads();
  BRING_WHOLE(tile, raw, 256, object);  // HERE: race_global
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(fence_by_one_warp_of_two) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  raw[threadIdx.x] = in[threadIdx.x];
  if (Right || threadIdx.x < 32) publish_globally();
  __syncthreads();
  BRING_WHOLE(tile, raw, 256, object);  // HERE: race_global
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(added_to_what_threads_have_cleared) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = 5;
  if (Right)
    publish();
  else
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    ADD_TO(out, tile, 256);  // HERE: race_global
    commit();
    wait_group<0>();
  }
}
// The order between blocks is there, the way to the other proxy is not.
KERNEL(stored_by_another_block) {
  alignas(16) __shared__ int tile[4];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int k = 0; k < 4; ++k) raw[k] = in[k];
    if (Right) publish_globally();
    store_release(&words[0], 1);
  } else {
    while (load_acquire(&words[0]) == 0) {}
    BRING_WHOLE(tile, raw, 16, object);  // HERE: race_global
    out[blockIdx.x] = tile[0];
  }
}

// ---- right

KERNEL(fence_by_the_block_that_brings) {
  alignas(16) __shared__ int tile[4];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int k = 0; k < 4; ++k) raw[k] = in[k];
    store_release(&words[0], 1);
  } else {
    while (load_acquire(&words[0]) == 0) {}
    publish_globally();
    BRING_WHOLE(tile, raw, 16, object);
    out[blockIdx.x] = tile[0];
  }
}
KERNEL(fence_behind_the_barrier) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  raw[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) publish();
  BRING_WHOLE(tile, raw, 256, object);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(taken_and_brought_back) {
  alignas(16) __shared__ int tile[2][64];
  alignas(8) __shared__ unsigned long long object;
  tile[0][threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  TAKE_WHOLE(out, tile[0], 256);
  BRING_WHOLE(tile[1], out, 256, object);
  __syncthreads();
  words[threadIdx.x] = static_cast<uint>(tile[1][threadIdx.x]);
}
KERNEL(taken_and_read) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  TAKE_WHOLE(out, tile, 256);
  __syncthreads();
  words[threadIdx.x] = static_cast<uint>(out[threadIdx.x]);
}
KERNEL(others_words_are_brought) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  raw[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  BRING_WHOLE(tile, in + 64, 256, object);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x] + raw[63 - threadIdx.x];
}

const Case kCases[] = {
    CASE(stored_and_brought_by_one_thread, 1, 32),
    CASE(stored_by_a_block_and_brought, 1, 64),
    CASE(counted_and_brought, 1, 64),
    CASE(fence_for_shared_memory, 1, 64),
    CASE(fence_before_the_store, 1, 64),
    CASE(fence_by_one_warp_of_two, 1, 64),
    CASE(added_to_what_threads_have_cleared, 1, 64),
    CASE(stored_by_another_block, 3, 32),
    RIGHT(fence_by_the_block_that_brings, 3, 32),
    RIGHT(fence_behind_the_barrier, 1, 64),
    RIGHT(taken_and_brought_back, 1, 64),
    RIGHT(taken_and_read, 1, 64),
    RIGHT(others_words_are_brought, 1, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
