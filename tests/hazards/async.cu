// Bulk copies and clusters: what is used before the wait for it, overwritten while it is read, or gone.
#include "bulk.h"

__device__ inline void meet() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" : : : "memory");
}
// The same place in the shared memory of another block of the cluster.
__device__ inline uint of_block(const void* p, uint rank) {
  uint there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(p)), "r"(rank));
  return there;
}
#define READ(address)                                                                          \
  ({                                                                                           \
    int value_;                                                                                \
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value_) : "r"(address) : "memory"); \
    value_;                                                                                    \
  })

KERNEL(read_without_a_wait) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) init(&object, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&object, 256);
    BRING(tile, in, 256, &object);
  }
  if (Right) wait(&object, 0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];  // HERE: early_use
}
KERNEL(waits_for_the_other_stage) {
  alignas(16) __shared__ int tiles[2][64];
  alignas(8) __shared__ unsigned long long objects[2];
  if (threadIdx.x < 2) init(&objects[threadIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 0; k < 2; ++k) {
      expect(&objects[k], 256);
      BRING(tiles[k], in + 64 * k, 256, &objects[k]);
    }
  wait(&objects[Right ? 0 : 1], 0);
  out[threadIdx.x] = tiles[0][threadIdx.x];  // HERE: early_use
}
KERNEL(one_thread_waits_for_all) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) {
    init(&object, 1);
    expect(&object, 256);
    BRING(tile, in, 256, &object);
    wait(&object, 0);
  }
  if (Right) __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];  // HERE: early_use
}
KERNEL(next_tile_comes_early) {
  alignas(16) __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long objects[3];
  if (threadIdx.x < 3) init(&objects[threadIdx.x], 1);
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) {
      expect(&objects[round], 256);
      BRING(tile, in + 64 * round, 256, &objects[round]);  // HERE: race_shared
    }
    wait(&objects[round], 0);
    sum += tile[63 - threadIdx.x];  // HERE: early_use
    if (Right) __syncthreads();
  }
  out[threadIdx.x] = sum;
}
KERNEL(stages_with_two_objects_each) {
  alignas(16) __shared__ int tiles[2][64];
  alignas(8) __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], 1);
    init(&empty[threadIdx.x], 64);
  }
  __syncthreads();
  if (threadIdx.x == 64)
    for (int round = 0; round < 6; ++round) {
      wait(&empty[round % 2], round / 2 % 2 ^ 1);
      expect(&full[round % 2], 256);
      BRING(tiles[round % 2], in + 64 * round, 256, &full[round % 2]);
    }
  if (threadIdx.x >= 64) return;
  int sum = 0;
  for (int round = 0; round < 6; ++round) {
    wait(&full[round % 2], round / 2 % 2);
    sum += tiles[round % 2][63 - threadIdx.x];
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(at(&empty[round % 2])) : "memory");
  }
  out[threadIdx.x] = sum;
}
KERNEL(overwritten_while_it_is_taken) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  if (threadIdx.x == 0) {
    TAKE(out, tile, 256);
    commit();
    if (Right) wait_read<0>();
  }
  __syncthreads();
  tile[threadIdx.x] = 7;  // HERE: early_use
}
KERNEL(waits_for_too_few_copies) {
  alignas(16) __shared__ int tiles[2][64];
  for (int k = 0; k < 2; ++k) tiles[k][threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 0; k < 2; ++k) {
      TAKE(out + 64 * k, tiles[k], 256);
      commit();
    }
    if (Right)
      wait_read<0>();
    else
      wait_read<1>();
  }
  __syncthreads();
  tiles[0][threadIdx.x] = 7;
  tiles[1][threadIdx.x] = 8;  // HERE: early_use
}
KERNEL(read_back_before_it_is_written) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  if (threadIdx.x == 0) {
    TAKE(out, tile, 256);
    commit();
    if (Right)
      wait_group<0>();
    else
      wait_read<0>();  // its source is read, no more
  }
  __syncthreads();
  words[threadIdx.x] = out[threadIdx.x];  // HERE: early_use
}
KERNEL(taken_before_all_have_written) {
  alignas(16) __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  publish();
  if (Right) __syncthreads();
  TAKE_WHOLE(out, tile, 256);  // HERE: race_shared
}
KERNEL(nothing_has_written_it) {
  alignas(16) __shared__ int tile[64];
  if (Right) tile[threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  TAKE_WHOLE(out, tile, 256);  // HERE: uninitialised
}
KERNEL(copies_by_threads_and_an_object) {
  __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) init(&object, 64);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
               :
               : "r"(at(tile + threadIdx.x)), "l"(in + threadIdx.x)
               : "memory");
  if (Right) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" : : "r"(at(&object)) : "memory");
    wait(&object, 0);
  }
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];  // HERE: early_use
}
#define COPY_AND_ARRIVE(to, from, how, object)                                                    \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(at(to)), "l"(from) : "memory"); \
  asm volatile("cp.async.mbarrier.arrive" how ".shared.b64 [%0];" : : "r"(at(object)) : "memory")
