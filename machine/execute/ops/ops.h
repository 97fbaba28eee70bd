// How an instruction becomes code: a step with a handler, and handlers made from one function on scalars.
//
// To add an instruction that only computes: write one row in the family's file under execute/ops/:
//     row("add.s32", [](uint32_t a, uint32_t b) { return a + b; }),
// `row` makes three handlers of it: once per warp (or block) on scalars, on all 32 lanes, and on the lanes switched on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "machine/isa/row.h"

namespace coalesce::machine {

// Where an operand lives: byte offset from one of the context's bases. Offsets are multiples of 4; the low two bits
// pick the base: constants of the launch, values of the block, registers of the warp.
using Slot = uint32_t;
enum Base : uint32_t { kLaunch = 0, kBlock = 1, kWarp = 2 };

// Whether a step's handler obeys Context::together, and whether it leaves warps alone that have no lanes on.
enum class Many : uint8_t { no, active, all };

struct Step {
  Handler run = nullptr;
  Slot dst[2] = {0, 0};
  Slot src[4] = {0, 0, 0, 0};
  const void* extra = nullptr;  // descriptor of memory and control operations; PureOp::extra
  Many many = Many::no;
};

// The part of a warp that computing handlers see (execute/warp.h holds the rest, derived from this).
struct Context {
  std::byte* base[4];
  uint32_t active = 0;  // lanes switched on
  // Handlers of steps that say so (Step::many) run for this many warps: this one and the next, whose contexts lie
  // `next` bytes apart, and what lies at base[b] stride[b] bytes (0 but for the warp's own area).
  uint32_t together = 1;
  std::size_t next = 0;
  std::size_t stride[4] = {0, 0, 0, 0};

  template <class T>
  T* at(Slot slot) const {
    return reinterpret_cast<T*>(base[slot & 3u] + (slot & ~3u));
  }
};

template <class A, class B>
struct Two {  // return type of operations with two results (d, then the second)
  A first;
  B second;
};

}  // namespace coalesce::machine
