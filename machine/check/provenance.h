// The root of an address: a variable of shared, local or global memory, or a pointer that is a kernel's parameter.
// Arithmetic keeps that, whatever it adds. A pointer that comes from memory or malloc is a root, too, as long as each
// register on its way is written by one instruction, and those that add to it: what that loaded last is what the
// address was made of.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

struct Root {
  enum class Kind : uint8_t { none, array, variable, parameter, loaded, several } kind = Kind::none;
  uint32_t index = 0;  // into Decoded::arrays; the variable's; the register of the parameter, or that was loaded
  bool operator==(const Root&) const = default;
};

// The value of a register that nothing but a parameter's value ever comes to: no address, the address of an allocation,
// or one that may be anywhere else.
enum class Pointer : uint8_t { no, of_allocation, elsewhere };

// True if a value may be an address: allocations lie above, and offsets below, 2^32.
inline bool may_be_address(uint64_t value) { return value >> 32 != 0 && value >> 63 == 0; }

// Each memory operation has the root of its address. `pointers`: by register. `variable`: the number of the variable of
// global memory that an address lies in; kNone: it is in none.
std::vector<Root> find_roots(const Decoded& program, const std::vector<Pointer>& pointers,
                             const std::function<uint32_t(uint64_t)>& variable);

}  // namespace coalesce::machine
