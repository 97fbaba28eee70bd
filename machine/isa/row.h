// A row of the table of instructions that compute: its operands, what it is, and what analyses ask about it. Its
// handlers are the interpreter's (execute/ops/ops.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "machine/isa/facts.h"
#include "machine/isa/operation.h"

namespace coalesce::machine {

inline constexpr uint32_t kLanes = 32;

struct Context;
struct Step;
using Handler = void (*)(const Step&, Context&);

// A vector slot is 32 lanes of the element, 64-byte aligned. A predicate slot (element bool) is one uint32_t, bit per
// lane. A scalar slot is 8 bytes (16 for 128-bit elements); a scalar predicate is a uint32_t, 0 or ~0.
enum class Element : uint8_t { none, pred, b8, b16, b32, b64, b128 };
constexpr unsigned bytes_of(Element element) {
  constexpr unsigned bytes[] = {0, 4, 1, 2, 4, 8, 16};
  return bytes[static_cast<unsigned>(element)];
}
// The element of the registers that hold so many bytes.
constexpr Element element_of_bytes(unsigned bytes) {
  return bytes == 1 || bytes == 2 ? Element::b16
         : bytes == 4             ? Element::b32
         : bytes == 8             ? Element::b64
         : bytes == 16            ? Element::b128
                                  : Element::none;
}

struct PureOp {
  std::string_view mnemonic;
  Handler scalar, full, masked;
  uint8_t results, sources;
  Element result[2], source[4];
  bool many = false;            // `full` and `masked` obey Context::together; `scalar` always does
  const void* extra = nullptr;  // for Step::extra
  isa::Operation operation = {};
  RowFacts facts = {};
};

// The row of an exact mnemonic (see execute/ops/table.cpp, which holds the rows); null: unknown.
const PureOp* find_pure(std::string_view mnemonic);
// A mnemonic's suffixes: those that name types behind all others, both in their order.
std::vector<std::string_view> types_last(std::vector<std::string_view> suffixes);
// All rows, for the coverage test and docs.
std::span<const std::span<const PureOp>> all_pure();

}  // namespace coalesce::machine