KERNEL(own_copy_read_before_the_phase_ends) {
  __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) init(&object, 64);
  __syncthreads();
  COPY_AND_ARRIVE(tile + threadIdx.x, in + threadIdx.x, ".noinc", &object);
  if (Right) wait(&object, 0);
  out[threadIdx.x] = tile[threadIdx.x];  // HERE: early_use
}
KERNEL(own_copy_copied_over) {
  __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) init(&object, 64);
  __syncthreads();
  COPY_AND_ARRIVE(tile + threadIdx.x, in + threadIdx.x, ".noinc", &object);
  if (Right) wait(&object, 0);
  tile[threadIdx.x] = 1;  // HERE: early_use
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
// The wait of the thread's own groups is enough for it.
KERNEL(own_copy_waited_for_as_a_group) {
  __shared__ int tile[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) init(&object, 64);
  __syncthreads();
  COPY_AND_ARRIVE(tile + threadIdx.x, in + threadIdx.x, "", &object);
  asm volatile("cp.async.wait_all;" : : : "memory");
  out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL(operand_of_a_product_overwritten) {
  alignas(128) __shared__ int left[2][512];
  alignas(128) __shared__ int right[64];
  for (int k = threadIdx.x; k < 1024; k += 128) left[k / 512][k % 512] = in[k];
  if (threadIdx.x < 64) right[threadIdx.x] = in[threadIdx.x];
  publish();
  __syncthreads();
  float d[4] = {}, e[4] = {};
  MULTIPLY(d, left[0], right);
  MULTIPLY(e, left[1], right);
  wait_products<1>();
  __syncthreads();
  left[0][threadIdx.x] = 1;
  if (Right) {
    wait_products<0>();
    __syncthreads();
  }
  left[1][threadIdx.x] = 1;  // HERE: early_use
  wait_products<0>();
  out[threadIdx.x] = static_cast<int>(d[0] + e[0]);
}
// Clusters of two blocks.
KERNEL(read_before_the_other_has_written) {
  __shared__ int tile[64];
  tile[threadIdx.x] = 0;
  meet();
  tile[threadIdx.x] = in[64 * blockIdx.x + threadIdx.x];
  if (Right)
    meet();
  else
    __syncthreads();
  out[64 * blockIdx.x + threadIdx.x] = READ(of_block(tile + threadIdx.x, ~blockIdx.x & 1));  // HERE: race_shared
  meet();
}
// The other block does wait, for a word that orders nothing.
KERNEL(read_of_a_block_that_may_have_ended) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[64 * blockIdx.x + threadIdx.x];
  meet();
  if (blockIdx.x % 2 == 0) {
    out[64 * blockIdx.x + threadIdx.x] = READ(of_block(tile + threadIdx.x, 1));  // HERE: race_shared
    __syncthreads();
    if (threadIdx.x == 0) store_relaxed(words + blockIdx.x, 1u);
  } else if (threadIdx.x == 0) {
    while (load_relaxed(words + blockIdx.x - 1) == 0) {}
  }
  if (Right) meet();
}
KERNEL(arrives_before_it_reads) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[64 * blockIdx.x + threadIdx.x];
  meet();
  const uint there = of_block(tile + threadIdx.x, ~blockIdx.x & 1);
  int value = 0;
  if (Right) value = READ(there);
  asm volatile("barrier.cluster.arrive.aligned;" : : : "memory");
  if (!Right) value = READ(there);  // HERE: race_shared
  asm volatile("barrier.cluster.wait.aligned;" : : : "memory");
  out[64 * blockIdx.x + threadIdx.x] = value;
}

template <void (*Kernel)(const int*, int*, uint*, int*)>
void pair(const Data& d) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(4);
  config.blockDim = dim3(64);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = 2;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, Kernel, static_cast<const int*>(d.in), d.out, d.words, d.raw);
}
#define PAIR(name) {#name, {pair<name<false>>, pair<name<true>>}, false}

const Case kCases[] = {
    CASE(read_without_a_wait, 1, 64),
    CASE(waits_for_the_other_stage, 1, 64),
    CASE(one_thread_waits_for_all, 1, 64),
    CASE(next_tile_comes_early, 1, 64),
    RIGHT(stages_with_two_objects_each, 1, 96),
    CASE(overwritten_while_it_is_taken, 1, 64),
    CASE(waits_for_too_few_copies, 1, 64),
    CASE(read_back_before_it_is_written, 1, 64),
    CASE(taken_before_all_have_written, 1, 64),
    CASE(nothing_has_written_it, 1, 64),
    CASE(own_copy_read_before_the_phase_ends, 1, 64),
    CASE(own_copy_copied_over, 1, 64),
    RIGHT(own_copy_waited_for_as_a_group, 1, 64),
    CASE(copies_by_threads_and_an_object, 1, 64),
    CASE(operand_of_a_product_overwritten, 1, 128),
    PAIR(read_before_the_other_has_written),
    PAIR(read_of_a_block_that_may_have_ended),
    PAIR(arrives_before_it_reads),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
