// An observer sees what checked code does: its accesses, fences, waits and barriers (machine/check). Execution knows
// nothing of what an observer finds.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "machine/execute/code.h"

namespace coalesce::machine {

struct Warp;

// Observes one thread block at a time, as BlockRun runs it; used by one thread.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  virtual void begin(uint64_t block) = 0;  // shared and local memory hold nothing yet
  // Before the warp's active lanes do it.
  virtual void access(const Access& a, Warp& w) = 0;
  virtual void event(const Instruction& i, Warp& w) = 0;  // Nothing: fences, and commits and waits of copies
  virtual void sync_warp(const LaneOp& op, Warp& w) = 0;  // bar.warp.sync
  // Barrier `id` is complete. `at`: each warp and its lanes there.
  virtual void barrier(const std::vector<std::pair<uint32_t, uint32_t>>& at, uint32_t id) = 0;
  virtual void arrive(uint32_t warp, uint32_t id) = 0;  // bar.arrive: the warp does not wait
};

// Observes one launch.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  virtual std::unique_ptr<BlockObserver> observe_blocks() = 0;
};

// The steps of checked code: tell the observer, then do what was asked.
void observed_access(const Step& s, Context& c);
void observed_event(const Step& s, Context& c);
void observed_warp_barrier(const Step& s, Context& c);

}  // namespace coalesce::machine
