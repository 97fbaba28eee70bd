#include "machine/check/loops.h"

#include <algorithm>
#include <utility>

namespace coalesce::machine {

std::vector<bool> reachable_from(const Decoded& p, uint32_t from, uint32_t stop) {
  std::vector<bool> seen(p.blocks.size());
  std::vector<uint32_t> todo;
  const auto add = [&](uint32_t b) {
    if (b != stop && !seen[b]) seen[b] = true, todo.push_back(b);
  };
  add(from);
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    successors(p.blocks[b], add);
  }
  return seen;
}

Loops::Loops(const Decoded& p, std::vector<bool> without)
    : p_(p), without_(std::move(without)), index_(p.blocks.size()), low_(p.blocks.size()), of_(p.blocks.size(), kNone) {
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    if (p.blocks[b].reachable && !index_[b]) walk(b);
}

std::vector<uint32_t> Loops::after(uint32_t block) const {
  std::vector<uint32_t> all;
  if (left_out(block)) return all;
  successors(p_.blocks[block], [&](uint32_t s) {
    if (!left_out(s)) all.push_back(s);
  });
  return all;
}

// Tarjan's algorithm.
void Loops::walk(uint32_t root) {
  struct Visit {
    uint32_t block;
    std::vector<uint32_t> next;
  };
  std::vector<Visit> visits;
  const auto enter = [&](uint32_t b) {
    index_[b] = low_[b] = ++count_;
    stack_.push_back(b);
    visits.push_back({b, after(b)});
  };
  enter(root);
  while (!visits.empty()) {
    const uint32_t b = visits.back().block;
    if (!visits.back().next.empty()) {
      const uint32_t s = visits.back().next.back();
      visits.back().next.pop_back();
      if (!index_[s])
        enter(s);
      else if (of_[s] == kNone)
        low_[b] = std::min(low_[b], index_[s]);
      continue;
    }
    visits.pop_back();
    if (!visits.empty()) low_[visits.back().block] = std::min(low_[visits.back().block], low_[b]);
    if (low_[b] != index_[b]) continue;
    const std::vector<uint32_t> next = after(b);
    bool loops = stack_.back() != b || std::ranges::find(next, b) != next.end();
    uint32_t s;
    do {
      s = stack_.back();
      stack_.pop_back();
      of_[s] = static_cast<uint32_t>(looping_.size());
    } while (s != b);
    looping_.push_back(loops);
  }
}

}  // namespace coalesce::machine
