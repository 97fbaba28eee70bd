// Warps that have nothing to do in a region are not visited, where that follows from how the region begins:
//
//   if (threadIdx.x < n) ...       every warp behind the first without such lanes has none either
//   if (threadIdx.x % n == 0) ...  n a power of two: every warp, or every (n / 32)th, with the same lanes on
//
// as the steps of trees do. The others would be asked, and counted, only to find that they skip what follows: counting
// is done for all warps of the region at once, and asking is most of such a step.
#include <algorithm>

#include "machine/execute/warp.h"
#include "machine/program/flatten.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::Kind;
using machine::kLanes;
using machine::Mnemonic;

namespace {

bool is_control(Kind k) {
  return k == Kind::nothing || k == Kind::branch || k == Kind::barrier || k == Kind::warp_barrier;
}

}  // namespace

// By register: the one instruction that writes it; kNone: there are none or several.
void Generator::find_definitions() {
  definition_.assign(p_.registers.size(), kNone);
  std::vector<uint32_t> writers(p_.registers.size());
  const auto writes = [&](uint32_t r, uint32_t index) {
    if (r == kNone) return;
    definition_[r] = ++writers[r] == 1 ? index : kNone;
  };
  for (uint32_t k = 0; k < p_.code.size(); ++k) {
    const Instruction& i = p_.code[k];
    for (const uint32_t r : i.results) writes(r, k);
    machine::each_from_memory(p_, i, [&](uint32_t reg) { writes(reg, k); });
  }
}

// The instruction that computes the register, always and alone; null: there is none.
const Instruction* Generator::computed_by(const machine::Value& v) const {
  if (!v.is_reg() || definition_[v.reg] == kNone || unset_[v.reg]) return nullptr;
  const Instruction& i = p_.code[definition_[v.reg]];
  return i.kind == Kind::pure && i.guard == kNone ? &i : nullptr;
}

// threadIdx.x of a block of one row, or a copy of it.
bool Generator::is_thread_index(const machine::Value& v) const {
  if (p_.shape.block[1] != 1 || p_.shape.block[2] != 1 || !v.is_reg()) return false;
  if (p_.registers[v.reg].builtin == Builtin::tid_x) return true;
  const Instruction* i = computed_by(v);
  return i && (i->pure->mnemonic == "mov.u32" || i->pure->mnemonic == "mov.b32" || i->pure->mnemonic == "mov.s32") &&
         is_thread_index(i->sources[0]);
}

