// Kernels that wait for what the host writes after the call that launches them.
#include <atomic>

#include "api.h"
#include "tests/cudart/wait_for_a_flag.h"
#include "tests/sanitized.h"

namespace coalesce::cudart {

extern "C" cudaError_t cudaStreamQuery(cudaStream_t);

namespace {

class BesideTheHost : public WithModule {
 protected:
  void SetUp() override {
    WithModule::SetUp();
    if (kThreadSanitizer) GTEST_SKIP() << "the host and the kernel share memory by intention";
    ASSERT_EQ(cudaLibraryLoadData(&library_, kWaitForAFlag, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&kernel_, library_, "wait"), cudaSuccess);
    ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&flag_), 3 * sizeof(unsigned), 1), cudaSuccess);
    flag_[0] = flag_[1] = flag_[2] = 0;
  }
  cudaError_t launch() {
    unsigned* to = flag_ + 1;
    void* arguments[] = {&flag_, &to};
    return cudaLaunchKernel(kernel_, {2}, {32}, arguments, 0, nullptr);
  }
  void set(unsigned value) { std::atomic_ref(flag_[0]).store(value); }

  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  unsigned* flag_ = nullptr;
};

TEST_F(BesideTheHost, LaunchesBehindItAreKeptUntilACallWaits) {
  ASSERT_EQ(launch(), cudaSuccess);
  unsigned *again = flag_ + 1, *to = flag_ + 2;  // the next one copies what the first has left
  void* arguments[] = {&again, &to};
  ASSERT_EQ(cudaLaunchKernel(kernel_, {1}, {32}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(kernel_, {0}, {32}, arguments, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(std::atomic_ref(flag_[2]).load(), 0u);
  set(7);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(flag_[1], 7u);
  EXPECT_EQ(flag_[2], 7u);
}

TEST_F(BesideTheHost, AKernelWaitsForTheHostsNextStatement) {
  ASSERT_EQ(launch(), cudaSuccess);
  EXPECT_EQ(std::atomic_ref(flag_[1]).load(), 0u);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  set(7);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(flag_[1], 7u);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
}

TEST_F(BesideTheHost, TheNextLaunchComesAfterIt) {
  ASSERT_EQ(launch(), cudaSuccess);
  set(3);
  ASSERT_EQ(launch(), cudaSuccess);  // need not wait: the flag is set
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(flag_[1], 3u);
}

}  // namespace
}  // namespace coalesce::cudart
