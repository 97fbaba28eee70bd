// The observer of one thread block at a time: it hands each event to the parts that know what it means.
#pragma once

#include <string>
#include <vector>

#include "machine/check/async_copies.h"
#include "machine/check/block_state.h"
#include "machine/check/order.h"
#include "machine/check/pointees.h"
#include "machine/check/races.h"
#include "machine/check/skips.h"
#include "machine/check/uninitialised.h"
#include "machine/check/waits.h"
#include "machine/check/warp_accesses.h"

namespace coalesce::machine {

class BlockCheck final : public BlockObserver {
 public:
  explicit BlockCheck(LaunchCheck& launch);
  ~BlockCheck() override;
  BlockCheck(const BlockCheck&) = delete;
  BlockCheck& operator=(const BlockCheck&) = delete;
  void begin(uint64_t block) override;  // shared and local memory hold nothing, nobody has seen anything
  void access(const Access& a, Warp& w) override;
  void event(const Instruction& i, Warp& w) override;  // Nothing
  void lanes(const LaneOp& op, Warp& w) override;
  void enters(uint32_t block, Warp& w) override;
  void computes(uint32_t instruction, Warp& w) override { uninitialised_.computes(instruction, w); }
  void decides(uint32_t instruction, uint32_t mask, Warp& w) override { uninitialised_.decides(instruction, mask, w); }
  void barrier(const std::vector<Arrival>& at, uint32_t id, bool whole) override;
  void arrive(uint32_t warp, uint32_t id) override;
  void moves(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w) override;
  void completes(uint64_t object, Warp& w) override { copies_.completes(object, w); }
  void meets(uint32_t lanes, uint64_t phase, Meets how, Warp& w) override;
  void ends() override;
  void gave(uint32_t instruction, uint32_t lane, uint64_t address, Warp& w) override {
    pointees_.gave(instruction, lane, address, w);
  }
  void turn_ends(Warp& w) override { waits_.turn_ends(w); }
  bool waits(const Warp& w, uint32_t lanes) override { return waits_.waits(w, lanes); }
  std::string waits_for(const Warp& w, uint32_t lanes, uint32_t& instruction) override {
    return waits_.waits_for(w, lanes, instruction);
  }

  bool runs(uint64_t block) const { return state_.running && state_.block == block; }
  BlockState& state() { return state_; }
  // For LaunchCheck::forget(): calls visit(AccessId&) with each id that it holds; forgets needless ones.
  template <class Visitor>
  void visit_ids(Visitor visit) {
    state_.cells.visit_all(state_.epoch, false, [&](Accessed& a) {
      if (a.id < state_.first) a = {};
      visit(a.id);
    });
    for (QuietReads::Read& r : accesses_.reads().all()) visit(r.id);
    for (auto& lanes : state_.agents)
      for (AgentLane& a : lanes) a.id = 0;
    for (BlockState::WarpState& s : state_.warps)
      for (BlockState::Ids& i : s.ids) i = {};
    copies_.visit_ids(visit);
  }
  void move_first(const std::vector<AccessId>& moved, AccessId first) { state_.first = moved[state_.first - first]; }

 private:
  bool store_lane(const Access& a, Warp& w, const Target& t);

  BlockState state_;
  LaunchCheck& check_;
  Locator locator_;
  Races races_;
  WarpAccesses accesses_;
  Uninitialised uninitialised_;
  Pointees pointees_;
  Waits waits_;
  Synchronisation synchronisation_;
  SkippedBarriers skips_;
  AsyncCopies copies_;
};

}  // namespace coalesce::machine
