// Clusters: shared memory of other blocks, their barrier objects, copies for several blocks.
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
#define PEEK(address)                                                                          \
  ({                                                                                           \
    int value_;                                                                                \
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value_) : "r"(address) : "memory"); \
    value_;                                                                                    \
  })
#define PUT(address, value) asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(address), "r"(value) : "memory")
#define ADD_FAR(address, value) \
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" : : "r"(address), "r"(value) : "memory")
#define TELL(how, address) \
  asm volatile("mbarrier.arrive" how ".shared::cluster.b64 _, [%0];" : : "r"(address) : "memory")
#define HEAR(how, object, phase)                                        \
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity" how \
               ".shared::cta.b64 p, [%0], %1;\n"                        \
               "@!p bra AGAIN;\n}"                                      \
               :                                                        \
               : "r"(at(object)), "r"(phase)                            \
               : "memory")
#define OTHER (blockIdx.x ^ 1)

KERNEL(store_into_what_its_owner_clears) {
  __shared__ int box[64];
  box[threadIdx.x] = 0;  // HERE: race_shared
  if (Right) meet();
  PUT(of_block(box + threadIdx.x, OTHER & 1), in[threadIdx.x]);
  meet();
  out[64 * blockIdx.x + threadIdx.x] = box[threadIdx.x];
}
KERNEL(arrives_relaxed_at_the_cluster) {
  __shared__ int box[64];
  box[threadIdx.x] = in[threadIdx.x];
  if (Right)
    asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
  else
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
  out[64 * blockIdx.x + threadIdx.x] = PEEK(of_block(box + threadIdx.x, OTHER & 1));  // HERE: race_shared
  meet();
}
KERNEL(arrives_at_the_cluster_before_it_stores) {
  __shared__ int box[64];
  box[threadIdx.x] = 0;
  meet();
  if (Right) box[threadIdx.x] = in[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;" : : : "memory");
  if (!Right) box[threadIdx.x] = in[threadIdx.x];
  asm volatile("barrier.cluster.wait.aligned;" : : : "memory");
  out[64 * blockIdx.x + threadIdx.x] = PEEK(of_block(box + threadIdx.x, OTHER & 1));  // HERE: race_shared
  meet();
}
KERNEL(sum_of_the_cluster_read_plainly) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  meet();
  ADD_FAR(of_block(&sum, 0), in[threadIdx.x]);  // HERE: race_shared
  if (Right) meet();
  if (blockIdx.x % 2 == 0) out[64 * blockIdx.x + threadIdx.x] = sum;
  meet();
}
// A block fills the box of the other and tells the other's barrier object.
#define FILLED_BY_THE_OTHER(told, heard)                                 \
  __shared__ int box[64];                                                \
  alignas(8) __shared__ unsigned long long object;                       \
  if (threadIdx.x == 0) {                                                \
    init(&object, 64);                                                   \
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); \
  }                                                                      \
  meet();                                                                \
  PUT(of_block(box + threadIdx.x, OTHER & 1), in[threadIdx.x]);          \
  told;                                                                  \
  heard;
