// Small kernels for tests of analyses: decoded, and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "machine/program/program.h"
#include "machine/ptx/parser.h"
#include "native/analyse/facts.h"

namespace coalesce::native::test {

struct NoSymbols : machine::SymbolTable {
  Symbol symbol(const std::string&) const override { return {}; }
  uint64_t function_address(const std::string&) const override { return 0; }
};

// The facts of `.entry k(.param .u64 in, .param .u64 out, .param .u32 n)` with this body, for these thread blocks.
class Analysed {
 public:
  Analysed(const std::string& body, std::array<uint32_t, 3> block, unsigned vector_bits = 32 * 512)
      : program_(decoded(body, block)), facts_(find_facts(*program_, 192, vector_bits)) {}

  const Decoded& program() const { return *program_; }
  const Facts& facts() const { return facts_; }
  // Instructions of a kind, in order.
  std::vector<const Instruction*> all(machine::Kind kind) const {
    std::vector<const Instruction*> found;
    for (const Instruction& i : program_->code)
      if (i.kind == kind) found.push_back(&i);
    return found;
  }
  const MemoryOp& memory(const Instruction& i) const { return program_->memory[i.memory]; }
  // The k-th load's or store's.
  const MemoryOp& load(std::size_t k = 0) const { return memory(*all(machine::Kind::load).at(k)); }
  const MemoryOp& store(std::size_t k = 0) const { return memory(*all(machine::Kind::store).at(k)); }
  // The only region of which `has` is true; null: there is none.
  template <class Has>
  const RegionFacts* region(Has has) const {
    const RegionFacts* found = nullptr;
    for (const RegionFacts& r : facts_.regions) {
      if (has(r)) {
        EXPECT_EQ(found, nullptr) << "several regions";
        found = &r;
      }
    }
    return found;
  }
  const HoistedChecks* hoisted() const {
    const RegionFacts* r = region([](const RegionFacts& f) { return f.hoisted.has_value(); });
    return r ? &*r->hoisted : nullptr;
  }
  IdleWarps::Form idle() const {
    const RegionFacts* r = region([](const RegionFacts& f) { return f.idle.form != IdleWarps::Form::none; });
    return r ? r->idle.form : IdleWarps::Form::none;
  }

 private:
  static std::unique_ptr<Decoded> decoded(const std::string& body, std::array<uint32_t, 3> block) {
    const ptx::Module module = ptx::parse(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, "
        ".param .u32 n)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<32>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<16>;\n" +
            body + "\nret;\n}\n",
        "test.ptx");
    machine::LaunchShape shape;
    shape.block = block;
    shape.grid_below = {1024, 1, 1};
    return machine::decode(module, module.functions.at(0), NoSymbols(), shape);
  }

  std::unique_ptr<Decoded> program_;
  Facts facts_;
};

}  // namespace coalesce::native::test
