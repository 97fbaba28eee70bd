// Plans of regions on random graphs, against what structured flow is by definition (native/analyse/regions.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "native/analyse/regions.h"
#include "tests/machine/program/random_program.h"

namespace coalesce::native::test {
namespace {

using namespace machine;
using Set = uint64_t;  // of blocks
constexpr uint32_t kMostBlocks = 64;

Set only(uint32_t b) { return Set{1} << b; }
bool in(Set s, uint32_t b) { return s >> b & 1; }

using random_programs::kOwn;
using random_programs::Random;

class Oracle {
 public:
  Oracle(const Decoded& p, const Region& r) : p_(p), region_(r), n_(static_cast<uint32_t>(p.blocks.size())) {
    scope_of.assign(n_, kNone);
    position.assign(n_, 0);
    for (uint32_t k = 0; k < r.chain.size(); ++k) {
      const uint32_t b = r.chain[k];
      const bool parts = p.blocks[b].divergent || p.blocks[b].divergent_branch;
      const Set more = parts ? reached(b, k + 1 < r.chain.size() ? r.chain[k + 1] : r.after) & ~blocks : 0;
      for (uint32_t q = 0; q < n_; ++q)
        if (in(more & ~only(b), q)) position[q] = k;
      position[b] = k;
      blocks |= more | only(b);
      has_work = has_work || parts;
    }
    native = code() && scopes_lie_within_one_another();
  }

  bool native, exits = false, has_work = false;
  Set blocks = 0;
  struct Meeting {
    uint32_t at, parent;
    Set inside;
    std::vector<uint32_t> two_sided;
  };
  std::vector<Meeting> scopes;  // the smaller first
  std::vector<uint32_t> scope_of, position;

  // The blocks that run after b, before `stop`.
  Set reached(uint32_t b, uint32_t stop) const {
    Set seen = 0, now = 0;
    const auto add = [&](uint32_t t) {
      if (t != stop) now |= only(t);
    };
    successors(p_.blocks[b], add);
    while (now != seen) {
      seen = now;
      for (uint32_t q = 0; q < n_; ++q)
        if (in(seen, q)) successors(p_.blocks[q], add);
    }
    return seen;
  }

 private:
  template <class Is>
  bool any(Is is) const {
    for (uint32_t b = 0; b < n_; ++b)
      for (uint32_t k = p_.blocks[b].first; in(blocks, b) && k < p_.blocks[b].last; ++k)
        if (is(p_.blocks[b], p_.code[k])) return true;
    return false;
  }
  bool code() {
    exits = any([](const BasicBlock& b, const Instruction& i) { return b.divergent && i.kind == Kind::exit; });
    has_work = has_work || any([&](const BasicBlock& b, const Instruction& i) {
                 return !b.divergent && (i.memory != kNone || i.kind == Kind::collective);
               });
    return !any([&](const BasicBlock& b, const Instruction& i) {
      const bool barrier = i.kind == Kind::barrier, table = i.kind == Kind::branch_table;
      if (i.kind == Kind::collective) return true;
      if (barrier && (i.guard != kNone || i.mode != static_cast<uint8_t>(BarrierMode::sync))) return true;
      if (i.memory != kNone && p_.memory[i.memory].bytes() > 32) return true;
      return b.divergent ? barrier || table || b.waits : table && b.divergent_branch;
    });
  }
  bool polls() const {
    return any([&](const BasicBlock& b, const Instruction& i) {
      if (!b.divergent || i.memory == kNone) return false;
      const MemoryOp& m = p_.memory[i.memory];
      return (i.kind == Kind::load && m.is_volatile) || (i.kind == Kind::atomic && m.returns);
    });
  }
  bool scopes_lie_within_one_another() {
    const bool waits = polls();
    for (uint32_t b = 0; b < n_; ++b) {
      const BasicBlock& block = p_.blocks[b];
      const bool parts = block.divergent ? block.taken != kNone || !block.table.empty() : block.divergent_branch;
      if (!in(blocks, b) || !parts) continue;
      const uint32_t at = block.reconverge;
      if (at == kNone && b != region_.chain.back()) return false;
      auto s = std::ranges::find(scopes, at, &Meeting::at);
      if (s == scopes.end()) s = scopes.insert(s, Meeting{at, kNone, 0, {}});
      const Set inside = reached(b, at);
      s->inside |= inside;
      const bool again = in(inside, b), both = block.taken != at && block.next != at;
      if (again && (waits || both)) return false;
      if (both) s->two_sided.push_back(b);
    }
    std::ranges::sort(scopes, {}, [](const Meeting& m) { return std::popcount(m.inside); });
    for (uint32_t a = 0; a < scopes.size(); ++a)
      for (uint32_t b = a + 1; b < scopes.size(); ++b) {
        Meeting &inner = scopes[a], &outer = scopes[b];
        if (!(inner.inside & outer.inside)) continue;
        const bool within = !(inner.inside & ~outer.inside) && inner.inside != outer.inside && inner.at != kNone &&
                            in(outer.inside, inner.at);
        if (!within) return false;
        if (inner.parent == kNone) inner.parent = b;
      }
    for (uint32_t b = 0; b < n_; ++b) {
      const BasicBlock& block = p_.blocks[b];
      if (!in(blocks, b) || !block.divergent) continue;
      const auto s = std::ranges::find_if(scopes, [&](const Meeting& m) { return in(m.inside, b); });
      if (s == scopes.end()) {
        if (block.taken != kNone || !block.table.empty()) return false;
        continue;
      }
      scope_of[b] = static_cast<uint32_t>(s - scopes.begin());
      bool good = true;
      successors(block, [&](uint32_t t) { good = good && (t == s->at || in(s->inside, t)); });
      if (!good) return false;
    }
    return true;
  }

