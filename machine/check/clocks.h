// Happens-before, in the words of the PTX memory model, lane by lane.
//
// State. A warp's clock counts its synchronisations; an access carries its block, warp, clock and lanes. It comes
// before what lane l does now if l knows of a later clock of that lane. Lanes of one warp know each other's accesses up
// to the last bar.warp.sync or barrier that both took part in, because they need not run in step since Volta.
//
// Release and acquire. A strong store or atomic leaves at its address what its lane knew when its last fence came
// (release pattern), or knows now (st.release, atom.acq_rel). A strong load or atomic takes what is there: it is known
// at once if the read acquires, else from the lane's next fence on (acquire pattern). Both happen for one lane; others
// of its warp or block hear of it at bar.warp.sync or a barrier.
//
// Scopes. Both accesses and both fences must reach the other thread: what was left with block scope is taken within the
// block only, and a fence of block scope makes known what the own block has left, no other's. Within a chain order
// goes on whatever the scopes of its links are.
//
// Chains. An atomic adds to what is at its address, so that who reads it is ordered behind all writers of the chain. A
// strong store begins a chain anew; a weak one ends it.
//
// `volatile` is a strong access of device scope.
//
// Barriers join the knowledge of all lanes that take part, and what they have fenced: after fences by all and a
// barrier, one thread may release for all.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "machine/check/knowledge.h"

namespace coalesce::machine {

// The accesses that a lane has heard of.
struct View {
  Knowledge known;                        // comes before what is next
  Knowledge block_read, device_read;      // taken from own block's writers, from all: known at the next fence
  Knowledge block_fenced, device_fenced;  // known when the last fence came
  // The last reads of a lane. Who polls reads a chain of releases again and again, and more each time that another has
  // had its turn: `last` counts as device_read, or if it is acquired as known, and is joined to that when the lane goes
  // on.
  Knowledge last_block, last;
  uint64_t chain = 0;
  bool acquired = false, kept = true;  // kept: joined
  void join(const View& other);
  void keep();
};

class WarpView {
 public:
  Clock now = 1;

  void begin(uint64_t block, uint32_t warps, uint32_t self);  // nothing is known; the clock goes on
  // Whether lane `lane` knows the access of `other` of warp `warp` at clock `then`. `strong`: what it has read counts.
  bool knows(uint32_t lane, uint64_t block, uint32_t warp, uint32_t other, Clock then, bool strong) const;
  // The same of all lanes of both warps, by what a barrier or nobody has told: false may mean that it was not so quick.
  bool all_know(uint64_t block, uint32_t warp, Clock then) const;
  // True if no lane of this warp knows an access of another warp's lanes from that clock on. False may mean the same.
  bool none_knows(uint64_t block, uint32_t warp, Clock then) const;
  // True if the access of another lane of this warp is known.
  bool knows_lane(uint32_t lane, uint32_t other, Clock then) const {
    return (rows_ ? (*rows_)[lane][other] : whole_) > then;
  }
  // bar.warp.sync of `mask`; the clock goes on.
  void sync_lanes(uint32_t mask, uint32_t alive);
  void fence(uint32_t lanes, bool device);
  // All that the lane knows, and its own accesses up to now: what a release leaves. The clock goes on.
  Knowledge release(uint32_t lane);
  Knowledge fenced(uint32_t lane, bool device) const;
  bool may_have_fenced() const {  // false: fenced() is empty for all lanes
    return own_ || !common_.block_fenced.empty() || !common_.device_fenced.empty();
  }
  // fence.proxy.async: what lanes know of the first `warps` of each block is what they know of so many others, from
  // `behind` on.
  void fence_proxy(uint32_t lanes, uint32_t alive, uint32_t warps, uint32_t behind);
  // `chain`: a number for what has only grown since (Handovers::Left); 0: none.
  void read(uint32_t lane, const Knowledge& block, const Knowledge& device, bool acquires, uint64_t chain = 0);
  // Lanes of `mask` hear of that.
  void learn(uint32_t mask, uint32_t alive, const View& what);
  // A barrier: adds to `all` what these lanes have heard of, to `done` what they have done; takes what all have.
  void give(uint32_t mask, uint32_t alive, View& all, BlockClocks& done);
  void take(uint32_t mask, uint32_t alive, const View& all);

 private:
  void mirror(View& to, const Knowledge& of, uint32_t warps, uint32_t behind, const LaneClocks& self) const;
  View& own(uint32_t lane);
  LaneClocks row(uint32_t lane) const;
  void tell(uint32_t lane, uint32_t mask);

  uint64_t block_ = 0;
  uint32_t warps_ = 0, self_ = 0;
  Clock whole_ = 0;  // lanes have heard of each other's accesses before it; rows_: of each other's, lane by lane
  std::unique_ptr<std::array<LaneClocks, 32>> rows_;
  View common_;                                // of all lanes
  std::unique_ptr<std::array<View, 32>> own_;  // of each, beside it; null: nothing
};

// The knowledge that releases have left, by address.
class Handovers {
 public:
  struct Left {
    Knowledge device;  // with device scope, by any
    Knowledge block;   // with any scope, by `of_block`
    uint64_t of_block = ~uint64_t{0};
    uint64_t chain = 0;  // no other Left of the process has that number
  };
  const Left* find(uint64_t address) const;  // null: nothing
  // A strong store (chain: an atomic) by a lane of `block` leaves there what it releases.
  void leave(uint64_t address, uint64_t block, const Knowledge& to_block, const Knowledge& to_device, bool chain);
  void end(uint64_t address);  // a weak store
  // An mbarrier object holds `bits`. Who waits for it hears of the arrivals of phases that have ended, no others
  // (PTX: "during the completed phase").
  void begin_object(uint64_t address);
  void look_at_object(uint64_t address, uint64_t bits);
  void arrive(uint64_t address, uint64_t block, const Knowledge& to_block, const Knowledge& to_device);
  // The lane's part of an instruction changes it, as mbarrier_after().
  void change_object(uint64_t address, uint64_t change);
  void clear();
  // Whether there may be something at an address in [from, to).
  bool any_within(uint64_t from, uint64_t to) const { return !left_.empty() && from <= high_ && to > low_; }
  bool empty() const { return left_.empty(); }
  bool holds(uint64_t address) const { return there_[bit(address)] && left_.contains(address); }

 private:
  static std::size_t bit(uint64_t address) { return address * 0x9e37'79b9'7f4a'7c15u >> 52; }
  static void add(Left& left, uint64_t block, const Knowledge& to_block, const Knowledge& to_device);
  std::unordered_map<uint64_t, Left> left_;
  uint64_t low_ = ~uint64_t{0}, high_ = 0;  // of the addresses that it has had
  struct Object {
    Left arrived;  // in the phase that goes on
    uint64_t bits = 0;
  };
  std::unordered_map<uint64_t, Object> objects_;
  std::bitset<4096> there_;  // addresses that may have something
};

}  // namespace coalesce::machine
