// Threads that wait by polling: whether they can go on at all, and what for.
//
// A warp that comes back to a state it has been in, while no memory has changed, comes back to it for ever: its next
// step depends on its registers, its local memory and what it reads. Where that holds for all that can run, nothing
// ends. Clocks are read into registers, so a loop that one may end is never taken for such (backoff.h).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "machine/check/block_state.h"

namespace coalesce::machine {

class Waits {
 public:
  Waits(BlockState& s, Locator& locator) : s_(s), check_(s.check), locator_(locator), warps_(s.warps.size()) {}
  void begin();
  // Memory that others read has changed there, by an instruction of a lane.
  void changed(AddressSpace space, uint64_t address, const Changer& by);
  // A lane's atomic is about to be carried out.
  void before_atomic(const Access& a, const Target& t);
  // Atomics are looked at before they happen: which of the last ones have changed their word is known now.
  void settle_atomics() {
    if (!before_.empty()) settle();
  }
  void note_polled(const Access& a, const Warp& w);

  // As of a BlockObserver.
  void turn_ends(Warp& w);
  bool waits(const Warp& w, uint32_t lanes);
  std::string waits_for(const Warp& w, uint32_t lanes, uint32_t& instruction);

 private:
  void settle();

  struct Polled {  // the last read that may be waiting for a value
    uint32_t instruction = kNone, lane = 0, bytes = 0;
    uint64_t address = 0;
    const Access* access = nullptr;
  };
  struct Before {  // an atomic's word before it
    const std::byte* at = nullptr;
    uint64_t old = 0;
    uint32_t width = 0;
    AddressSpace space = AddressSpace::global;
    uint64_t address = 0;
    Changer by;
  };
  // A warp at the ends of its turns since memory has changed last: its states, and the lanes of which one came again.
  struct Turns {
    uint64_t changes = 0;
    std::set<uint64_t> states;
    std::vector<std::pair<uint32_t, Polled>> repeats;
    Polled polled;
  };
  BlockState& s_;
  LaunchCheck& check_;
  Locator& locator_;
  std::vector<Turns> warps_;
  std::vector<Before> before_;  // of atomics under way
};

}  // namespace coalesce::machine
