#include "native/analyse/regions.h"

#include <algorithm>

namespace coalesce::native {

using namespace machine;

namespace {

// Blocks that can run after `b` before its lanes meet at `stop`.
std::vector<bool> reached(const Decoded& p, uint32_t b, uint32_t stop) {
  std::vector<bool> seen(p.blocks.size());
  std::vector<uint32_t> todo;
  const auto push = [&](uint32_t t) {
    if (t == stop || seen[t]) return;
    seen[t] = true;
    todo.push_back(t);
  };
  successors(p.blocks[b], push);
  while (!todo.empty()) {
    const uint32_t t = todo.back();
    todo.pop_back();
    successors(p.blocks[t], push);
  }
  return seen;
}

bool conditional(const BasicBlock& b) { return b.taken != kNone || !b.table.empty(); }

bool supported(const Decoded& p, const Instruction& i) {
  switch (i.kind) {
    case Kind::clock:
    case Kind::collective:
    case Kind::function_call:
    case Kind::function_return:
      return false;
    case Kind::barrier:
      return i.results[0] == kNone && static_cast<BarrierMode>(i.mode) == BarrierMode::sync && i.guard == kNone;
    default:
      return i.memory == kNone || p.memory[i.memory].bytes() <= 32;
  }
}

class Planner {
 public:
  Planner(const Decoded& p, const Region& region) : p_(p), region_(region) {}

  RegionPlan run() {
    plan_.scope_of.assign(p_.blocks.size(), kNone);
    plan_.position.assign(p_.blocks.size(), 0);
    plan_.native = find_blocks() && find_scopes();
    return std::move(plan_);
  }

 private:
  bool find_blocks() {
    std::vector<bool> inside(p_.blocks.size());
    for (uint32_t k = 0; k < region_.chain.size(); ++k) {
      const uint32_t c = region_.chain[k];
      const BasicBlock& block = p_.blocks[c];
      inside[c] = true;
      plan_.position[c] = k;
      if (block.divergent || block.divergent_branch) {
        const uint32_t stop = k + 1 < region_.chain.size() ? region_.chain[k + 1] : region_.after;
        std::vector<bool> more = reached(p_, c, stop);
        for (uint32_t b = 0; b < more.size(); ++b)
          if (more[b] && !inside[b]) {
            inside[b] = true;
            plan_.position[b] = k;
          }
        plan_.has_work = true;
      }
    }
    for (uint32_t b = 0; b < inside.size(); ++b) {
      if (!inside[b]) continue;
      plan_.blocks.push_back(b);
      const BasicBlock& block = p_.blocks[b];
      const bool lockstep = !block.divergent;
      for (uint32_t k = block.first; k < block.last; ++k) {
        const Instruction& i = p_.code[k];
        if (!supported(p_, i)) return false;
        const bool end = i.kind == Kind::branch || i.kind == Kind::branch_table || i.kind == Kind::barrier ||
                         i.kind == Kind::exit || i.kind == Kind::nothing || i.kind == Kind::warp_barrier;
        if (lockstep && !end && !hoistable(p_, i)) plan_.has_work = true;
        if (!lockstep && (i.kind == Kind::barrier || i.kind == Kind::branch_table)) return false;
        if (!lockstep && i.kind == Kind::exit) plan_.exits = true;
      }
      if (!lockstep && block.waits) return false;
      if (lockstep && block.divergent_branch && !block.table.empty()) return false;
    }
    return true;
  }

