// Blocks and the places where lanes meet again, on random graphs, against definitions by reachability alone.
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>

#include "machine/program/program.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kMostBlocks = 64;
using Set = uint64_t;  // of blocks

constexpr Set only(uint32_t b) { return Set{1} << b; }
bool in(Set s, uint32_t b) { return s >> b & 1; }

struct Shape {
  bool inner_exits, barriers, tables;
};

// Stretches of one or two instructions that end in each of the ways there are; the last one is an exit with work before
// it.
Decoded random_code(std::mt19937& random, const Shape& shape) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Decoded p;
  const uint32_t stretches = 2 + below(9);
  std::vector<uint32_t> starts;
  for (uint32_t s = 0; s < stretches; ++s) {
    starts.push_back(static_cast<uint32_t>(p.code.size()));
    const bool last = s + 1 == stretches;
    if (last || below(2)) p.code.emplace_back();
    Instruction& end = p.code.emplace_back();
    switch (last ? 0 : 1 + below(8)) {
      case 0:
        end.kind = Kind::exit;
        break;
      case 1:
        if (shape.inner_exits) end.kind = Kind::exit;
        break;
      case 2:
        if (shape.barriers) end.kind = Kind::barrier;
        break;
      case 3:
        if (shape.tables) {
          end.kind = Kind::branch_table;
          for (uint32_t n = 1 + below(3); n > 0; --n) end.targets.push_back(below(stretches));
        }
        break;
      case 4:
        end.kind = Kind::branch;
        end.target = below(stretches);
        break;
      case 5:
        end.names_lanes = true;
        break;
      default:
        end.kind = Kind::branch;
        end.guard = 0;
        end.target = below(stretches);
    }
  }
  for (Instruction& i : p.code) {
    if (i.kind == Kind::branch) i.target = starts[i.target];
    for (uint32_t& t : i.targets) t = starts[t];
  }
  return p;
}

// The instructions that may follow each one: by its kind, and then by the blocks.
std::vector<std::set<uint32_t>> ways_of_code(const Decoded& p) {
  std::vector<std::set<uint32_t>> ways(p.code.size());
  for (uint32_t k = 0; k < p.code.size(); ++k) {
    const Instruction& i = p.code[k];
    if (i.kind == Kind::branch) ways[k].insert(i.target);
    ways[k].insert(i.targets.begin(), i.targets.end());
    if (i.kind != Kind::exit && i.kind != Kind::branch_table && !(i.kind == Kind::branch && i.guard == kNone))
      ways[k].insert(k + 1);
  }
  return ways;
}

std::vector<std::set<uint32_t>> ways_of_blocks(const Decoded& p) {
  std::vector<std::set<uint32_t>> ways(p.code.size());
  for (const BasicBlock& b : p.blocks) {
    for (uint32_t k = b.first; k + 1 < b.last; ++k) ways[k].insert(k + 1);
    successors(b, [&](uint32_t s) { ways[b.last - 1].insert(p.blocks[s].first); });
  }
  return ways;
}

// A graph as sets, and what follows from its ways alone.
struct Graph {
  uint32_t n;
  std::vector<Set> ways;

  // From `start`; nothing goes on from `without`.
  Set reached(uint32_t start, uint32_t without) const {
    Set seen = only(start);
    for (Set before = 0; before != seen;) {
      before = seen;
      for (uint32_t b = 0; b < n; ++b)
        if (in(seen, b) && b != without) seen |= ways[b];
    }
    return seen;
  }
};

class Oracle {
 public:
  explicit Oracle(const Decoded& p) : p_(p), n_(static_cast<uint32_t>(p.blocks.size())), gone_(n_, kNone) {
    graph_ = {n_, std::vector<Set>(n_)};
    for (uint32_t b = 0; b < n_; ++b) successors(p.blocks[b], [&](uint32_t s) { graph_.ways[b] |= only(s); });
    live_ = graph_.reached(0, kNone);
    leave_at_once();
    while (leave_apart()) {}
  }
  bool live(uint32_t b) const { return in(live_, b); }
  bool branches(uint32_t b) const {
    const BasicBlock& block = p_.blocks[b];
    return block.taken != kNone || !block.table.empty();
  }
  uint32_t meeting_place(uint32_t b) const { return nearest(b); }

