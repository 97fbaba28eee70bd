// The root of an address: a variable of shared or local memory, or a pointer that is a kernel's parameter.
// Arithmetic keeps that, whatever it adds; a pointer that comes from memory has none.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

struct Root {
  enum class Kind : uint8_t { none, array, parameter, several } kind = Kind::none;
  uint32_t index = 0;  // into Decoded::arrays; the parameter's register
  bool operator==(const Root&) const = default;
};

// Each memory operation has the root of its address. `is_pointer`: by register, parameters whose value is the address
// of an allocation.
std::vector<Root> find_roots(const Decoded& program, const std::vector<bool>& is_pointer);

}  // namespace coalesce::machine
