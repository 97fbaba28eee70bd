// Launches with clusters: which are refused, as an H100 with driver 580.159.04 does, and what blocks are told.
#include "api.h"

namespace coalesce::cudart {

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);

namespace {

// ranks(u32* to): to[%ctaid.x] = 10 * %cluster_nctarank + %cluster_ctarank. pairs: the same, in clusters of 2.
constexpr char kRanks[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry ranks(.param .u64 p) {
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd3, %rd1, %rd2;
	mov.u32 %r2, %cluster_nctarank;
	mov.u32 %r3, %cluster_ctarank;
	mad.lo.u32 %r4, %r2, 10, %r3;
	st.global.u32 [%rd3], %r4;
	ret;
}
.visible .entry pairs(.param .u64 p) .explicitcluster .reqnctapercluster 2, 1, 1 {
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd3, %rd1, %rd2;
	mov.u32 %r2, %cluster_nctarank;
	mov.u32 %r3, %cluster_ctarank;
	mad.lo.u32 %r4, %r2, 10, %r3;
	st.global.u32 [%rd3], %r4;
	ret;
}
)";

class ClusterLaunches : public WithModule {
 protected:
  void SetUp() override {
    WithModule::SetUp();
    ASSERT_EQ(cudaLibraryLoadData(&library_, kRanks, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&ranks_, library_, "ranks"), cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&pairs_, library_, "pairs"), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&to_), 64 * sizeof(unsigned)), cudaSuccess);
  }
  cudaError_t launch(cudaKernel_t kernel, unsigned grid, dim3 cluster) {
    cudaLaunchAttribute size{cudaLaunchAttributeClusterDimension, {}, {}};
    size.value.clusterDim[0] = cluster.x;
    size.value.clusterDim[1] = cluster.y;
    size.value.clusterDim[2] = cluster.z;
    const cudaLaunchConfig_t config{{grid}, {32}, 0, nullptr, &size, 1};
    void* arguments[] = {&to_};
    return cudaLaunchKernelExC(&config, kernel, arguments);
  }
  std::vector<unsigned> read(std::size_t n) {
    std::vector<unsigned> v(n);
    EXPECT_EQ(cudaMemcpy(v.data(), to_, n * sizeof(unsigned), cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t ranks_ = nullptr, pairs_ = nullptr;
  unsigned* to_ = nullptr;
};

TEST_F(ClusterLaunches, AreRefusedAsAnH100Does) {
  EXPECT_EQ(launch(ranks_, 8, {2}), cudaSuccess);
  EXPECT_EQ(launch(ranks_, 7, {2}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(ranks_, 8, {0}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(ranks_, 16, {8}), cudaSuccess);
  EXPECT_EQ(launch(ranks_, 9, {3}), cudaSuccess);
  EXPECT_EQ(launch(ranks_, 18, {9}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(ranks_, 16, {16}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaFuncSetAttribute(ranks_, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), cudaSuccess);
  EXPECT_EQ(launch(ranks_, 16, {16}), cudaSuccess);
  EXPECT_EQ(launch(ranks_, 32, {32}), cudaErrorInvalidClusterSize);
}

TEST_F(ClusterLaunches, TellBlocksTheirRanks) {
  ASSERT_EQ(launch(ranks_, 8, {4}), cudaSuccess);
  EXPECT_EQ(read(8), (std::vector<unsigned>{40, 41, 42, 43, 40, 41, 42, 43}));
  void* arguments[] = {&to_};
  ASSERT_EQ(cudaLaunchKernel(ranks_, {3}, {1}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(read(3), (std::vector<unsigned>{10, 10, 10}));
}

TEST_F(ClusterLaunches, AKernelMaySayHowLargeItsClustersAre) {
  void* arguments[] = {&to_};
  ASSERT_EQ(cudaLaunchKernel(pairs_, {4}, {1}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(read(4), (std::vector<unsigned>{20, 21, 20, 21}));
  EXPECT_EQ(cudaLaunchKernel(pairs_, {3}, {1}, arguments, 0, nullptr), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(pairs_, 4, {2}), cudaSuccess);
  EXPECT_EQ(launch(pairs_, 4, {4}), cudaErrorInvalidClusterSize);
}

}  // namespace
}  // namespace coalesce::cudart
