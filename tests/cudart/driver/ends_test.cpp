// Calls that end something while a kernel is at work wait for the kernel, which finds all that it uses.
#include <atomic>
#include <thread>

#include "driver_api.h"
#include "tests/cudart/driver/driver_functions.h"
#include "tests/cudart/wait_for_a_flag.h"
#include "tests/sanitized.h"

namespace coalesce::cudart {
namespace {

class EndsAtWork : public Driver {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "the host and the kernel share memory by intention";
    Driver::SetUp();
    ASSERT_EQ(cuMemAllocHost_v2(reinterpret_cast<void**>(&flag_), 2 * sizeof(unsigned)), CUDA_SUCCESS);
    flag_[0] = flag_[1] = 0;
  }
  // In the current context; the kernel ends when `body` is called or later, and before this returns.
  template <typename Body>
  void at_work(Body&& body) {
    cudaLibrary_t module = nullptr;
    cudaKernel_t wait = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, kWaitForAFlag), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&wait, module, "wait"), CUDA_SUCCESS);
    unsigned* to = flag_ + 1;
    void* arguments[] = {&flag_, &to};
    ASSERT_EQ(cuLaunchKernel(wait, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(std::atomic_ref(flag_[1]).load(), 0u);
    std::thread host([&] { std::atomic_ref(flag_[0]).store(7); });
    body(module, wait);
    host.join();
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(std::atomic_ref(flag_[1]).load(), 7u);
  }

  unsigned* flag_ = nullptr;
};

TEST_F(EndsAtWork, AModule) {
  at_work([&](cudaLibrary_t module, cudaKernel_t wait) {
    EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    EXPECT_EQ(std::atomic_ref(flag_[1]).load(), 7u) << "it waits";
    EXPECT_EQ(cuLaunchKernel(wait, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST_F(EndsAtWork, AContext) {
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
  CUdeviceptr of_it = 0;
  ASSERT_EQ(cuMemAlloc_v2(&of_it, 64), CUDA_SUCCESS);
  at_work([&](cudaLibrary_t, cudaKernel_t) {
    EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
    EXPECT_EQ(std::atomic_ref(flag_[1]).load(), 7u) << "it waits";
  });
  EXPECT_EQ(cuMemFree_v2(of_it), CUDA_ERROR_INVALID_VALUE) << "gone with its context";
}

TEST_F(EndsAtWork, Memory) {
  CUdeviceptr other = 0;
  ASSERT_EQ(cuMemAlloc_v2(&other, 64), CUDA_SUCCESS);
  at_work([&](cudaLibrary_t, cudaKernel_t) {
    EXPECT_EQ(cuMemFree_v2(other), CUDA_SUCCESS);
    EXPECT_EQ(std::atomic_ref(flag_[1]).load(), 7u) << "it waits";
  });
}

}  // namespace
}  // namespace coalesce::cudart
