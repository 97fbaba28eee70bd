// The control-flow graph: basic blocks, and for every branch the block where its lanes meet again.
//
// A block ends at a branch, an exit or a barrier, and begins at a branch's target and at every instruction that names
// the lanes it needs (*.sync): there a warp may have to wait for lanes that are elsewhere.
#include <algorithm>

#include "machine/program/program.h"

namespace coalesce::machine {

namespace {

bool ends_block(const Instruction& i) {
  return i.kind == Kind::branch || i.kind == Kind::branch_table || i.kind == Kind::exit || i.kind == Kind::barrier ||
         i.kind == Kind::function_call || i.kind == Kind::function_return;
}

bool conditional(const Decoded& p, const BasicBlock& b) {
  const Instruction& last = p.code[b.last - 1];
  return (last.kind == Kind::branch && b.taken != kNone) || last.kind == Kind::branch_table;
}

bool only_exits(const Decoded& p, uint32_t block) {
  const BasicBlock& b = p.blocks[block];
  return b.last - b.first == 1 && p.code[b.first].kind == Kind::exit;
}

// No way leads on from here: an exit, or the return from a function.
bool is_end(const Decoded& p, uint32_t block) {
  const BasicBlock& b = p.blocks[block];
  return b.next == kNone && b.taken == kNone && b.table.empty();
}

// Blocks on ways from `start`, which do not go on from `without`.
std::vector<bool> reached_from(const Decoded& p, uint32_t start, uint32_t without = kNone, bool through_calls = false) {
  std::vector<bool> seen(p.blocks.size());
  std::vector<uint32_t> todo{start};
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    if (seen[b]) continue;
    seen[b] = true;
    if (b != without) successors(p.blocks[b], [&](uint32_t s) { todo.push_back(s); });
    const Instruction& last = p.code[p.blocks[b].last - 1];
    if (through_calls && last.kind == Kind::function_call) todo.push_back(last.target);
  }
  return seen;
}

bool any_barrier(const Decoded& p, const std::vector<bool>& blocks) {
  for (uint32_t b = 0; b < blocks.size(); ++b)
    if (blocks[b] && p.code[p.blocks[b].last - 1].kind == Kind::barrier) return true;
  return false;
}

// Immediate post-dominators by the usual iteration over the reversed graph; kNone is the virtual exit. `gone[b]`: an
// edge of block b that counts as no way at all (lanes that take it never come back).
std::vector<uint32_t> post_dominators(const Decoded& p, const std::vector<uint32_t>& gone) {
  const uint32_t n = static_cast<uint32_t>(p.blocks.size()), exit = n;
  std::vector<std::vector<uint32_t>> predecessors(n + 1), succ(n + 1);
  for (uint32_t b = 0; b < n; ++b) {
    if (!p.blocks[b].reachable) continue;
    successors(p.blocks[b], [&](uint32_t s) {
      if (s != gone[b]) succ[b].push_back(s);
    });
    if (succ[b].empty()) succ[b].push_back(exit);
    for (uint32_t s : succ[b]) predecessors[s].push_back(b);
  }
  // Blocks that never reach an exit (endless loops) get an edge to it, so that every block has a post-dominator.
  std::vector<uint32_t> order;  // of the reversed graph, post-order
  std::vector<char> state(n + 1, 0);
  const auto walk = [&](uint32_t start) {
    std::vector<std::pair<uint32_t, std::size_t>> stack{{start, 0}};
    state[start] = 1;
    while (!stack.empty()) {
      auto& [b, k] = stack.back();
      if (k < predecessors[b].size()) {
        const uint32_t q = predecessors[b][k++];
        if (!state[q]) {
          state[q] = 1;
          stack.emplace_back(q, 0);
        }
      } else {
        order.push_back(b);
        stack.pop_back();
      }
    }
  };
  walk(exit);
  for (uint32_t b = 0; b < n; ++b)
    if (p.blocks[b].reachable && !state[b]) {
      succ[b].push_back(exit);
      order.pop_back();  // the exit: walked again below as the root
      walk(b);
      order.push_back(exit);
    }
  std::vector<uint32_t> number(n + 1, 0), dominator(n + 1, kNone);
  for (uint32_t k = 0; k < order.size(); ++k) number[order[k]] = k;
  dominator[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = order.size(); k-- > 0;) {
      const uint32_t b = order[k];
      if (b == exit) continue;
      uint32_t best = kNone;
      for (uint32_t s : succ[b]) {
        if (dominator[s] == kNone) continue;
        if (best == kNone) {
          best = s;
          continue;
        }
        uint32_t x = s, y = best;
        while (x != y) {
          while (number[x] < number[y]) x = dominator[x];
          while (number[y] < number[x]) y = dominator[y];
        }
        best = x;
      }
      if (best != kNone && dominator[b] != best) {
        dominator[b] = best;
        changed = true;
      }
    }
  }
  dominator.resize(n);
  for (uint32_t& d : dominator)
    if (d == exit) d = kNone;
  return dominator;
}

