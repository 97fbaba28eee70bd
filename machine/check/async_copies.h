// Accesses beside the threads of a block: copies, bulk copies and products of warp groups. They are done when they are
// issued, but a program may not rely on it: those of agents are ordered before nothing but a wait for them. (Not
// checked: registers of a product.)
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/check/block_state.h"
#include "machine/check/races.h"

namespace coalesce::machine {

class AsyncCopies {
 public:
  AsyncCopies(BlockState& s, Locator& locator, Races& races)
      : s_(s), check_(s.check), locator_(locator), races_(races), warps_(s.warps.size()) {}
  void begin();
  // A cp.async's store is about to be carried out by a lane.
  void add(const Access& a, const Target& t) {
    WarpCopies& s = warps_[t.warp];
    s.copies.push_back({t.lane, s.group[t.lane], static_cast<uint32_t>(t.address), a.bytes, t.id});
  }
  // Whether nobody has waited for some cp.async.
  bool any() const;
  // Commits of groups, waits for them, proxy fences.
  void event(const Instruction& i, Warp& w);
  // A lane's bulk copy is about to move that.
  void moves(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w);
  // The mbarrier object has received its bytes: a wait for it is ordered behind the copies that brought them.
  void completes(uint64_t object, Warp& w);
  template <class Visitor>
  void visit_ids(Visitor visit) {
    for (WarpCopies& s : warps_)
      for (Copy& c : s.copies) visit(c.id);
  }

 private:
  struct Copy {  // a cp.async that has not been waited for; no bytes: an mbarrier object's, `at` its agent's lane
    uint32_t lane, group, at, bytes;
    AccessId id;
  };
  struct BulkGroup {  // bulk copies of a lane that have not been waited for
    uint32_t lane, group;
    Clock reads, writes;
  };
  struct WarpCopies {
    std::vector<Copy> copies;
    std::vector<BulkGroup> bulk;
    std::array<uint32_t, kLanes> group{}, bulk_group{};  // of each lane: the group its copies go to
  };
  void access(const BulkPart& part, bool writes, uint32_t instruction, uint32_t lane, Warp& w);
  View done_before(Agent who, uint32_t lane, Clock clock) const;
  void wait_bulk(const Instruction& i, const Warp& w, bool reads_only);
  void finish_copies(Warp& w, uint32_t left);
  void copies_arrive(const Instruction& i, Warp& w);

  BlockState& s_;
  LaunchCheck& check_;
  Locator& locator_;
  Races& races_;
  std::vector<WarpCopies> warps_;
};

}  // namespace coalesce::machine
