// Live registers: at block heads, and the highest number at once.
#include <algorithm>

#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {

// Calls `use` with each register that an instruction reads or may leave as it was, and `define` with each that it
// writes.
template <class Use, class Define>
void uses_of(const Decoded& p, const Instruction& i, Use use, Define define) {
  each_read(p, i, use);
  const bool certain = i.guard == kNone || i.kind == Kind::branch;
  each_written(p, i, [&](uint32_t r) {
    if (!certain) use(r);
    define(r);
  });
}

}  // namespace

void find_liveness(Decoded& p) {
  const std::size_t registers = p.registers.size();
  // A register is local to a block when all its uses and definitions are there and a definition comes first: most are,
  // and the sets below need not hold them.
  std::vector<uint32_t> home(registers, kNone);
  std::vector<char> local(registers, 1);
  for (Register& r : p.registers) r.definitions = 0, r.defined_in = kNone;
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    if (!p.blocks[b].reachable) continue;
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k)
      uses_of(
          p, p.code[k],
          [&](uint32_t r) {
            if (home[r] != b) local[r] = 0;
          },
          [&](uint32_t r) {
            if (home[r] == kNone)
              home[r] = b;
            else if (home[r] != b)
              local[r] = 0;
            ++p.registers[r].definitions;
            p.registers[r].defined_in = b;
          });
  }
  // Registers that a block's end reads outlive the block's steps: lanes may be suspended between the two.
  for (const BasicBlock& b : p.blocks) {
    if (!b.reachable) continue;
    const Instruction& last = p.code[b.last - 1];
    if (last.kind == Kind::branch || last.kind == Kind::branch_table || last.kind == Kind::barrier ||
        last.kind == Kind::function_call || last.kind == Kind::function_return)
      uses_of(p, last, [&](uint32_t r) { local[r] = 0; }, [](uint32_t) {});
  }
  std::vector<uint32_t> index(registers, kNone), global;
  for (uint32_t r = 0; r < registers; ++r) {
    p.registers[r].block_local = local[r] && home[r] != kNone;
    if (!local[r] && p.registers[r].builtin == Builtin::none) {
      index[r] = static_cast<uint32_t>(global.size());
      global.push_back(r);
    }
  }
  const std::size_t words = (global.size() + 63) / 64, n = p.blocks.size();
  std::vector<uint64_t> use(words * n), def(words * n), in(words * n), out(words);
  for (uint32_t b = 0; b < n; ++b) {
    if (!p.blocks[b].reachable) continue;
    uint64_t *u = use.data() + words * b, *d = def.data() + words * b;
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k)
      uses_of(
          p, p.code[k],
          [&](uint32_t r) {
            if (const uint32_t x = index[r]; x != kNone && !(d[x / 64] >> (x % 64) & 1))
              u[x / 64] |= uint64_t{1} << (x % 64);
          },
          [&](uint32_t r) {
            if (const uint32_t x = index[r]; x != kNone) d[x / 64] |= uint64_t{1} << (x % 64);
          });
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = static_cast<uint32_t>(n); b-- > 0;) {
      const BasicBlock& block = p.blocks[b];
      if (!block.reachable) continue;
      std::fill(out.begin(), out.end(), 0);
      const auto join = [&](uint32_t s) {
        for (std::size_t w = 0; w < words; ++w) out[w] |= in[words * s + w];
      };
      successors(block, join);
      for (std::size_t w = 0; w < words; ++w) {
        const uint64_t now = use[words * b + w] | (out[w] & ~def[words * b + w]);
        if (now != in[words * b + w]) in[words * b + w] = now, changed = true;
      }
    }
  }
  uint32_t highest = 0;
  for (uint32_t b = 0; b < n; ++b) {
    BasicBlock& block = p.blocks[b];
    block.live_in.clear();
    uint32_t live = 0;
    for (uint32_t x = 0; x < global.size(); ++x)
      if (in[words * b + x / 64] >> (x % 64) & 1) {
        block.live_in.push_back(global[x]);
        const Element e = p.registers[global[x]].element;
        live += e == Element::b128 ? 4 : e == Element::b64 ? 2 : e == Element::pred ? 0 : 1;
      }
    std::sort(block.live_in.begin(), block.live_in.end());
    highest = std::max(highest, live);
  }
  p.live_registers = std::max(p.live_registers, highest);
}

}  // namespace coalesce::machine