// Every lane of the warp, at a matrix instruction.
bool meets_all(const Instruction& i) {
  return i.kind == Kind::collective && i.names_lanes && i.guard == kNone && !i.sources.back().is_reg();
}

}  // namespace

void build_graph(Decoded& p) {
  const uint32_t n = static_cast<uint32_t>(p.code.size());
  std::vector<bool> leader(n + 1);
  leader[0] = true;
  for (uint32_t i = 0; i < n; ++i) {
    const Instruction& in = p.code[i];
    if (in.kind == Kind::branch || in.kind == Kind::function_call) leader[in.target] = true;
    if (in.kind == Kind::branch_table)
      for (uint32_t t : in.targets) leader[t] = true;
    if (ends_block(in)) leader[i + 1] = true;
    // Helper instructions before it belong to it, but may run earlier: the block begins at the instruction itself.
    if (in.names_lanes && !meets_all(in)) leader[i] = true;
    // A call saves registers of one split, so it cannot stand in a block that several splits run together, as after a
    // *.sync.
    if (in.kind == Kind::call && static_cast<Callee>(in.mode) == Callee::function) leader[i] = true;
  }
  // Lanes that have met at a block's beginning are together until it ends: matrix instructions that follow one another
  // are one block.
  for (uint32_t i = 0, met = 0; i < n; ++i) {
    if (leader[i]) met = 0;
    if (!meets_all(p.code[i])) continue;
    if (!met) leader[i] = true;
    met = 1;
  }
  std::vector<uint32_t> block_at(n + 1, kNone);
  for (uint32_t i = 0; i < n;) {
    BasicBlock b;
    b.first = i;
    do ++i;
    while (i < n && !leader[i]);
    b.last = i;
    b.waits = p.code[b.first].names_lanes;
    block_at[b.first] = static_cast<uint32_t>(p.blocks.size());
    p.blocks.push_back(b);
  }
  for (BasicBlock& b : p.blocks) {
    Instruction& last = p.code[b.last - 1];
    const uint32_t following = b.last < n ? block_at[b.last] : kNone;
    if (last.kind == Kind::exit || last.kind == Kind::function_return) continue;
    if (last.kind == Kind::function_call) last.target = block_at[last.target];  // no edge: it comes back at `next`
    if (last.kind == Kind::branch) {
      last.target = block_at[last.target];
      if (last.guard == kNone) {
        b.next = last.target;
      } else {
        b.next = following;
        if (last.target != following) b.taken = last.target;  // to what follows anyway: no way of its own
      }
    } else if (last.kind == Kind::branch_table) {
      for (uint32_t& t : last.targets) t = block_at[t];
      b.table = last.targets;
    } else {
      b.next = following;
    }
  }
  for (uint32_t i = 0; i < n; ++i)
    if (p.code[i].guard != kNone && p.code[i].kind != Kind::branch) p.code[i].guard_tally = p.guards++;
}

