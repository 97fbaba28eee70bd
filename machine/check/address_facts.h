// The arrays, allocations and pointers that addresses of a launch are made of, as far as the kernel's text and its
// parameters tell, and the memory that it may write.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "machine/memory/memory.h"
#include "machine/program/program.h"

namespace coalesce::machine {

struct Launch;

class AddressFacts {
 public:
  // `agents`: there are accesses that no instruction of the kernel's shows.
  AddressFacts(const Launch& launch, bool agents);

  // The bytes that an operation's address may reach, of shared or local memory, or of global memory.
  struct Bounds {
    bool any = true;  // no limits are known
    AddressSpace space = AddressSpace::global;
    uint64_t base = 0, end = 0;
    const Allocation* variable = nullptr;  // of global memory: its address is made of that one's, with no limits
  };
  const Bounds& bounds(uint32_t operation) const { return bounds_[operation]; }
  // True if nothing of the kernel's can write the allocation, but past the end of another: its reads race with none.
  bool only_read(const Allocation* a) const { return !writes_any_ && !written_.contains(a); }
  // The same of memory that only the kernel's accesses can change.
  bool leaves_alone(const Allocation& a) const;
  // Whether a load may read the padding or an unset member of a structure.
  bool may_read_padding(uint32_t operation) const { return may_read_padding_[operation]; }

  // Pointers from memory and from malloc that addresses are made of have numbers. The pointer of an operation's
  // address; those that it loads, by element; the one that a call of malloc gives; kNone: none.
  uint32_t pointer_of(uint32_t operation) const { return pointer_of_[operation]; }
  const std::vector<std::pair<uint32_t, uint32_t>>& loads_pointers(uint32_t operation) const {
    return loads_[operation];
  }
  uint32_t given_pointer(uint32_t instruction) const {
    const auto at = given_.find(instruction);
    return at == given_.end() ? kNone : at->second;
  }
  uint32_t pointers() const { return pointers_; }

 private:
  void find_bounds();
  void find_written(bool agents);
  void find_padding();

  const Launch& launch_;
  std::vector<Bounds> bounds_;
  std::set<const Allocation*> written_;
  bool writes_any_ = false;
  std::vector<bool> may_read_padding_;  // by memory operation
  uint32_t pointers_ = 0;
  std::vector<uint32_t> pointer_of_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> loads_;
  std::map<uint32_t, uint32_t> given_;
};

}  // namespace coalesce::machine
