// Live registers of random programs, against every way from a block on.
#include <gtest/gtest.h>

#include <set>

#include "machine/program/uses.h"
#include "tests/machine/program/random_program.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kMore = 90;  // registers: more than one word of a set has bits

// Stores that read them, loads that write them, some under a guard.
void add_registers(Decoded& p, std::mt19937& random) {
  const auto first = static_cast<uint32_t>(p.registers.size());
  const std::array elements{Element::b32, Element::b64, Element::b128, Element::b16};
  for (uint32_t r = 0; r < kMore; ++r) {
    p.registers.emplace_back();
    p.registers.back().element = elements[r % elements.size()];
  }
  for (Instruction& i : p.code) {
    if (i.kind != Kind::load && i.kind != Kind::store) continue;
    const MemoryOp m = p.memory[i.memory];
    i.memory = static_cast<uint32_t>(p.memory.size());
    p.memory.push_back(m);
    for (std::size_t k = 0; k < 4; ++k)
      p.memory.back().values[k] = Value::of(first + static_cast<uint32_t>(random() % kMore));
    if (random() % 5 == 0) i.guard = random_programs::kOwn;
  }
}

// Whether a way from instruction `k` of block `b` reads `r` before it writes it for certain.
bool is_read(const Decoded& p, uint32_t b, uint32_t r) {
  std::set<uint32_t> seen;
  std::vector<uint32_t> todo{b};
  while (!todo.empty()) {
    const uint32_t at = todo.back();
    todo.pop_back();
    if (!seen.insert(at).second) continue;
    bool written = false;
    for (uint32_t k = p.blocks[at].first; k < p.blocks[at].last && !written; ++k) {
      bool read = false, writes = false;
      each_read(p, p.code[k], [&](uint32_t q) { read = read || q == r; });
      each_written(p, p.code[k], [&](uint32_t q) { writes = writes || q == r; });
      if (read || (writes && p.code[k].guard != kNone)) return true;
      written = writes;
    }
    if (!written) successors(p.blocks[at], [&](uint32_t s) { todo.push_back(s); });
  }
  return false;
}

TEST(Liveness, OfRandomPrograms) {
  std::mt19937 numbers(29);
  random_programs::Random random(29);
  std::size_t live = 0, most = 0;
  for (int k = 0; k < 120; ++k) {
    Decoded p = random.program();
    add_registers(p, numbers);
    p.live_registers = 0;
    find_liveness(p);
    SCOPED_TRACE("program " + std::to_string(k));
    uint32_t highest = 0;
    for (uint32_t b = 0; b < p.blocks.size(); ++b) {
      std::vector<uint32_t> expected;
      uint32_t words = 0;
      for (uint32_t r = 0; p.blocks[b].reachable && r < p.registers.size(); ++r) {
        if (p.registers[r].builtin != Builtin::none || !is_read(p, b, r)) continue;
        expected.push_back(r);
        const Element e = p.registers[r].element;
        words += e == Element::pred ? 0 : e == Element::b128 ? 4 : e == Element::b64 ? 2 : 1;
      }
      EXPECT_EQ(p.blocks[b].live_in, expected) << "block " << b;
      highest = std::max(highest, words);
      live += expected.size();
      most = std::max(most, expected.size());
    }
    EXPECT_EQ(p.live_registers, highest);
    for (uint32_t r = 0; r < p.registers.size(); ++r) {
      std::set<uint32_t> in, ends;
      uint32_t definitions = 0;
      bool begins = true, any = false;
      for (uint32_t b = 0; b < p.blocks.size(); ++b)
        for (uint32_t at = p.blocks[b].first; p.blocks[b].reachable && at < p.blocks[b].last; ++at) {
          const Instruction& i = p.code[at];
          bool reads = false, writes = false;
          each_read(p, i, [&](uint32_t q) { reads = reads || q == r; });
          each_written(p, i, [&](uint32_t q) { definitions += q == r, writes = writes || q == r; });
          if (!reads && !writes) continue;
          if (!any && (reads || i.guard != kNone)) begins = false;
          any = true;
          in.insert(b);
          if (at + 1 == p.blocks[b].last && reads && i.kind != Kind::store) ends.insert(b);
        }
      EXPECT_EQ(p.registers[r].definitions, definitions);
      if (definitions == 1) EXPECT_TRUE(in.contains(p.registers[r].defined_in));
      EXPECT_EQ(p.registers[r].block_local, in.size() == 1 && begins && ends.empty()) << "register " << r;
    }
  }
  EXPECT_GT(live, 1000u);
  EXPECT_GT(most, 20u);
}

}  // namespace
}  // namespace coalesce::machine