  const Decoded& p_;
  const Region& region_;
  uint32_t n_;
};

// A block runs divided where a branch that lanes take apart leads to it before they meet.
TEST(Plans, DividedBlocksOfRandomGraphs) {
  Random random(27);
  int divided = 0, whole = 0;
  for (int k = 0; k < 600; ++k) {
    const Decoded p = random.program();
    if (p.blocks.size() > kMostBlocks || p.needs_general_mode) continue;
    const Region none;
    const Oracle o(p, none);
    Set expected = 0;
    for (uint32_t b = 0; b < p.blocks.size(); ++b) {
      const BasicBlock& block = p.blocks[b];
      const Instruction& last = p.code[block.last - 1];
      const bool parts = last.kind == Kind::branch_table || (block.taken != kNone && last.guard == kOwn);
      EXPECT_EQ(block.divergent_branch, block.reachable && parts) << "program " << k << ", block " << b;
      if (block.divergent_branch) expected |= o.reached(b, block.reconverge);
    }
    for (uint32_t b = 0; b < p.blocks.size(); ++b) {
      EXPECT_EQ(p.blocks[b].divergent, in(expected, b)) << "program " << k << ", block " << b;
      ++(p.blocks[b].divergent ? divided : whole);
    }
  }
  EXPECT_GT(divided, 200);
  EXPECT_GT(whole, 200);
}

TEST(Plans, OfRandomGraphs) {
  int native = 0, other = 0, scopes = 0, within = 0, sides = 0, inner = 0;
  Random random(25);
  for (int k = 0; k < 2500; ++k) {
    const Decoded p = random.program();
    if (p.blocks.size() > kMostBlocks) continue;
    const std::vector<RegionPlan> plans = plan(p);
    std::vector<Oracle> expected;
    for (const Region& r : p.regions) expected.emplace_back(p, r);
    const bool some = !p.needs_general_mode && std::ranges::any_of(expected, &Oracle::native);
    ASSERT_EQ(plans.size(), some ? p.regions.size() : 0u) << "program " << k;
    for (std::size_t r = 0; r < plans.size(); ++r) {
      SCOPED_TRACE("program " + std::to_string(k) + ", region " + std::to_string(r));
      const RegionPlan& plan = plans[r];
      const Oracle& o = expected[r];
      ASSERT_EQ(plan.native, o.native);
      ++(o.native ? native : other);
      if (!o.native) continue;
      EXPECT_EQ(plan.exits, o.exits);
      EXPECT_EQ(plan.has_work, o.has_work);
      Set blocks = 0;
      for (const uint32_t b : plan.blocks) blocks |= only(b);
      EXPECT_EQ(blocks, o.blocks);
      EXPECT_TRUE(std::ranges::is_sorted(plan.blocks));
      for (const uint32_t b : plan.blocks) EXPECT_EQ(plan.position[b], o.position[b]) << "block " << b;
      ASSERT_EQ(plan.scopes.size(), o.scopes.size());
      std::map<uint32_t, uint32_t> of;  // meeting places are unique; scopes of one size have no order
      for (uint32_t s = 0; s < o.scopes.size(); ++s) of[o.scopes[s].at] = s;
      for (uint32_t s = 0; s < plan.scopes.size(); ++s) {
        const Scope& scope = plan.scopes[s];
        ASSERT_TRUE(of.contains(scope.at));
        const Oracle::Meeting& m = o.scopes[of[scope.at]];
        Set inside = 0;
        for (uint32_t b = 0; b < scope.inside.size(); ++b) inside |= scope.inside[b] ? only(b) : 0;
        EXPECT_EQ(inside, m.inside);
        EXPECT_EQ(scope.size, static_cast<std::size_t>(std::popcount(m.inside)));
        EXPECT_EQ(scope.parent == kNone, m.parent == kNone);
        if (scope.parent != kNone && m.parent != kNone) {
          EXPECT_EQ(plan.scopes[scope.parent].at, o.scopes[m.parent].at);
          ++within;
        }
        std::vector<uint32_t> two = scope.two_sided, wanted = m.two_sided;
        if (s > 0) EXPECT_LE(plan.scopes[s - 1].size, scope.size);
        // The inner ones first: what follows on one of them comes to none of the later ones.
        for (std::size_t b = 1; b < two.size(); ++b) {
          EXPECT_FALSE(in(o.reached(two[b - 1], scope.at), two[b]));
          ++inner;
        }
        std::ranges::sort(two);
        std::ranges::sort(wanted);
        EXPECT_EQ(two, wanted);
        sides += static_cast<int>(two.size());
        ++scopes;
      }
      for (const uint32_t b : plan.blocks) {
        const uint32_t s = plan.scope_of[b];
        ASSERT_EQ(s == kNone, o.scope_of[b] == kNone) << "block " << b;
        if (s != kNone) EXPECT_EQ(plan.scopes[s].at, o.scopes[o.scope_of[b]].at) << "block " << b;
      }
    }
  }
  EXPECT_GT(native, 1000);
  EXPECT_GT(other, 300);
  EXPECT_GT(scopes, 1000);
  EXPECT_GT(within, 200);
  EXPECT_GT(sides, 100);
  EXPECT_GT(inner, 5);
}

}  // namespace
}  // namespace coalesce::native::test
