// A launch that goes on beside the host: its kernel waits for what the host writes after the call that launches it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "cudart/core/abi.h"

namespace coalesce::cudart {

class Beside {
 public:
  // Runs `work` on a thread of its own. Returns when it has ended, or when the kernel waits for memory that the host
  // can write: wait() is called. False: it goes on.
  bool start(std::function<cudaError_t()> work);
  // The kernel waits.
  void wait();
  // The kernel has done nothing but wait for seconds.
  void stuck();
  // Returns when the work has ended: true; or when the kernel is stuck.
  bool ends();
  // Ends when the work has. What it returned.
  cudaError_t finish();
  bool ended();

 private:
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false, waits_ = false, stuck_ = false;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace coalesce::cudart
