// Comparing the machine's computing instructions with a real GPU: the test vectors, and both sides' view of a row.
//
// A row (one mnemonic of execute/ops) is run over kVectors sets of operands, by its scalar handler here and by one PTX
// kernel on the card. Operands depend only on the vector's number, the source's position and its element, so both sides
// and every later run see the same ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/execute/ops/ops.h"

namespace coalesce::machine::operations {

__extension__ using Raw = unsigned __int128;

inline constexpr uint32_t kVectors = 4096;
inline constexpr uint32_t kManyVectors = 65536;  // approximate functions, and sweeps over all 16-bit operands

// Bytes of one operand or result in the files: a predicate takes one byte, 0 or 1.
size_t file_bytes(Element e);
// The bits of a value that an element holds.
Raw cut(Raw value, Element e);

// Operand of source `k` in vector `i`. The first vectors pair every special value (zeros, limits, subnormals, NaN,
// packed halves) of source 0 with every one of source 1; the rest mix specials, small numbers, single bits, floats near
// 1 and noise. With `sweep` the element b16 counts through all 2^16 values instead.
Raw operand(Element e, uint32_t k, uint32_t i, bool sweep = false);

// One kernel: a row, with the operand that PTX takes as an immediate (the table of lop3) fixed.
struct Subject {
  const PureOp* op;
  int immediate;     // value of the last source, -1: none is fixed
  std::string name;  // of the kernel
  // True if PTX gives an error bound instead of a result.
  bool approximate() const {
    return op->mnemonic.find(".approx") != op->mnemonic.npos || op->mnemonic.starts_with("div.full");
  }
  // One 16-bit operand: every value there is gets tried, too.
  bool sweeps() const { return op->sources == 1 && op->source[0] == Element::b16; }
  uint32_t vectors() const { return approximate() ? kManyVectors : kVectors; }
};
// All rows that are PTX, in the table's order; helpers of the decoder's own (pack, widen ...) are left out.
std::vector<Subject> subjects();

// PTX of one kernel: entry <name>(4 inputs, 2 outputs), thread t handles vector t.
std::string kernel_text(const Subject& s);

// The machine's result `r` of vector `i`, and the operands it had.
struct Outcome {
  Raw in[4], out[2];
};
Outcome evaluate(const Subject& s, uint32_t i, bool sweep = false);

}  // namespace coalesce::machine::operations