KERNEL(told_within_the_own_block) {
  FILLED_BY_THE_OTHER(if (Right) TELL(".release.cluster", of_block(&object, OTHER & 1));  // HERE: race_shared
                      else TELL(".release.cta", of_block(&object, OTHER & 1)), HEAR(".acquire.cluster", &object, 0))
  out[64 * blockIdx.x + threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
  meet();
}
KERNEL(heard_within_the_own_block) {
  FILLED_BY_THE_OTHER(TELL(".release.cluster", of_block(&object, OTHER & 1)),  // HERE: race_shared
                      if (Right) HEAR(".acquire.cluster", &object, 0);
                      else HEAR(".acquire.cta", &object, 0))
  out[64 * blockIdx.x + threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
  meet();
}
KERNEL(told_before_it_is_filled) {
  FILLED_BY_THE_OTHER(TELL(".release.cluster", of_block(&object, OTHER & 1)), HEAR(".acquire.cluster", &object, 0))
  if (!Right) PUT(of_block(box + threadIdx.x, OTHER & 1), in[64 + threadIdx.x]);  // HERE: race_shared
  out[64 * blockIdx.x + threadIdx.x] = box[63 - threadIdx.x];
  meet();
}
KERNEL(flag_of_the_cluster_without_a_release) {
  __shared__ int box[64];
  __shared__ uint flag;
  if (threadIdx.x == 0) flag = 0;
  meet();
  PUT(of_block(box + threadIdx.x, OTHER & 1), in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint there = of_block(&flag, OTHER & 1);
    if (Right)
      asm volatile("st.release.cluster.shared::cluster.u32 [%0], 1;" : : "r"(there) : "memory");
    else
      asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], 1;" : : "r"(there) : "memory");
    uint told = 0;
    while (told == 0)
      asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(told) : "r"(at(&flag)) : "memory");
  }
  __syncthreads();
  out[64 * blockIdx.x + threadIdx.x] = box[63 - threadIdx.x];  // HERE: race_shared
  meet();
}
// One copy for both blocks; each has to wait at its own object.
#define SPREAD(to, from, bytes, object)                                                                                \
  asm volatile(                                                                                                        \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" \
      :                                                                                                                \
      : "r"(at(to)), "l"(from), "r"(bytes), "r"(at(object)), "h"(static_cast<unsigned short>(3))                       \
      : "memory")
#define TOGETHER                                                         \
  alignas(16) __shared__ int tile[64];                                   \
  alignas(8) __shared__ unsigned long long object;                       \
  if (threadIdx.x == 0) {                                                \
    init(&object, 1);                                                    \
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); \
    expect(&object, 256);                                                \
  }                                                                      \
  meet();                                                                \
  if (blockIdx.x % 2 == 0 && threadIdx.x == 0) SPREAD(tile, in, 256, &object)
KERNEL(second_block_meets_and_does_not_wait) {
  TOGETHER;
  if (Right || blockIdx.x % 2 == 0) wait(&object, 0);
  meet();
  out[64 * blockIdx.x + threadIdx.x] = tile[threadIdx.x];  // HERE: early_use
  meet();
}
KERNEL(next_tile_while_the_other_block_reads) {
  TOGETHER;
  for (int round = 0; round < 2; ++round) {
    wait(&object, round % 2);
    out[256 * round + 64 * blockIdx.x + threadIdx.x] = tile[threadIdx.x];  // HERE: early_use
    __syncthreads();
    if (threadIdx.x == 0 && round < 1) expect(&object, 256);
    if (Right) meet();
    if (blockIdx.x % 2 == 0 && threadIdx.x == 0 && round < 1)
      SPREAD(tile, in + 64 * round, 256, &object);  // HERE: early_use
  }
  meet();
}
// From one block's shared memory to the other's.
#define PASS(to, from, bytes, object)                                                                         \
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
               :                                                                                              \
               : "r"(to), "r"(at(from)), "r"(bytes), "r"(object)                                              \
               : "memory")
KERNEL(passed_on_and_overwritten) {
  alignas(16) __shared__ int mine[64], theirs[64];
  alignas(8) __shared__ unsigned long long object;
  if (threadIdx.x == 0) {
    init(&object, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    expect(&object, 256);
  }
  mine[threadIdx.x] = in[threadIdx.x];
  publish();
  meet();
  if (threadIdx.x == 0) PASS(of_block(theirs, OTHER & 1), mine, 256, of_block(&object, OTHER & 1));
  if (Right) {
    wait(&object, 0);
    meet();
  } else {
    __syncthreads();
  }
  mine[threadIdx.x] = 0;  // HERE: early_use
  wait(&object, 0);
  out[64 * blockIdx.x + threadIdx.x] = theirs[threadIdx.x] + mine[threadIdx.x];
  meet();
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
    PAIR(store_into_what_its_owner_clears),
    PAIR(arrives_relaxed_at_the_cluster),
    PAIR(arrives_at_the_cluster_before_it_stores),
    PAIR(sum_of_the_cluster_read_plainly),
    PAIR(told_within_the_own_block),
    PAIR(heard_within_the_own_block),
    PAIR(told_before_it_is_filled),
    PAIR(flag_of_the_cluster_without_a_release),
    PAIR(second_block_meets_and_does_not_wait),
    PAIR(next_tile_while_the_other_block_reads),
    PAIR(passed_on_and_overwritten),
};

int main(int argc, char** argv) { return run_cases(kCases, argc, argv); }
