// Registers with bits that nothing has written: what a warp has loaded from such memory and computed with it, bit by
// bit (as Memcheck does: Seward and Nethercote, Using Valgrind to detect undefined value errors with bit-precision).
//
// A load of unwritten memory is no mistake, nor a read of an unwritten register; a use is: a branch, a guard, an
// address, an operand of an atomic, a store to global memory. What is only copied stays undefined where it goes. Bits
// that a mask, a shift or a known operand removes are known again; an unwritten operand of other arithmetic makes its
// whole result undefined.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

struct LaneOp;
struct Warp;

// The origin of bits that no instruction has read: the register itself has not been written.
inline constexpr uint32_t kUnset = kNone - 1;

// A register with undefined bits.
struct UndefinedBits {
  std::array<uint64_t, 32> bits{};  // by lane; 1: undefined
  uint32_t origin = kNone;          // instruction that has read it, or kUnset
  uint32_t excused = 0;             // lanes: lies beside what is written, as the padding of structures does
  bool computed = false;            // no mere copy
  uint32_t lanes() const {
    uint32_t all = 0;
    for (uint32_t l = 0; l < bits.size(); ++l) all |= uint32_t{bits[l] != 0} << l;
    return all;
  }
};

class UndefinedRegisters {
 public:
  void clear();
  bool any() const { return count_ != 0; }
  const UndefinedBits* of(uint32_t reg) const { return reg < of_.size() ? of_[reg].get() : nullptr; }
  const UndefinedBits* of(const Value& v) const { return v.is_reg() ? of(v.reg) : nullptr; }
  // Lanes of `mask` whose value is known from now on.
  void define(uint32_t reg, uint32_t mask);
  UndefinedBits& make(uint32_t reg);    // as it is, or with nothing undefined
  void unset(uint32_t reg, Element e);  // nothing has written it, in any lane
  void settle(uint32_t reg);            // forgets it if nothing is undefined
  // Forgets the registers of lanes of `mask` that are not in `live`, which is sorted.
  void keep(const std::vector<uint32_t>& live, uint32_t mask);

  // Carries them through an instruction that computes, before it runs in the lanes of `mask`.
  void compute(const Instruction& i, const Decoded& p, const Warp& w, uint32_t mask);
  // The same of shuffles, votes and the like. A shuffle's value of a lane that takes no part is undefined.
  void exchange(const LaneOp& op, const Decoded& p, const Warp& w);

 private:
  void set(uint32_t reg, uint32_t mask, const std::array<uint64_t, 32>& bits, const UndefinedBits* from, bool computed);

  std::vector<std::unique_ptr<UndefinedBits>> of_;  // by register; null: all is known
  std::size_t count_ = 0;
};

// The reads that undefined values come from which are stored in memory, as far as there is room.
class Carried {
 public:
  static constexpr std::size_t kMost = 1u << 16;  // words
  void note(uint64_t at, uint32_t origin) {
    if (const auto known = of_.find(at / 4); known != of_.end())
      known->second = origin;
    else if (of_.size() < kMost)
      of_.emplace(at / 4, origin);
  }
  uint32_t find(uint64_t at) const {  // kNone: not known
    const auto known = of_.find(at / 4);
    return known == of_.end() ? kNone : known->second;
  }
  void clear() {
    if (!of_.empty()) of_.clear();
  }

 private:
  std::unordered_map<uint64_t, uint32_t> of_;
};

// The lane's value of a register, or a constant's.
uint64_t value_of(const Value& v, uint32_t lane, const Decoded& p, const Warp& w);

}  // namespace coalesce::machine
