#include "machine/check/checked_kernel.h"

#include "machine/check/agents.h"

namespace coalesce::machine {

CheckedKernel::CheckedKernel(const Decoded& p)
    : program(p),
      rules(find_rules(p)),
      skips(find_skips(p)),
      lane_skips(find_skips(p, Kind::warp_barrier)),
      tells_skips(p.blocks.size()),
      backoffs(p) {
  for (const std::vector<Skip>* all : {&skips, &lane_skips})
    for (const Skip& s : *all) tells_skips[s.branch] = tells_skips[s.after] = 1;
  for (const AccessRule& r : rules) {
    block_scopes = block_scopes || (is_strong(r) && r.scope == Scope::block);
    may_poll = may_poll || r.may_poll;
  }
  for (const Instruction& i : p.code) {
    const auto is = [&](Nothing what) { return i.kind == Kind::nothing && static_cast<Nothing>(i.mode) == what; };
    const bool service = i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::service;
    if (is(Nothing::copies_arrive) || service || (i.memory != kNone && p.memory[i.memory].silent)) agents = kAgents;
    block_scopes = block_scopes || is(Nothing::block_fence);
    waits_for_grid = waits_for_grid || is(Nothing::grid_wait);
  }
}

}  // namespace coalesce::machine