  bool find_scopes() {
    for (uint32_t b : plan_.blocks) {
      const BasicBlock& block = p_.blocks[b];
      if (!conditional(block) || (!block.divergent && !block.divergent_branch)) continue;
      const uint32_t r = block.reconverge;
      if (r == kNone && b != region_.chain.back()) return false;
      const std::vector<bool> inside = reached(p_, b, r);
      auto s = std::find_if(plan_.scopes.begin(), plan_.scopes.end(), [&](const Scope& q) { return q.at == r; });
      if (s == plan_.scopes.end()) {
        plan_.scopes.push_back({r, kNone, std::vector<bool>(p_.blocks.size()), 0, {}});
        s = plan_.scopes.end() - 1;
      }
      for (uint32_t k = 0; k < inside.size(); ++k)
        if (inside[k]) s->inside[k] = true;
      if (inside[b] && polls()) return false;  // it may be waiting for others: they must have their turns
      if (block.taken != r && block.next != r) {
        if (inside[b]) return false;  // comes back to itself: any number of sides may wait
        s->two_sided.push_back(b);
      }
    }
    for (Scope& s : plan_.scopes) {
      s.size = static_cast<std::size_t>(std::count(s.inside.begin(), s.inside.end(), true));
      std::sort(s.two_sided.begin(), s.two_sided.end(), [&](uint32_t a, uint32_t b) {
        const auto size = [&](uint32_t k) {
          const std::vector<bool> in = reached(p_, k, s.at);
          return std::count(in.begin(), in.end(), true);
        };
        return size(a) < size(b);
      });
    }
    // Smaller scopes first; then the first that holds a block is the innermost.
    std::sort(plan_.scopes.begin(), plan_.scopes.end(), [](const Scope& a, const Scope& b) { return a.size < b.size; });
    for (uint32_t a = 0; a < plan_.scopes.size(); ++a)
      for (uint32_t b = a + 1; b < plan_.scopes.size(); ++b) {
        const Scope &inner = plan_.scopes[a], &outer = plan_.scopes[b];
        bool any = false, all = true;
        for (uint32_t k = 0; k < p_.blocks.size(); ++k)
          if (inner.inside[k]) any = any || outer.inside[k], all = all && outer.inside[k];
        if (!any) continue;
        if (!all || inner.size == outer.size || inner.at == kNone || !outer.inside[inner.at]) return false;
        if (plan_.scopes[a].parent == kNone) plan_.scopes[a].parent = b;
      }
    for (uint32_t b : plan_.blocks)
      if (p_.blocks[b].divergent)
        for (uint32_t s = 0; s < plan_.scopes.size() && plan_.scope_of[b] == kNone; ++s)
          if (plan_.scopes[s].inside[b]) plan_.scope_of[b] = s;
    return check_edges();
  }

  // True if diverged lanes read what other threads may write.
  bool polls() const {
    for (uint32_t b : plan_.blocks)
      for (uint32_t k = p_.blocks[b].first; p_.blocks[b].divergent && k < p_.blocks[b].last; ++k) {
        const Instruction& i = p_.code[k];
        if (i.memory == kNone || i.kind == Kind::store) continue;
        if (i.kind == Kind::load ? p_.memory[i.memory].is_volatile : p_.memory[i.memory].returns) return true;
      }
    return false;
  }

  // Every edge stays in its scope, goes to where the scope's lanes meet, or into a scope within.
  bool check_edges() const {
    for (uint32_t b : plan_.blocks) {
      const uint32_t s = plan_.scope_of[b];
      if (p_.blocks[b].divergent && s == kNone) {
        // Straight-line code that all lanes enter and leave together.
        if (conditional(p_.blocks[b])) return false;
        continue;
      }
      bool good = true;
      successors(p_.blocks[b], [&](uint32_t t) {
        if (s == kNone || t == plan_.scopes[s].at) return;
        good = good && plan_.scopes[s].inside[t];
      });
      if (!good) return false;
    }
    return true;
  }

  const Decoded& p_;
  const Region& region_;
  RegionPlan plan_;
};

}  // namespace

std::vector<RegionPlan> plan(const Decoded& p) {
  if (p.needs_general_mode || p.has_calls) return {};
  for (const Instruction& i : p.code)
    if (i.kind == Kind::clock) return {};
  std::vector<RegionPlan> plans;
  bool any = false;
  for (const Region& region : p.regions) {
    plans.push_back(Planner(p, region).run());
    any = any || plans.back().native;
  }
  return any ? plans : std::vector<RegionPlan>{};
}

}  // namespace coalesce::native
