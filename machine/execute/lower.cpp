#include <algorithm>
#include <set>

#include "machine/execute/lowering.h"
#include "machine/execute/matrices.h"
#include "machine/isa/row.h"
#include "machine/isa/service.h"

namespace coalesce::machine {

static bool waits_for_cluster(const Instruction& i) {
  return i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::service && i.text == kClusterWait;
}

static std::unique_ptr<Code> code_of(std::unique_ptr<Decoded> program, bool checked) {
  auto code = std::make_unique<Code>();
  code->program = std::move(program);
  code->checked = checked;
  return code;
}

Lowering::Lowering(std::unique_ptr<Decoded> program, bool checked)
    : code_(code_of(std::move(program), checked)), p_(code_->program.get()), slots_(*code_) {}

std::unique_ptr<Code> Lowering::run() {
  code_->blocks.resize(p_->blocks.size());
  for (uint32_t b = 0; b < p_->blocks.size(); ++b)
    if (p_->blocks[b].reachable) lower_block(b);
  for (const Region& r : p_->regions) lower_region(r);
  slots_.finish();
  return std::move(code_);
}

void Lowering::lower_block(uint32_t b) {
  const BasicBlock& block = p_->blocks[b];
  BlockCode& c = code_->blocks[b];
  const auto stream = [&](bool with_hoisted) {
    Stream s{static_cast<uint32_t>(code_->steps.size()), 0};
    for (uint32_t k = block.first; k < block.last; ++k)
      if (with_hoisted || !hoistable(*p_, p_->code[k])) lower_instruction(p_->code[k], k, block);
    s.last = static_cast<uint32_t>(code_->steps.size());
    group_products(*code_, s);
    return s;
  };
  c.general = stream(true);
  c.lockstep = block.divergent ? c.general : stream(false);
  for (uint32_t k = block.first; k < block.last; ++k)
    if (const Instruction& i = p_->code[k]; i.memory != kNone && i.kind != Kind::store) {
      const MemoryOp& m = p_->memory[i.memory];
      c.polls = c.polls || (i.kind == Kind::load ? m.is_volatile : m.returns);
      c.takes = c.takes || (i.kind == Kind::atomic && m.returns);
      c.waits_for_phase = c.waits_for_phase || (m.op == AtomicOp::mbarrier && m.returns);
    }
  for (uint32_t k = block.first; k < block.last; ++k) c.polls = c.polls || waits_for_cluster(p_->code[k]);
  c.divergent = block.divergent;
  c.divergent_branch = block.divergent_branch;
  c.taken = block.taken;
  c.next = block.next;
  c.reconverge = block.reconverge;
  c.waits = block.waits;
  if (block.waits) {
    const Value& mask = p_->code[block.first].sources.back();
    c.waits_for_any = p_->code[block.first].kind == Kind::warp_barrier;
    c.wait_mask_is_vector = mask.is_reg() && !is_scalar(mask.reg);
    c.wait_mask = c.wait_mask_is_vector ? slots_.of(mask.reg).vector : slots_.scalar(mask, Element::b32);
  }
  const Instruction& last = p_->code[block.last - 1];
  if (last.kind == Kind::function_call) {
    c.end = EndKind::call;
    c.taken = last.target;
  }
  if (last.kind == Kind::function_return) c.end = EndKind::ret;
  switch (last.kind) {
    case Kind::branch:
      if (last.guard == kNone || block.taken == kNone) break;
      c.end = EndKind::branch;
      c.predicate =
          slots_.of(last.guard).scalar != kNoSlot ? slots_.of(last.guard).scalar : slots_.of(last.guard).vector;
      c.negated = last.guard_negated;
      break;
    case Kind::branch_table:
      c.end = EndKind::table;
      c.table = &block.table;
      c.predicate = slots_.vector(last.sources[0], Element::b32);
      break;
    case Kind::exit:
      c.end = EndKind::exit;
      break;
    case Kind::barrier:
      c.end = EndKind::barrier;
      c.barrier = &last;
      c.barrier_id_slot = slots_.vector(last.sources[0], Element::b32);
      c.barrier_count_slot = slots_.vector(last.sources[1], Element::b32);
      if (last.results[0] != kNone) {
        const uint32_t r = last.results[0];
        c.barrier_predicate = slots_.vector(last.sources[2], Element::pred);
        c.barrier_result_scalar = is_scalar(r);
        c.barrier_result = is_scalar(r) ? slots_.of(r).scalar : slots_.of(r).vector;
        const std::size_t before = code_->steps.size();
        expand(r);
        if (code_->steps.size() > before) {
          c.barrier_expand = code_->steps.back();
          code_->steps.pop_back();
          code_->instruction_of.pop_back();
        }
      }
      break;
    default:
      break;
  }
}

void Lowering::lower_region(const Region& region) {
  std::vector<Stream> streams;
  std::vector<Saved> saved;
  std::set<uint32_t> once;
  const std::vector<uint32_t>& live = p_->blocks[region.chain.front()].live_in;
  const auto save = [&](uint32_t r) {
    if (!std::binary_search(live.begin(), live.end(), r) || !once.insert(r).second) return;
    const Home& h = slots_.of(r);
    saved.push_back({h.scalar & ~3u, kScalarBytes});
    if (h.vector != kNoSlot && h.vector != h.scalar)
      saved.push_back({h.vector & ~3u, vector_bytes(p_->registers[r].element)});
  };
  for (uint32_t b : region.chain) {
    Stream s{static_cast<uint32_t>(code_->steps.size()), 0};
    for (uint32_t k = p_->blocks[b].first; k < p_->blocks[b].last; ++k) {
      const Instruction& i = p_->code[k];
      if (!hoistable(*p_, i)) continue;
      lower_instruction(i, k, p_->blocks[b]);
      for (uint32_t r : i.results)
        if (r != kNone) save(r);
    }
    s.last = static_cast<uint32_t>(code_->steps.size());
    streams.push_back(s);
  }
  code_->blocks[region.chain.back()].ends_region = true;
  code_->together.push_back(together(region));
  code_->hoisted.push_back(std::move(streams));
  code_->saved.push_back(std::move(saved));
}

// Atomics, reads of what others may write and calls happen in order: one warp after the other.
bool Lowering::has_order(uint32_t b) const {
  const BasicBlock& block = p_->blocks[b];
  bool any = code_->blocks[b].polls;
  for (uint32_t k = block.first; k < block.last; ++k) {
    const Kind kind = p_->code[k].kind;
    any = any || kind == Kind::atomic || kind == Kind::call || kind == Kind::clock;
  }
  return any;
}

// The blocks at the region's beginning that its warps can run together.
std::vector<Together> Lowering::together(const Region& region) const {
  std::vector<Together> blocks;
  for (std::size_t k = 0; k < region.chain.size(); ++k) {
    const uint32_t b = region.chain[k];
    const BasicBlock& block = p_->blocks[b];
    if (block.divergent || has_order(b)) break;
    blocks.push_back({b});
    if (k + 1 == region.chain.size() || (code_->blocks[b].end != EndKind::jump && !block.divergent_branch)) break;
    if (!block.divergent_branch) continue;
    const uint32_t next = region.chain[k + 1];
    if (code_->blocks[b].end != EndKind::branch || block.reconverge != next) break;
    if (block.taken != next && block.next != next) break;
    const uint32_t beside = block.taken == next ? block.next : block.taken;
    const BlockCode& side = code_->blocks[beside];
    if (p_->blocks[beside].divergent && !p_->blocks[beside].waits && side.end == EndKind::jump && side.next == next &&
        !has_order(beside))
      blocks.back().beside = beside;
  }
  return blocks;
}

std::unique_ptr<Code> lower(std::unique_ptr<Decoded> program, bool checked) {
  return Lowering(std::move(program), checked).run();
}

const Code& scatter(const Code& code) {
  std::call_once(code.scattered_once, [&] {
    auto p = std::make_unique<Decoded>(*code.program);
    make_general(*p);
    code.scattered = lower(std::move(p), code.checked);
  });
  return *code.scattered;
}

}  // namespace coalesce::machine
