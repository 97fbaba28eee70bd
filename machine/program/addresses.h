// Addresses as an assembler knows them without running the program: merge.h's view of registers.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

// An address as a sum: registers times numbers, plus a number.
struct AddressSum {
  std::map<uint32_t, int64_t> terms;
  int64_t constant = 0;
};

class Addresses {
 public:
  explicit Addresses(const Decoded&);

  // Followed back through additions and multiplications by numbers, as far as registers are written once.
  AddressSum sum(const MemoryOp&) const;
  // Bits at the low end of the sum's terms that are certainly 0.
  uint32_t zero_bits(const AddressSum&) const;
  // The same for all lanes of a warp, however the threads of a block are numbered.
  bool same_for_warp(const Value&) const;

 private:
  void find_definitions();
  void find_zero_bits();
  void find_thread_dependence();
  void add(AddressSum& sum, const Value& value, int64_t times, int depth) const;
  uint32_t zero_bits(const Value&) const;
  uint32_t zero_bits(const Instruction&) const;
  bool depends(const Value& v) const { return v.is_reg() && depends_[v.reg]; }

  const Decoded& p_;
  std::vector<const Instruction*> definition_;  // the only one, where it is plain arithmetic
  std::vector<uint32_t> zeros_;
  std::vector<bool> depends_;  // on thread numbers, or on what a lane did alone
};

}  // namespace coalesce::machine