void find_reconvergence(Decoded& p) {
  // Lanes that branch to the kernel's end leave at once: each such branch gets an exit of its own, so that those which
  // stay are not counted as having gone elsewhere. (`if (i >= n) return;` is how most kernels begin.)
  for (uint32_t b = 0, n = static_cast<uint32_t>(p.blocks.size()); b < n; ++b) {
    if (p.code[p.blocks[b].last - 1].kind != Kind::branch || p.blocks[b].taken == kNone) continue;
    for (uint32_t BasicBlock::* edge : {&BasicBlock::taken, &BasicBlock::next})
      if (const uint32_t to = p.blocks[b].*edge; to != kNone && only_exits(p, to)) {
        p.blocks[b].*edge = static_cast<uint32_t>(p.blocks.size());
        p.blocks.push_back(BasicBlock(p.blocks[to]));
      }
  }
  const std::vector<bool> reachable = reached_from(p, 0, kNone, true);
  for (uint32_t b = 0; b < p.blocks.size(); ++b) p.blocks[b].reachable = reachable[b];
  // An exit before the end must not keep apart those who stay: where one side of a branch never comes to what the other
  // runs, that side is no way, for this branch and for those around it.
  std::vector<uint32_t> gone(p.blocks.size(), kNone);
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    const BasicBlock& block = p.blocks[b];
    if (!block.reachable || block.taken == kNone || block.taken == block.next) continue;
    // Unless it is the only way out for those who stay: a loop's last block, whose other side leads back into the loop.
    for (const auto& [leaves, stays] : {std::pair{block.taken, block.next}, std::pair{block.next, block.taken}}) {
      if (!only_exits(p, leaves)) continue;
      bool gets_out = false;
      std::vector<bool> seen(p.blocks.size());
      std::vector<uint32_t> todo{stays};
      while (!todo.empty() && !gets_out) {
        const uint32_t k = todo.back();
        todo.pop_back();
        if (k == b || seen[k]) continue;
        seen[k] = true;
        gets_out = is_end(p, k);
        successors(p.blocks[k], [&](uint32_t t) {
          if (t != gone[k]) todo.push_back(t);
        });
      }
      if (gets_out) gone[b] = leaves;
      if (gets_out) break;
    }
  }
  // Each round finds the smallest such side, or is the last: a larger one may only seem so because of the smaller.
  std::vector<uint32_t> dominator;
  for (bool again = true; again;) {
    again = false;
    dominator = post_dominators(p, gone);
    std::ptrdiff_t smallest = static_cast<std::ptrdiff_t>(p.blocks.size()) + 1;
    uint32_t from = kNone, to = kNone;
    for (uint32_t b = 0; b < p.blocks.size(); ++b) {
      const BasicBlock& block = p.blocks[b];
      if (!block.reachable || block.taken == kNone || gone[b] != kNone || dominator[b] != kNone) continue;
      const std::vector<bool> taken = reached_from(p, block.taken, b), next = reached_from(p, block.next, b);
      bool apart = true;
      for (uint32_t k = 0; k < taken.size(); ++k) apart = apart && (k == b || !(taken[k] && next[k]));
      if (!apart) continue;
      for (const auto& [side, head] : {std::pair{&taken, block.taken}, std::pair{&next, block.next}}) {
        const std::ptrdiff_t size = std::count(side->begin(), side->end(), true);
        if ((*side)[b] || size >= smallest || any_barrier(p, *side)) continue;
        smallest = size;
        from = b;
        to = head;
      }
    }
    if (from == kNone) continue;
    gone[from] = to;
    again = true;
  }
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    if (p.blocks[b].reachable && conditional(p, p.blocks[b])) p.blocks[b].reconverge = dominator[b];
}

}  // namespace coalesce::machine