 private:
  bool just_exits(uint32_t b) const {
    return p_.blocks[b].last - p_.blocks[b].first == 1 && p_.code[p_.blocks[b].first].kind == Kind::exit;
  }
  Graph kept() const {
    Graph g = graph_;
    for (uint32_t b = 0; b < n_; ++b)
      if (gone_[b] != kNone) g.ways[b] &= ~only(gone_[b]);
    return g;
  }
  // A side that only exits is no way where the other side gets to an end without this branch.
  void leave_at_once() {
    for (uint32_t b = 0; b < n_; ++b) {
      const BasicBlock& block = p_.blocks[b];
      if (!live(b) || block.taken == kNone) continue;
      for (const auto& [leaves, stays] : {std::pair{block.taken, block.next}, std::pair{block.next, block.taken}}) {
        if (gone_[b] != kNone || !just_exits(leaves) || stays == b) continue;
        const Set others = kept().reached(stays, b) & ~only(b);
        for (uint32_t k = 0; k < n_; ++k)
          if (in(others, k) && graph_.ways[k] == 0) gone_[b] = leaves;
      }
    }
  }
  // The smallest side that shares no block with its branch's other side, and waits for nobody, is no way.
  bool leave_apart() {
    int smallest = static_cast<int>(kMostBlocks) + 1;
    uint32_t from = kNone, to = kNone;
    for (uint32_t b = 0; b < n_; ++b) {
      const BasicBlock& block = p_.blocks[b];
      if (!live(b) || block.taken == kNone || gone_[b] != kNone || nearest(b) != kNone) continue;
      const Set sides[] = {graph_.reached(block.taken, b), graph_.reached(block.next, b)};
      if (sides[0] & sides[1] & ~only(b)) continue;
      for (int k = 0; k < 2; ++k) {
        bool waits = false;
        for (uint32_t q = 0; q < n_; ++q)
          waits = waits || (in(sides[k], q) && p_.code[p_.blocks[q].last - 1].kind == Kind::barrier);
        if (waits || in(sides[k], b) || std::popcount(sides[k]) >= smallest) continue;
        smallest = std::popcount(sides[k]);
        from = b;
        to = k ? block.next : block.taken;
      }
    }
    if (from != kNone) gone_[from] = to;
    return from != kNone;
  }
  // The nearest block that every way from b to the exit passes; kNone: the exit itself.
  uint32_t nearest(uint32_t b) const {
    const Graph g = kept();
    Set ends = 0;
    for (uint32_t k = 0; k < n_; ++k)
      if (live(k) && g.ways[k] == 0) ends |= only(k);
    for (uint32_t k = 0; k < n_; ++k)  // one block of each endless loop counts as an end
      if (live(k) && !(g.reached(k, kNone) & ends)) ends |= only(k);
    Set passed = 0;
    for (uint32_t d = 0; d < n_; ++d)
      if (d != b && live(d) && !escapes(g, b, d, ends)) passed |= only(d);
    for (uint32_t d = 0; d < n_; ++d) {
      if (!in(passed, d)) continue;
      bool first = true;
      for (uint32_t e = 0; e < n_; ++e)
        if (e != d && in(passed, e) && escapes(g, d, e, ends)) first = false;
      if (first) return d;
    }
    return kNone;
  }
  // Whether a way leads from b to an end and not through d.
  static bool escapes(const Graph& g, uint32_t b, uint32_t d, Set ends) {
    return (g.reached(b, d) & ~only(d) & ends) != 0;
  }

  const Decoded& p_;
  uint32_t n_;
  Graph graph_;
  Set live_ = 0;
  std::vector<uint32_t> gone_;
};

TEST(Graph, BlocksLeadWhereInstructionsLead) {
  std::mt19937 random(25);
  for (int k = 0; k < 400; ++k) {
    Decoded p = random_code(random, {true, true, true});
    const auto expected = ways_of_code(p);
    build_graph(p);
    EXPECT_EQ(ways_of_blocks(p), expected) << "graph " << k;
    for (const BasicBlock& b : p.blocks) {
      EXPECT_EQ(b.waits, p.code[b.first].names_lanes) << "graph " << k;
      for (uint32_t i = b.first + 1; i < b.last; ++i) EXPECT_FALSE(p.code[i].names_lanes) << "graph " << k;
      EXPECT_TRUE(b.taken == kNone || b.taken != b.next) << "graph " << k;
    }
  }
}

TEST(Graph, LanesMeetAtTheNearestBlockOfAllTheirWays) {
  std::mt19937 random(26);
  uint32_t branches = 0, places = 0;
  for (int k = 0; k < 1200; ++k) {
    SCOPED_TRACE("graph " + std::to_string(k));
    Decoded p = random_code(random, {k % 4 != 0, k % 3 == 0, k % 2 == 0});
    build_graph(p);
    find_reconvergence(p);
    ASSERT_LE(p.blocks.size(), kMostBlocks);
    const Oracle oracle(p);
    for (uint32_t b = 0; b < p.blocks.size(); ++b) {
      EXPECT_EQ(p.blocks[b].reachable, oracle.live(b)) << "block " << b;
      const bool asked = oracle.live(b) && oracle.branches(b);
      const uint32_t expected = asked ? oracle.meeting_place(b) : kNone;
      EXPECT_EQ(p.blocks[b].reconverge, expected) << "block " << b;
      branches += asked;
      places += expected != kNone;
    }
  }
  EXPECT_GT(places, branches / 4);
  EXPECT_GT(branches - places, branches / 20);
}

TEST(Graph, ABranchThatLeavesHasAnExitOfItsOwn) {
  std::mt19937 random(27);
  uint32_t own = 0;
  for (int k = 0; k < 200; ++k) {
    Decoded p = random_code(random, {true, false, true});
    build_graph(p);
    const auto before = ways_of_blocks(p);
    find_reconvergence(p);
    EXPECT_EQ(ways_of_blocks(p), before) << "graph " << k;
    std::vector<uint32_t> entries(p.blocks.size());
    for (const BasicBlock& b : p.blocks) successors(b, [&](uint32_t s) { ++entries[s]; });
    for (const BasicBlock& b : p.blocks)
      for (const uint32_t s : {b.taken, b.next}) {
        if (b.taken == kNone || s == kNone || p.blocks[s].last - p.blocks[s].first != 1) continue;
        if (p.code[p.blocks[s].first].kind != Kind::exit) continue;
        EXPECT_EQ(entries[s], 1u) << "graph " << k;
        ++own;
      }
  }
  EXPECT_GT(own, 0u);
}

}  // namespace
}  // namespace coalesce::machine
