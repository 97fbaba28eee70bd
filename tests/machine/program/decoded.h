// A kernel's body, as PTX text -> the decoded program, for tests of decoding.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/program/program.h"
#include "machine/ptx/parser.h"

namespace coalesce::machine {

// Functions have the addresses 16, 32, ... in the order in which they are asked for; a variable `table` is at 4096.
struct Symbols : SymbolTable {
  Symbol symbol(const std::string& name) const override { return {name == "table", false, 4096}; }
  uint64_t function_address(const std::string& name) const override {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end()) return 16 * static_cast<uint64_t>(at - names.begin() + 1);
    names.push_back(name);
    return 16 * names.size();
  }
  mutable std::vector<std::string> names;
};

inline constexpr uint32_t kBefore = 11;  // lines of text before a body's first line

struct Case {
  std::unique_ptr<Decoded> p;

  // The instruction on line `n` (from 1) of the body that counts.
  const Instruction& line(uint32_t n) const {
    for (const Instruction& i : p->code)
      if (i.counts && i.ptx_line == kBefore + n) return i;
    throw std::out_of_range("no instruction on line " + std::to_string(n));
  }
  uint32_t block_index(uint32_t n) const {
    const uint32_t at = static_cast<uint32_t>(&line(n) - p->code.data());
    for (uint32_t b = 0; b < p->blocks.size(); ++b)
      if (p->blocks[b].first <= at && at < p->blocks[b].last) return b;
    throw std::out_of_range("in no block");
  }
  const BasicBlock& block(uint32_t n) const { return p->blocks[block_index(n)]; }
  const Register& result(uint32_t n) const {
    const Instruction& i = line(n);
    return p->registers[i.kind == Kind::load ? p->memory[i.memory].values[0].reg : i.results[0]];
  }
  const MemoryOp& memory(uint32_t n) const { return p->memory[line(n).memory]; }
};

inline Case decoded(const std::string& body, LaunchShape shape = {{128, 1, 1}, {1024, 1, 1}},
                    const std::string& functions = "") {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 out, .param .u32 n, .param .u32 m)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<32>;\n"
      ".reg .b64 %rd<32>;\n.reg .f32 %f<8>;\n.shared .align 16 .b8 buffer[1024];\n.local .align 4 .b8 own[64];\n" +
      body + "\nret;\n}\n" + functions;
  const ptx::Module module = ptx::parse(text, "decode.ptx");
  const Symbols symbols;
  for (const ptx::Function& f : module.functions)
    if (f.is_entry) return {decode(module, f, symbols, shape)};
  throw std::logic_error("no kernel");
}

inline void expect_class(const Case& c, uint32_t line, LaneClass lanes, int64_t stride = 0) {
  EXPECT_EQ(c.result(line).lanes, lanes) << "line " << line;
  EXPECT_EQ(c.result(line).stride, stride) << "line " << line;
}

}  // namespace coalesce::machine
