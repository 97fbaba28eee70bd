#include "machine/check/knowledge.h"

#include <algorithm>

namespace coalesce::machine {

bool BlockClocks::all(uint32_t warp, Clock clock) const {
  for (const auto& [w, each] : lanes)
    if (w == warp) return std::ranges::all_of(each, [&](Clock c) { return c >= clock; });
  return warps[warp] >= clock;
}

void BlockClocks::raise(uint32_t warp, const LaneClocks& to) {
  LaneClocks now;
  for (uint32_t l = 0; l < now.size(); ++l) now[l] = std::max(of(warp, l), to[l]);
  const auto at = std::ranges::lower_bound(lanes, warp, {}, [](const auto& entry) { return entry.first; });
  const bool there = at != lanes.end() && at->first == warp;
  if (std::ranges::all_of(now, [&](Clock c) { return c == now[0]; })) {
    warps[warp] = now[0];
    if (there) lanes.erase(at);
  } else if (there) {
    at->second = now;
  } else {
    lanes.emplace(at, warp, now);
  }
}

namespace {

// visit(warp, its lanes' clocks in a, in b): null where all lanes have those of `warps`. Until it gives back false.
template <class Visit>
bool each_warp(const BlockClocks& a, const BlockClocks& b, Visit visit) {
  auto at = a.lanes.begin();
  auto there = b.lanes.begin();
  for (uint32_t w = 0; w < a.warps.size(); ++w) {
    const bool in_a = at != a.lanes.end() && at->first == w, in_b = there != b.lanes.end() && there->first == w;
    if (!visit(w, in_a ? &at->second : nullptr, in_b ? &there->second : nullptr)) return false;
    at += in_a;
    there += in_b;
  }
  return true;
}

}  // namespace

bool BlockClocks::contains(const BlockClocks& other) const {
  if (lanes.empty() && other.lanes.empty())
    return std::ranges::equal(warps, other.warps, [](Clock mine, Clock its) { return mine >= its; });
  return each_warp(*this, other, [&](uint32_t w, const LaneClocks* mine, const LaneClocks* its) {
    if (!mine && !its) return warps[w] >= other.warps[w];
    bool all = true;
    for (std::size_t l = 0; l < LaneClocks{}.size(); ++l)
      all &= (mine ? (*mine)[l] : warps[w]) >= (its ? (*its)[l] : other.warps[w]);
    return all;
  });
}

void BlockClocks::join(const BlockClocks& other) {
  std::vector<std::pair<uint32_t, LaneClocks>> mixed;
  std::vector<Clock> whole(warps.size());
  each_warp(*this, other, [&](uint32_t w, const LaneClocks* mine, const LaneClocks* its) {
    if (!mine && !its) {
      whole[w] = std::max(warps[w], other.warps[w]);
      return true;
    }
    LaneClocks each;
    bool differ = false;
    for (std::size_t l = 0; l < each.size(); ++l) {
      each[l] = std::max(mine ? (*mine)[l] : warps[w], its ? (*its)[l] : other.warps[w]);
      differ |= each[l] != each[0];
    }
    if (differ)
      mixed.emplace_back(w, each);
    else
      whole[w] = each[0];
    return true;
  });
  warps = std::move(whole);
  lanes = std::move(mixed);
}

struct Knowledge::Node {
  uint64_t key = 0;  // a leaf: its block; else the bits above `bit` that all blocks below share
  uint64_t bit = 0;  // 0: a leaf
  BlockClocks clocks;
  Link zero, one;
};

const BlockClocks* Knowledge::of(uint64_t block) const {
  const Node* n = root_.get();
  while (n && n->bit) n = (block & n->bit ? n->one : n->zero).get();
  return n && n->key == block ? &n->clocks : nullptr;
}

void Knowledge::each(const std::function<void(uint64_t, const BlockClocks&)>& visit) const {
  std::vector<const Node*> todo{root_.get()};
  while (!todo.empty()) {
    const Node* n = todo.back();
    todo.pop_back();
    if (!n) continue;
    if (!n->bit) {
      visit(n->key, n->clocks);
      continue;
    }
    todo.push_back(n->zero.get());
    todo.push_back(n->one.get());
  }
}

void Knowledge::join(uint64_t block, BlockClocks clocks) {
  auto leaf = std::make_shared<Node>();
  leaf->key = block;
  leaf->clocks = std::move(clocks);
  root_ = join(root_, leaf);
}

namespace {
uint64_t above(uint64_t key, uint64_t bit) { return key & ~(2 * bit - 1); }
}  // namespace

// The link of two subtrees of which neither lies within the other.
Knowledge::Link Knowledge::fork(const Link& a, const Link& b) {
  auto n = std::make_shared<Node>();
  n->bit = uint64_t{1} << (63 - __builtin_clzll(a->key ^ b->key));
  n->key = above(a->key, n->bit);
  n->zero = a->key & n->bit ? b : a;
  n->one = a->key & n->bit ? a : b;
  return n;
}

// Gives back one of the two where it contains the other.
Knowledge::Link Knowledge::join(const Link& a, const Link& b) {
  if (a == b || !b) return a;
  if (!a) return b;
  if (a->bit < b->bit) return join(b, a);
  if (a->bit == 0) {
    if (a->key != b->key) return fork(a, b);
    if (a->clocks.contains(b->clocks)) return a;
    if (b->clocks.contains(a->clocks)) return b;
    auto n = std::make_shared<Node>(*a);
    n->clocks.join(b->clocks);
    return n;
  }
  if (above(b->key, a->bit) != a->key) return fork(a, b);
  const bool same = a->bit == b->bit, one = !same && b->key & a->bit;
  const Link zero = same ? join(a->zero, b->zero) : one ? a->zero : join(a->zero, b);
  const Link other = same ? join(a->one, b->one) : one ? join(a->one, b) : a->one;
  if (zero == a->zero && other == a->one) return a;
  if (same && zero == b->zero && other == b->one) return b;
  auto n = std::make_shared<Node>();
  n->key = a->key;
  n->bit = a->bit;
  n->zero = zero;
  n->one = other;
  return n;
}

}  // namespace coalesce::machine