// Finds out what can be left out in region `r`, whose registers are known (find_registers()), and prepares it, before
// the loop over its warps. `all_on`: whether all lanes of all warps are.
void Generator::find_visits(uint32_t r, Value* all_on) {
  visits_ = {};
  const RegionPlan& plan = plans_[r];
  const machine::Region& region = p_.regions[r];
  const uint32_t head = region.chain.front();
  const machine::BasicBlock& block = p_.blocks[head];
  if (plan.exits || block.divergent || !block.divergent_branch || block.taken == kNone) return;
  const bool skips_taken = block.taken == block.reconverge;
  if (block.reconverge == kNone || skips_taken == (block.next == block.reconverge)) return;
  for (const bool left : left_)
    if (left) return;
  // Nothing else for each warp, before the branch or behind where its lanes meet.
  const Instruction& branch = p_.code[block.last - 1];
  if (branch.kind != Kind::branch || branch.guard == kNone) return;
  std::vector<bool> asked(p_.registers.size());  // what only the question is about
  for (const uint32_t b : region.chain)
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k) {
      const Instruction& i = p_.code[k];
      if (machine::hoistable(p_, i) || is_control(i.kind)) continue;
      if (b != head || i.kind != Kind::pure || i.guard != kNone) return;
      for (const uint32_t reg : i.results)
        if (reg != kNone) asked[reg] = true;
    }
  const Instruction* test = computed_by(machine::Value::of(branch.guard));
  if (!test || !asked[branch.guard] || test->results[0] != branch.guard) return;
  // Who goes on into the code behind the branch: lanes whose number is below another, or 0.
  const Mnemonic m(test->pure->mnemonic);
  if (m.opcode != "setp" || m.suffixes.size() != 2 ||
      (m.suffixes[1] != "s32" && m.suffixes[1] != "u32" && m.suffixes[1] != "b32"))
    return;
  const std::string_view how = m.suffixes[0];
  const bool enters_where_true = skips_taken == branch.guard_negated;
  const auto is = [&](std::initializer_list<std::string_view> yes, std::initializer_list<std::string_view> no) {
    for (const std::string_view name : enters_where_true ? yes : no)
      if (how == name) return true;
    return false;
  };
  uint64_t number = 1;
  const bool zero = is({"eq"}, {"ne"}) && known(test->sources[1], &number) && number == 0;
  const bool below = is({"lt", "lo", "le", "ls"}, {"ge", "hs", "gt", "hi"});
  if (!zero && !below) return;
  const machine::Value& a = test->sources[0];
  const Instruction* from = computed_by(a);
  const auto of_block = [&](const machine::Value& v) { return !v.is_reg() || block_level(v.reg); };
  const auto number_of = [&](const machine::Value& v) { return scalar(v, Element::b32); };
  if (below && !of_block(test->sources[1])) return;

  // threadIdx.x, or its product with a number of the block's that does not wrap.
  visits_.head = head;
  if (is_thread_index(a)) {
    visits_.ordered = ir_.getTrue();
    return;
  }
  if (!from) return;
  const std::string_view name = from->pure->mnemonic;
  if (name == "mul.lo.s32" || name == "mul.lo.u32")
    for (const uint32_t k : {0u, 1u})
      if (is_thread_index(from->sources[k]) && of_block(from->sources[1 - k])) {
        Value* by = ir_.CreateZExt(number_of(from->sources[1 - k]), ir_.getInt64Ty());
        Value* last = ir_.CreateMul(by, ir_.getInt64(threads() - 1));
        visits_.ordered = ir_.CreateICmpULT(last, ir_.getInt64(uint64_t{1} << 31));
        // Lanes with the number 0 are all or the first.
        if (zero) visits_.ordered = ir_.CreateAnd(visits_.ordered, ir_.CreateIsNotNull(by));
        return;
      }
  const bool rem = name == "rem.s32" || name == "rem.u32";
  if (!zero || (!rem && name != "and.b32") || !is_thread_index(from->sources[0]) || !of_block(from->sources[1])) return;
  // Code that is jumped into must not ask for what was left out before it.
  for (const uint32_t b : plan.blocks)
    for (uint32_t k = p_.blocks[b].first; b != head && k < p_.blocks[b].last; ++k) {
      const Instruction& i = p_.code[k];
      const auto reads = [&](const machine::Value& v) { return v.is_reg() && asked[v.reg]; };
      if ((i.guard != kNone && asked[i.guard]) || std::ranges::any_of(i.sources, reads)) return;
      if (i.memory != kNone &&
          (reads(p_.memory[i.memory].address) || std::ranges::any_of(p_.memory[i.memory].values, reads)))
        return;
    }
  Value* period = number_of(from->sources[1]);
  if (!rem) period = ir_.CreateAdd(period, ir_.getInt32(1));
  Value* less = ir_.CreateSub(period, ir_.getInt32(1));
  Value* power =
      ir_.CreateAnd(ir_.CreateIsNull(ir_.CreateAnd(period, less)), ir_.CreateICmpSGT(period, ir_.getInt32(1)));
  Value* lanes = spread(ir_.getInt32(0), 1);
  visits_.alike = ir_.CreateAnd(all_on, power);
  visits_.mask = bits_of(ir_.CreateIsNull(ir_.CreateAnd(lanes, spread(less, 0))));
  visits_.step = ir_.CreateSelect(
      visits_.alike, ir_.CreateBinaryIntrinsic(Intrinsic::umax, ir_.CreateLShr(period, 5), ir_.getInt32(1)),
      ir_.getInt32(1));
}

// Within the loop over warps, for one that is visited: straight to what it does.
void Generator::visit_alike(uint32_t r, BB* next) {
  const machine::BasicBlock& block = p_.blocks[visits_.head];
  BB* alike = this->block("alike");
  ir_.CreateCondBr(visits_.alike, alike, next);
  ir_.SetInsertPoint(alike);
  begin_warp(r);
  uint32_t s = 0;
  while (plans_[r].scopes[s].at != block.reconverge) ++s;
  ir_.CreateStore(ir_.CreateNot(visits_.mask), arrived_[s]);
  ir_.CreateStore(visits_.mask, mask_);
  count(counter({{word_divergent(visits_.head), 1}}), 1);
  ir_.CreateBr(masked_[block.taken == block.reconverge ? block.next : block.taken]);
}

}  // namespace coalesce::native
