// Stores of threads that bulk copies and products of warp groups read: a fence.proxy.async has to come between.
#include "bulk.h"

KERNEL(taken_behind_a_barrier) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  if (Right) publish();
  __syncthreads();
  TAKE_WHOLE(out, tile, 256);  // HERE: race_shared
}
KERNEL(one_warp_does_not_publish) {
  alignas(16) __shared__ int tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  if (Right || threadIdx.x < 96) publish();
  __syncthreads();
  TAKE_WHOLE(out, tile, 512);  // HERE: race_shared
}
KERNEL(published_before_it_is_stored) {
  alignas(16) __shared__ int tile[64];
  if (!Right) publish();
  tile[threadIdx.x] = in[threadIdx.x];
  if (Right) publish();
  __syncthreads();
  TAKE_WHOLE(out, tile, 256);  // HERE: race_shared
}
KERNEL(stored_and_taken_by_one_thread) {
  alignas(16) __shared__ int tile[4];
  if (threadIdx.x == 0) {
    for (int k = 0; k < 4; ++k) tile[k] = in[k];
    if (Right) publish();
    TAKE(out, tile, 16);  // HERE: race_shared
    commit();
    wait_group<0>();
  }
}
KERNEL(second_round_is_not_published) {
  alignas(16) __shared__ int tile[64];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = in[64 * round + threadIdx.x];
    if (Right || round == 0) publish();
    __syncthreads();
    if (threadIdx.x == 0) {
      TAKE(out + 64 * round, tile, 256);  // HERE: race_shared
      commit();
      wait_read<0>();
    }
    __syncthreads();
  }
}
// Between ways to global memory, that is.
KERNEL(published_elsewhere) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  if (Right)
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
  else
    asm volatile("fence.proxy.async.global;" : : : "memory");
  __syncthreads();
  TAKE_WHOLE(out, tile, 256);  // HERE: race_shared
}
KERNEL(operand_of_a_product) {
  alignas(128) __shared__ int left[512];
  alignas(128) __shared__ int right[64];
  for (int k = threadIdx.x; k < 512; k += 128) left[k] = in[k];
  if (threadIdx.x < 64) right[threadIdx.x] = in[threadIdx.x];
  if (Right) publish();
  __syncthreads();
  float d[4] = {};
  MULTIPLY(d, left, right);  // HERE: race_shared
  wait_products<0>();
  out[threadIdx.x] = static_cast<int>(d[0]);
}

// ---- right

KERNEL(published_by_the_one_that_takes) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    publish();
    TAKE(out, tile, 256);
    commit();
    wait_group<0>();
  }
}
KERNEL(brought_and_taken) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) {
    init(&object, 1);
    expect(&object, 256);
    BRING(tile, in, 256, &object);
    wait(&object, 0);
    TAKE(out, tile, 256);
    commit();
    wait_group<0>();
  }
}
KERNEL(told_by_an_object) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) init(&object, 64);
  __syncthreads();
  if (threadIdx.x < 64) {
    tile[threadIdx.x] = in[threadIdx.x];
    publish();
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(at(&object)) : "memory");
  } else if (threadIdx.x == 64) {
    wait(&object, 0);
    TAKE(out, tile, 256);
    commit();
    wait_group<0>();
  }
}
KERNEL(published_by_some_lanes) {
  alignas(16) __shared__ int tile[64];
  if (threadIdx.x % 2 == 0) {
    tile[threadIdx.x] = in[threadIdx.x];
    tile[threadIdx.x + 1] = in[threadIdx.x + 1];
    publish();
  }
  __syncthreads();
  if (threadIdx.x == 33) {
    TAKE(out, tile, 256);
    commit();
    wait_group<0>();
  }
}
KERNEL(stored_after_it_was_taken) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  if (threadIdx.x == 0) {
    TAKE(out, tile, 256);
    commit();
    wait_read<0>();
  }
  __syncthreads();
  tile[threadIdx.x] = 7;
  __syncthreads();
  words[threadIdx.x] = static_cast<uint>(tile[63 - threadIdx.x]);
}
KERNEL(overwritten_by_a_bulk_copy) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  tile[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) init(&object, 1);
  __syncthreads();
  const int mine = tile[63 - threadIdx.x];
  publish();
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&object, 256);
    BRING(tile, in, 256, &object);
  }
  wait(&object, 0);
  out[threadIdx.x] = mine + tile[threadIdx.x];
}

const Case kCases[] = {
    CASE(taken_behind_a_barrier, 1, 64),
    CASE(one_warp_does_not_publish, 1, 128),
    CASE(published_before_it_is_stored, 1, 64),
    CASE(stored_and_taken_by_one_thread, 1, 32),
    CASE(second_round_is_not_published, 1, 64),
    CASE(published_elsewhere, 1, 64),
    CASE(operand_of_a_product, 1, 128),
    RIGHT(published_by_the_one_that_takes, 1, 64),
    RIGHT(brought_and_taken, 1, 32),
    RIGHT(told_by_an_object, 1, 96),
    RIGHT(published_by_some_lanes, 1, 64),
    RIGHT(stored_after_it_was_taken, 1, 64),
    RIGHT(overwritten_by_a_bulk_copy, 1, 64),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
