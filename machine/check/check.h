// `coalesce check`: kernels on the interpreter, each access looked at. Races, reads of what nothing has written, and
// uses of shared memory that a cp.async may still be filling become diagnostics; what leaves its allocation faults
// anyway.
//
// Lowered code runs each access through observed_access() first (Checks), the fences and waits that it otherwise leaves
// out through observed_event(), and blocks report their barriers. One thread of the host runs all blocks, one after the
// other where they do not wait for each other: so findings, too, are the same in every run.
//
// Reading order: clocks.h (what is ordered), shadow.h (what is remembered), this, check.cpp.
#pragma once

#include <map>
#include <tuple>

#include "machine/check/clocks.h"
#include "machine/check/footprint.h"
#include "machine/check/shadow.h"
#include "machine/execute/observer.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

// The accessor of a cell: all accesses of a warp by one instruction between two of its synchronisations.
struct AccessRecord {
  uint64_t block = 0;
  Clock clock = 0;
  uint32_t warp = 0;
  uint32_t instruction = 0;
  bool under_way = false;  // a cp.async that has not been waited for
};

// The role of an instruction's accesses in the rules, found once for a kernel.
struct AccessRule {
  Kind kind = Kind::nothing;
  Order order = Order::weak;
  bool polls = false;   // a strong load in a loop without stores: it waits for what it reads
  uint8_t used = 0xff;  // loads: bit k, the value of element k is not only moved on
};
std::vector<AccessRule> find_rules(const Decoded& program);  // by instruction

// The state of a launch that its blocks share. Access ids go on from launch to launch, so that shadow cells need no
// clearing.
class LaunchCheck final : public LaunchObserver {
 public:
  LaunchCheck(Launch& launch, AccessId first, uint64_t room);
  std::unique_ptr<BlockObserver> observe_blocks() override;

  AccessId add(const AccessRecord& record);
  AccessId first() const { return first_; }
  const AccessRecord& operator[](AccessId id) const { return records_[id - first_]; }
  AccessId next() const { return first_ + static_cast<AccessId>(records_.size()); }
  const AccessRule& rule(uint32_t instruction) const { return rules_[instruction]; }
  Launch& launch() { return launch_; }
  Handovers& handovers() { return handovers_; }
  Footprint& footprint() { return footprint_; }

  // Race detection stops when its memory is full; take() says so.
  uint64_t made = 0;  // bytes of cells
  bool room() { return full_ ? false : !(full_ = made + records_.size() * sizeof(AccessRecord) > room_); }

  // One more lane's `hazard`: by `instruction` now, after `before` (0: no other party).
  struct Seen {
    Hazard hazard;
    uint32_t instruction;
    AccessId before = 0;
    uint32_t before_lane = 0;
    uint32_t warp = 0, lane = 0;
    uint64_t block = 0;
    uint32_t bytes = 0;
    AddressSpace space = AddressSpace::global;
    uint64_t address = 0;
    const char* note = nullptr;
  };
  void found(const Seen& s);
  std::vector<Diagnostic> take();

 private:
  std::array<uint32_t, 3> thread(uint32_t warp, uint32_t lane) const;
  std::array<uint32_t, 3> block(uint64_t index) const;
  std::string name_address(const Seen& s) const;

  Launch& launch_;
  AccessId first_;
  uint64_t room_;
  bool full_ = false;
  uint64_t left_out_ = 0;  // lanes' hazards at places beyond the most that are kept
  std::vector<AccessRecord> records_;
  std::vector<AccessRule> rules_;  // by instruction
  Handovers handovers_;
  Footprint footprint_;
  std::map<std::tuple<Hazard, uint32_t, uint32_t>, Diagnostic> findings_;  // by the two instructions
};

// The state of one thread block at a time, like BlockRun.
class BlockCheck final : public BlockObserver {
 public:
  explicit BlockCheck(LaunchCheck& launch);
  void begin(uint64_t block) override;  // shared and local memory hold nothing, nobody has seen anything

  void access(const Access& a, Warp& w) override;
  void event(const Instruction& i, Warp& w) override;                                        // Nothing
  void sync_warp(const LaneOp& op, Warp& w) override;                                        // bar.warp.sync
  void barrier(const std::vector<std::pair<uint32_t, uint32_t>>& at, uint32_t id) override;  // (warp, its lanes there)
  void arrive(uint32_t warp, uint32_t id) override;  // bar.arrive: leaves what it has seen for barrier `id`

 private:
  struct Target;  // one lane's access
  struct Copy {   // a cp.async that has not been waited for
    uint32_t lane, group, at, bytes;
    AccessId id;
  };
  struct Ids {
    Clock clock = 0;
    AccessId id = 0;
  };
  struct WarpState {
    WarpView view;
    std::vector<Ids> ids;  // by memory operation
    std::vector<Copy> copies;
    std::array<uint32_t, 32> group{};  // of each lane: the group its copies go to
  };

  AccessId id_of(const Access& a, uint32_t warp);
  bool locate(const Access& a, Warp& w, uint64_t address, Target& t);
  bool store_lane(const Access& a, Warp& w, const Target& t);
  void check_written(const Access& a, const Target& t);
  void check_cell(Cell& cell, const Access& a, const Target& t, bool same_value);
  bool ordered(const Accessed& before, const Target& t, bool strong, uint32_t* lane) const;
  void race(const Accessed& before, uint32_t lane, const Access& a, const Target& t);
  void hand_over(const Access& a, const Target& t);
  void take_pending(WarpView& view);
  void finish_copies(WarpState& s, uint32_t warp, uint32_t lanes, uint32_t left);
  LaunchCheck::Seen seen(Hazard hazard, const Access& a, const Target& t) const;

  LaunchCheck& check_;
  uint64_t block_ = 0;
  AccessId first_ = 0;  // shared memory: older ids are of other blocks
  std::vector<WarpState> warps_;
  Written shared_written_, local_written_;
  Cells shared_;
  std::map<uint32_t, Sight> arrived_;  // by barrier: what warps that did not wait have left there
  const Allocation* last_ = nullptr;   // that was accessed
};

}  // namespace coalesce::machine
