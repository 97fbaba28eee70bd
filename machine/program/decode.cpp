// The passes in order.
#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "machine/program/program.h"
#include "machine/program/uses.h"
#include "machine/users_place.h"

namespace coalesce::machine {

namespace {

// An atom whose old value is not read is a red: compilers emit it so, the assembler makes it one, and it is counted as
// one (the H200 counts a shuffle tree's atomicAdd under reductions). cas and exch have no such form.
void find_reductions(Decoded& p) {
  std::vector<bool> read(p.registers.size());
  for (const Instruction& i : p.code) each_read(p, i, [&](uint32_t r) { read[r] = true; });
  p.ordered_atomics = false;
  for (const Instruction& i : p.code) {
    if (i.kind != Kind::atomic) continue;
    MemoryOp& m = p.memory[i.memory];
    if (m.returns && !read[m.result] && m.op != AtomicOp::cas && m.op != AtomicOp::exch) {
      m.returns = false;
      m.result = kNone;
      m.ordered = m.number >= Number::f16 || m.op == AtomicOp::inc || m.op == AtomicOp::dec;
      for (uint32_t s = m.site; s < p.sites.size() && &p.memory[p.code[p.sites[s].instruction].memory] == &m; ++s)
        p.sites[s].returns = false;
    }
    p.ordered_atomics = p.ordered_atomics || m.ordered;
  }
}

}  // namespace

// A line of the source that is the user's, or of PTX where it is not known.
static void number_lines(Decoded& p) {
  const auto key = [&](uint32_t place) {
    const Place& where = p.places[place];
    const SourcePlace& at = users_place(where.source, where.inlined_at);
    return std::tuple(std::string_view(at.file), at.line, at.line ? 0 : where.ptx_line);
  };
  std::vector<uint32_t> order(p.places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, key);
  p.line_of.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || key(order[k]) != key(order[k - 1])) ++p.lines;
    p.line_of[order[k]] = p.lines - 1;
  }
}

std::unique_ptr<Decoded> decode(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols,
                                const LaunchShape& shape) {
  auto p = std::make_unique<Decoded>();
  p->shape = shape;
  flatten(module, kernel, symbols, *p);
  find_reductions(*p);
  build_graph(*p);
  find_reconvergence(*p);
  find_liveness(*p);
  find_lane_classes(*p);
  if (p->has_calls)
    make_general(*p);
  else
    find_regions(*p);
  find_liveness(*p);  // cutting regions has made new blocks
  for (BasicBlock& b : p->blocks) {
    b.instructions = 0;
    for (uint32_t k = b.first; k < b.last; ++k) b.instructions += p->code[k].counts;
  }
  number_lines(*p);
  return p;
}

}  // namespace coalesce::machine
