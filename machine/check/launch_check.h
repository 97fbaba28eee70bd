// `coalesce check`: kernels on the interpreter, each access looked at. What is wrong becomes a diagnostic.
//
// Lowered code runs each access through observed_access() first (Checks), fences and waits through observed_event(),
// and blocks report their barriers. One thread of the host runs all blocks: findings are the same in every run.
//
// Reading order: clocks.h (what is ordered), shadow.h (what is remembered), this, block_check.h, races.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "machine/check/access_records.h"
#include "machine/check/address_facts.h"
#include "machine/check/checked_kernel.h"
#include "machine/check/clocks.h"
#include "machine/check/findings.h"
#include "machine/check/footprint.h"
#include "machine/check/undefined.h"
#include "machine/execute/launch.h"
#include "machine/execute/observer.h"

namespace coalesce::machine {

class BlockCheck;
struct BlockState;

// The state of a launch that its blocks share.
class LaunchCheck final : public LaunchObserver {
 public:
  // `memory` to use, of an earlier launch.
  LaunchCheck(Launch& launch, AccessId first, uint64_t room, std::vector<AccessRecord> memory = {});
  LaunchCheck(const LaunchCheck&) = delete;
  LaunchCheck& operator=(const LaunchCheck&) = delete;
  std::unique_ptr<BlockObserver> observe_blocks() override;
  bool checks() const override { return true; }
  std::vector<AccessSite> take_accesses();

  Launch& launch() { return launch_; }
  const Decoded& program() const { return kernel.program; }
  const AccessRule& rule(uint32_t instruction) const { return kernel.rules[instruction]; }
  Footprint& footprint(bool waited) { return waited || !early_ ? footprint_ : *early_; }
  void count_change() { ++changes; }  // of memory that others read

  // Forgets records that no cell names, now and then. Ids change.
  void tidy() {
    if (records.many()) forget();
  }
  void enter(BlockCheck* b) { blocks_.insert(b); }
  void leave(BlockCheck* b) { blocks_.erase(b); }
  BlockState* running(uint64_t block) const;  // null: it has ended
  // The knowledge of those threads of the block's cluster that have come to its barrier in that phase.
  View& meeting(uint64_t block, uint64_t phase);
  void ended(uint64_t block);

  const CheckedKernel kernel;
  const AddressFacts addresses;
  AccessRecords records;
  Findings findings;
  Handovers places;                                // of global memory
  Carried carried;                                 // of global memory, by address
  std::unordered_map<uint64_t, Changer> changers;  // of global memory, by address
  uint64_t changes = 1;
  bool strays = false;  // memory has been written that addresses.leaves_alone() calls untouched

 private:
  void forget();

  Launch& launch_;
  Footprint footprint_;
  std::unique_ptr<Footprint> early_;  // before griddepcontrol.wait, if the kernel has one
  std::set<BlockCheck*> blocks_;
  struct Meeting {
    uint64_t phase = 0;
    View told;
  };
  std::map<uint64_t, std::array<Meeting, 2>> meetings_;  // by cluster; by the parity of the phase
};

}  // namespace coalesce::machine
