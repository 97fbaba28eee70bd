// Clusters: a histogram whose bins lie in the shared memory of the blocks of a cluster, by cooperative groups; a sum
// over tiles that bulk copies bring to all blocks of a cluster. The host does the same.
#include <cooperative_groups.h>

#include "../programs/check.h"

namespace cg = cooperative_groups;

constexpr int kBins = 64, kCluster = 4;  // bins of a block, blocks of a cluster

__global__ void histogram(const unsigned* data, int n, unsigned* out) {
  __shared__ unsigned bins[kBins];
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < kBins) bins[threadIdx.x] = 0;
  cluster.sync();
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
    const unsigned bin = data[k] % (kBins * kCluster);
    atomicAdd(cluster.map_shared_rank(bins, bin / kBins) + bin % kBins, 1u);
  }
  cluster.sync();
  if (threadIdx.x < kBins) atomicAdd(&out[cluster.block_rank() * kBins + threadIdx.x], bins[threadIdx.x]);
}

// Each block's sum of all elements of its cluster's tile, times its rank plus 1.
__global__ void __cluster_dims__(2, 1, 1) tiles(const unsigned* data, unsigned* out) {
  __shared__ alignas(128) unsigned tile[256];
  __shared__ alignas(8) unsigned long long object;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(tile)),
                 bar = static_cast<unsigned>(__cvta_generic_to_shared(&object));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(bar));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(bar));
  }
  cluster.sync();
  if (threadIdx.x == 0) {  // half of it by each block, to both
    const unsigned half = cluster.block_rank();
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 512, [%2], "
        "%3;" ::"r"(at + 512 * half),
        "l"(data + 256 * (blockIdx.x / 2) + 128 * half), "r"(bar), "h"(static_cast<unsigned short>(3))
        : "memory");
  }
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra WAIT;\n}" ::"r"(bar)
               : "memory");
  unsigned sum = 0;
  for (int k = 0; k < 256; ++k) sum += tile[k];
  if (threadIdx.x == 0) out[blockIdx.x] = sum * (cluster.block_rank() + 1);
  cluster.sync();
}

int main() {
  std::vector<unsigned> numbers(2048);
  for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<unsigned>(k * k * 2654435761u >> 7);
  unsigned* data = upload(numbers);
  unsigned* bins = upload(std::vector<unsigned>(kBins * kCluster, 0));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8);
  config.blockDim = dim3(96);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = kCluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, histogram, static_cast<const unsigned*>(data), 2048, bins));
  std::vector<unsigned> expected(kBins * kCluster, 0);
  for (const unsigned v : numbers) ++expected[v % (kBins * kCluster)];
  EXPECT(download(bins, kBins * kCluster) == expected);

  unsigned* sums = upload(std::vector<unsigned>(8, 0));
  tiles<<<8, 64>>>(data, sums);
  const std::vector<unsigned> got = download(sums, 8);
  for (unsigned b = 0; b < 8; ++b) {
    unsigned sum = 0;
    for (unsigned k = 0; k < 256; ++k) sum += numbers[256 * (b / 2) + k];
    EXPECT(got[b] == sum * (b % 2 + 1));
  }
  config.gridDim = dim3(7);  // not whole clusters
  EXPECT(cudaLaunchKernelEx(&config, histogram, static_cast<const unsigned*>(data), 2048, bins) ==
         cudaErrorInvalidClusterSize);
  config.gridDim = dim3(18);
  attribute.val.clusterDim.x = 9;
  EXPECT(cudaLaunchKernelEx(&config, histogram, static_cast<const unsigned*>(data), 2048, bins) ==
         cudaErrorInvalidClusterSize);
  return 0;
}
