// A thread that runs native code: what the code keeps from thread block to thread block, and the helpers it calls.
//   runner.cpp         blocks, regions, steps of the interpreter
//   runner_global.cpp  what accesses of global memory have touched
//   runner_shared.cpp  what accesses of shared memory cost, and its atomics
#pragma once

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "machine/execute/block.h"
#include "native/run/frame.h"
#include "native/run/kernel.h"

namespace coalesce::native {

class Runner : public machine::NativeRunner {
 public:
  Runner(std::shared_ptr<const Kernel> kernel, machine::BlockRun& owner);
  // Ranges of touched bytes grow over all its thread blocks; what is left of them is marked now.
  ~Runner() override {
    for (uint32_t k = 0; k < sites_.size(); ++k) mark_all(k);
    footprint_.mark_all();
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  machine::NativeStop run(uint64_t block, uint64_t end, uint32_t region) override;

 private:
  static Runner& of(Frame* f) { return *reinterpret_cast<Holder*>(f)->runner; }
  static void start_block(Frame* f);
  static Status interpret(Frame* f, uint32_t index, uint32_t warp, uint32_t mask, uint32_t block);
  static void touch(Frame* f, uint32_t site, uint32_t warp, uint64_t low, uint64_t high);
  static void touch_block(Frame* f, uint32_t site, uint64_t first, uint64_t step);
  static void access_with_gaps(Frame* f, uint32_t site, uint64_t base, uint32_t mask);
  static uint64_t affine_cost(Frame* f, uint32_t base, uint32_t stride, uint32_t mask, uint32_t how);
  static void find_cost(Frame* f, CostMemo* memo, uint32_t mask, uint32_t how);
  static void count_atomics(Frame* f);
  static void shared_atomic(Frame* f, uint32_t memory, uint32_t mask);
  static Status charge(Frame* f, uint32_t warp, uint32_t mask, uint32_t block, uint64_t instructions);

  TouchedRange& range(uint32_t site, uint32_t warp) {
    return ranges_[(site * alive_.size()) + (warp & sites_[site].per_warp)];
  }
  void mark(uint32_t site, TouchedRange& track);
  void mark_all(uint32_t site);
  void check_fully_touched(uint32_t site);
  void adopt_allocation(uint32_t site);
  void count_faulted();
  void end_warps(uint32_t region);

  struct Holder {  // the frame, and whose it is
    Frame frame;
    Runner* runner;
  };
  std::shared_ptr<const Kernel> kernel_;
  machine::BlockRun& owner_;
  machine::Worker& worker_;
  const machine::Launch& launch_;
  const machine::Decoded& program_;
  Holder holder_;
  Frame& frame_;
  std::vector<uint32_t> alive_;
  std::vector<SiteState> sites_;
  std::vector<TouchedRange> ranges_;                     // by site, then warp
  std::vector<const machine::Allocation*> allocations_;  // by site
  Footprint footprint_;
  std::vector<BlockAccess> remembered_;
  std::vector<CostMemo> memo_space_;
  PendingAtomics pending_atomics_{};
  std::vector<std::byte> scratch_space_;
  machine::Context context_{};
  std::exception_ptr thrown_;
  uint64_t prepaid_ = 0;  // instructions charged for while the code runs
  uint32_t fault_warp_ = 0, fault_block_ = 0;
  std::vector<std::pair<machine::Slot, std::size_t>> zeroed_;  // registers of a warp read before they are written
};

}  // namespace coalesce::native
