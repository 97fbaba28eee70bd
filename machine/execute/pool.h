// The threads on which a machine's launches run.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "machine/execute/warp.h"

namespace coalesce::machine {

// Threads that live as long as the machine and run one job at a time, each with its number.
class Pool {
 public:
  explicit Pool(unsigned threads);  // fewer where no more can be started; one is the caller's
  ~Pool();
  unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }
  // Runs job(0) on the calling thread and job(1) ... job(n - 1) on the pool's; returns when all have ended. Throws what
  // the first of them has thrown.
  void run(unsigned n, const std::function<void(unsigned)>& job);
  // The area that the thread of that number keeps between jobs.
  KeptArea& kept(unsigned number) { return kept_[number]; }

 private:
  struct Place {                     // of one thread
    std::atomic<int> core{-1};       // where it was last
    std::atomic<bool> apart{false};  // it was told to begin elsewhere than on the caller's core
    cpu_set_t cores;                 // all that it may use: the thread's to read while `apart`, else the caller's
    std::exception_ptr thrown;       // by its job
  };
  void loop(unsigned number);
  void work(unsigned number, const std::function<void(unsigned)>& job);
  uint64_t next_call(uint64_t seen) const;
  void keep_apart(unsigned n);
  std::vector<KeptArea> kept_;  // by thread
  std::vector<Place> places_;   // by thread
  std::vector<std::thread> threads_;
  // The number of calls so far times 65536, plus the threads of the last one; 0 threads: end. The job is written before
  // it, and not while `left_` of the pool's threads still run.
  std::atomic<uint64_t> call_{0};
  const std::function<void(unsigned)>* job_ = nullptr;
  std::atomic<uint32_t> left_{0};
};

}  // namespace coalesce::machine
