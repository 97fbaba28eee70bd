// The interpreter's places for registers and constants: slots in three areas, the launch's, the block's and the warp's.
//
// Slots are shared. Vector slots of registers that never leave their block come from a scratch pool, reused block by
// block. Nothing there survives a block's end, so such registers are written without masks even in divergent code.
// Other vector slots are shared by registers whose live intervals (in the text's order) do not meet, and are written
// under the mask in divergent code. Scalars are few and small: each has its own.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "machine/execute/code.h"

namespace coalesce::machine {

inline constexpr uint32_t kScalarBytes = 16;
uint32_t vector_bytes(Element e);

// True if the instruction computes one value for all lanes.
bool scalar_form(const Decoded& program, const Instruction& i);
// One element of 4 bytes a lane, from or to registers of 4 bytes.
bool is_word(const MemoryOp& m);
// Address shape of an access: its register's class, as far as the space's handler has a form for it.
AddressShape shape_of(const Decoded& program, const MemoryOp& m, Kind kind);

class Slots {
 public:
  // Places all registers of code's program; code.builtins says which of them to fill.
  explicit Slots(Code& code);
  const Home& of(uint32_t reg) const { return homes_[reg]; }
  // A register's or a constant's; constants are added to the code's.
  Slot scalar(const Value& v, Element e);
  Slot vector(const Value& v, Element e);
  // One more, of the warp's.
  Slot spare_vector(Element e) { return take(warp_, vector_bytes(e), kWarp); }
  // Once no more are asked for: tells the code how large the areas are, and where registers are.
  void finish();

 private:
  struct Interval {
    uint32_t reg, first, last;
  };
  bool is_scalar(uint32_t r) const { return p_.registers[r].lanes != LaneClass::general; }
  uint32_t& area(Base base) { return base == kLaunch ? launch_ : base == kBlock ? block_ : warp_; }
  static Slot take(uint32_t& area, uint32_t bytes, Base base);
  static Slot take_scalar(uint32_t& area, Base base);
  void find_needs();
  void allocate_scalars();
  void allocate_vectors();
  void assign(std::vector<Interval>& intervals);
  Constant& constant(Element e, uint64_t bits);

  Code& code_;
  const Decoded& p_;
  std::vector<Home> homes_;
  std::vector<bool> needs_vector_;
  std::map<std::pair<Element, uint64_t>, std::size_t> constants_;
  uint32_t launch_ = 0, block_ = 0, warp_ = 0;  // bytes
};

}  // namespace coalesce::machine
