// The state that threads which ask for code share with threads that compile it. All of it is under the board's mutex.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "machine/execute/code.h"
#include "machine/execute/native.h"

namespace coalesce::native {

// The state of a kernel. It moves on in this order, and may leave states out.
enum class State : uint8_t {
  cold,
  probing,     // the cache is being looked at
  missing,     // the cache has no code
  wanted,      // nor has it, though an earlier process wanted some
  background,  // to be compiled, or being compiled, in the background
  foreground,  // the same in the foreground; it may still be with the background's thread, too
  storing,     // a compiler has returned; the cache's file is being written
  ready,       // Entry::kernel says what there is
};

// One decoded kernel.
struct Entry {
  std::weak_ptr<const machine::Code> code;
  State state = State::cold;
  uint64_t executed = 0;                                // warp instructions of launches that have ended
  std::string name;                                     // of its object in the cache
  std::shared_ptr<const machine::NativeKernel> kernel;  // ready; null: there is none

  bool is_compiling() const { return state >= State::background && state < State::ready; }
};

struct Statistics {
  uint64_t compiled = 0, found = 0, failed = 0;  // kernels; found: in the cache
  uint64_t foreground = 0;                       // that were to be compiled in the foreground
  double seconds = 0;                            // spent compiling, by the compiling thread's clock
};

struct Board {
  using Lock = std::unique_lock<std::mutex>;

  // All under the lock.
  void finish(Entry& e, std::shared_ptr<const machine::NativeKernel> kernel) {
    e.kernel = std::move(kernel);
    e.state = State::ready;
    finished.fetch_add(1, std::memory_order_release);
    changed.notify_all();
  }
  // Its code is not to be had: it is interpreted.
  void give_up(Entry& e) {
    if (e.state == State::ready) return;
    ++statistics.failed;
    finish(e, nullptr);
  }

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool told = false;  // that no kernel can be compiled
  Statistics statistics;
  std::atomic<uint64_t> finished{0};  // entries that have become ready
};

}  // namespace coalesce::native
