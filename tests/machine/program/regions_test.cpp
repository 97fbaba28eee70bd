// Regions: what may be hoisted, where they are cut, and two results of one step.
#include <gtest/gtest.h>

#include <set>

#include "machine/program/uses.h"
#include "tests/machine/program/decoded.h"
#include "tests/machine/program/random_program.h"

namespace coalesce::machine {
namespace {

// A name for each class: of a predicate pair's definition.
struct Predicate {
  LaneClass lanes;
  const char* operands;
};
constexpr Predicate kPredicates[] = {{LaneClass::constant, "%r2, 5"},
                                     {LaneClass::block_uniform, "%r3, 5"},
                                     {LaneClass::warp_uniform, "%r4, 5"},
                                     {LaneClass::general, "%r1, 5"}};
const std::string kNumbers =
    "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %warpid;\n";
constexpr uint32_t kPair = 5;  // the line behind

TEST(Regions, WhatIsHoistedIsOfTheBlockInBothResults) {
  for (const Predicate& p : kPredicates) {
    const Case one = decoded(kNumbers + "setp.lt.u32 %p1, " + p.operands + ";");
    const Case two = decoded(kNumbers + "setp.lt.u32 %p1|%p2, " + p.operands + ";");
    for (const Case* c : {&one, &two})
      EXPECT_EQ(hoistable(*c->p, c->line(kPair)), p.lanes <= LaneClass::block_uniform) << p.operands;
    // Each result by itself decides.
    for (const std::size_t k : {0u, 1u}) {
      two.p->registers[two.line(kPair).results[k]].lanes = LaneClass::constant;
      EXPECT_EQ(hoistable(*two.p, two.line(kPair)), k == 1 || p.lanes <= LaneClass::block_uniform) << p.operands;
    }
    const Case guarded = decoded(kNumbers + "@%p3 setp.lt.u32 %p1, " + p.operands + ";");
    EXPECT_FALSE(hoistable(*guarded.p, guarded.line(kPair)));
  }
}

// One step computes both, so they are scalars of the block both, of the warp both, or vectors both, whatever else
// writes one of them.
TEST(Regions, BothResultsOfAStepAreAsWide) {
  const auto width = [](LaneClass c) { return c <= LaneClass::block_uniform ? 0 : c <= LaneClass::affine ? 1 : 2; };
  for (const Predicate& p : kPredicates)
    for (const Predicate& other : kPredicates)
      for (const char* const result : {"%p1", "%p2"}) {
        const Case c =
            decoded(kNumbers + "setp.lt.u32 %p1|%p2, " + p.operands + ";\nsetp.lt.u32 %p3, %r2, 9;\n@%p3 bra L;\n" +
                    "setp.gt.u32 " + result + ", " + other.operands +
                    ";\nL:\nselp.u32 %r5, 1, 2, %p1;\n"
                    "selp.u32 %r6, 1, 2, %p2;\nst.shared.u32 [buffer], %r5;\nst.shared.u32 [buffer], %r6;");
        const Instruction& pair = c.line(kPair);
        for (const uint32_t r : pair.results)
          EXPECT_EQ(width(c.p->registers[r].lanes), std::max(width(p.lanes), width(other.lanes)))
              << p.operands << " and " << other.operands << " in " << result;
      }
}

// Within a region nothing that is hoisted is written again, or read before, by a warp: the definition of a cut.
void expect_hoisting_is_right(const Decoded& p) {
  for (const Region& region : p.regions) {
    std::vector<bool> read(p.registers.size());
    for (const uint32_t b : region.chain)
      for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
        const Instruction& i = p.code[k];
        if (!p.blocks[b].divergent && hoistable(p, i)) {
          for (const uint32_t r : i.results)
            if (r != kNone) EXPECT_FALSE(read[r]) << "instruction " << k;
        } else if (i.kind != Kind::branch || p.blocks[b].divergent_branch) {
          each_read(p, i, [&](uint32_t r) { read[r] = true; });
        }
      }
  }
}

TEST(Regions, AreCutBeforeWhatIsHoistedOverAReader) {
  struct Row {
    const char* text;
    std::size_t regions;
  };
  for (const Row& row : {
           // a warp reads what is set afterwards
           Row{"st.shared.u32 [buffer], %r2;\nadd.u32 %r2, %r3, 1;\nst.shared.u32 [buffer], %r2;", 2},
           Row{"st.shared.u32 [buffer], %r4;\nadd.u32 %r2, %r3, 1;\nst.shared.u32 [buffer], %r2;", 1},
           Row{"add.u32 %r5, %r2, %r1;\nadd.u32 %r2, %r3, 1;\nst.shared.u32 [buffer], %r5;", 2},
           // what is hoisted reads it: that runs before, too
           Row{"add.u32 %r5, %r2, %r3;\nadd.u32 %r2, %r3, 1;\nst.shared.u32 [buffer], %r5;", 1},
           // either result of a pair, read by a guard or an operand
           Row{"setp.lt.u32 %p1|%p2, %r2, 5;\n@%p1 st.shared.u32 [buffer], %r1;\nsetp.lt.u32 %p1|%p2, %r2, 9;", 2},
           Row{"setp.lt.u32 %p1|%p2, %r2, 5;\n@%p2 st.shared.u32 [buffer], %r1;\nsetp.lt.u32 %p1|%p2, %r2, 9;", 2},
           Row{"setp.lt.u32 %p1|%p2, %r2, 5;\nselp.u32 %r5, %r1, 2, %p2;\nsetp.lt.u32 %p1|%p2, %r2, 9;", 2},
           Row{"setp.lt.u32 %p1|%p2, %r2, 5;\n@%p1 st.shared.u32 [buffer], %r1;\nsetp.lt.u32 %p3|%p4, %r2, 9;", 1},
           // read by lanes that part, and set where they have met
           Row{"setp.lt.u32 %p1, %r1, 7;\n@%p1 bra L;\nst.shared.u32 [buffer], %r2;\nL:\nadd.u32 %r2, %r3, 1;\n"
               "st.shared.u32 [buffer], %r2;",
               2},
           Row{"setp.lt.u32 %p1, %r1, 7;\n@%p1 bra L;\nst.shared.u32 [buffer], %r4;\nL:\nadd.u32 %r2, %r3, 1;\n"
               "st.shared.u32 [buffer], %r2;",
               1},
           // two readers, two cuts
           Row{"st.shared.u32 [buffer], %r2;\nadd.u32 %r2, %r3, 1;\nst.shared.u32 [buffer], %r2;\nadd.u32 %r2, %r3, "
               "2;\n"
               "st.shared.u32 [buffer], %r2;",
               3},
       }) {
    const Case c = decoded(kNumbers + row.text);
    EXPECT_EQ(c.p->regions.size(), row.regions) << row.text;
    expect_hoisting_is_right(*c.p);
    ASSERT_EQ(c.p->region_of.size(), c.p->blocks.size());
    for (uint32_t r = 0; r < c.p->regions.size(); ++r) EXPECT_EQ(c.p->region_of[c.p->regions[r].chain[0]], r);
  }
}

// Where a block that all lanes enter together leads them, together again. One whose lanes part (or have: a loop that
// they leave one by one) leads to where they meet.
std::set<uint32_t> leads_to(const Decoded& p, uint32_t b) {
  std::set<uint32_t> found;
  const BasicBlock& block = p.blocks[b];
  if (!block.divergent) {
    if (!block.divergent_branch)
      successors(block, [&](uint32_t s) { found.insert(s); });
    else if (block.reconverge != kNone)
      found.insert(block.reconverge);
    return found;
  }
  std::set<uint32_t> apart{b};
  for (std::size_t before = 0; before != apart.size();) {
    before = apart.size();
    for (const uint32_t q : std::set(apart))
      successors(p.blocks[q], [&](uint32_t s) { (p.blocks[s].divergent ? apart : found).insert(s); });
  }
  return found;
}

// From a beginning to the next: the kernel's, a barrier's, both sides of a branch that lanes take together, and a place
// to which several ways lead.
TEST(Regions, OfRandomGraphs) {
  random_programs::Random random(28);
  int regions = 0, after = 0, several = 0;
  for (int k = 0; k < 1500; ++k) {
    const Decoded p = random.program();
    SCOPED_TRACE("program " + std::to_string(k));
    const auto n = static_cast<uint32_t>(p.blocks.size());
    if (p.needs_general_mode) {
      EXPECT_TRUE(p.regions.empty());
      continue;
    }
    std::set<uint32_t> together{0};
    for (uint32_t b = 0; b < n; ++b) {
      if (!p.blocks[b].reachable || p.blocks[b].divergent) continue;
      together.insert(b);
      together.merge(leads_to(p, b));
    }
    std::set<uint32_t> begins{0};
    std::map<uint32_t, int> ways;
    for (const uint32_t b : together) {
      const std::set<uint32_t> to = leads_to(p, b);
      if (p.blocks[b].divergent) EXPECT_LE(to.size(), 1u) << "block " << b;
      for (const uint32_t s : to)
        if (++ways[s] > 1 || to.size() > 1 || p.code[p.blocks[b].last - 1].kind == Kind::barrier) begins.insert(s);
    }
    std::vector<Region> expected;
    for (const uint32_t b : begins) {
      Region r;
      for (uint32_t at = b;;) {
        r.chain.push_back(at);
        const std::set<uint32_t> to = leads_to(p, at);
        const bool parts = p.blocks[at].divergent || p.blocks[at].divergent_branch;
        r.after = parts && !to.empty() ? *to.begin() : kNone;
        if (to.size() != 1 || begins.contains(*to.begin())) break;
        at = *to.begin();
      }
      expected.push_back(r);
    }
    ASSERT_EQ(p.regions.size(), expected.size());
    for (std::size_t r = 0; r < expected.size(); ++r) {
      EXPECT_EQ(p.regions[r].chain, expected[r].chain);
      EXPECT_EQ(p.regions[r].after, expected[r].after);
      EXPECT_EQ(p.region_of[expected[r].chain[0]], r);
      after += expected[r].after != kNone;
      several += expected[r].chain.size() > 1;
    }
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(p.region_of, kNone)), n - expected.size());
    regions += static_cast<int>(expected.size());
  }
  EXPECT_GT(regions, 1000);
  EXPECT_GT(after, 100);
  EXPECT_GT(several, 200);
}

TEST(Regions, AProgramInGeneralModeHasNone) {
  const Case c = decoded("mov.u32 %r1, %tid.x;\nbar.sync 0;\nst.shared.u32 [buffer], %r1;");
  make_general(*c.p);
  EXPECT_TRUE(c.p->regions.empty());
  EXPECT_TRUE(c.p->needs_general_mode);
  EXPECT_EQ(c.p->region_of, std::vector<uint32_t>(c.p->blocks.size(), kNone));
  for (const BasicBlock& b : c.p->blocks) EXPECT_TRUE(b.divergent && b.divergent_branch);
  for (const Register& r : c.p->registers) EXPECT_EQ(r.lanes == LaneClass::general, r.builtin == Builtin::none);
}

}  // namespace
}  // namespace coalesce::machine
