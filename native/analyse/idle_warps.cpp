#include "native/analyse/idle_warps.h"

#include <algorithm>
#include <initializer_list>

namespace coalesce::native {

using machine::Kind;
namespace isa = machine::isa;

namespace {

bool is_control(Kind k) {
  return k == Kind::nothing || k == Kind::branch || k == Kind::barrier || k == Kind::warp_barrier;
}

// The block whose branch the region begins with, if lanes skip all of the region's work by it; null: there is none.
const machine::BasicBlock* head_of(const Decoded& p, const RegionPlan& plan, uint32_t r) {
  const machine::BasicBlock& block = p.blocks[p.regions[r].chain.front()];
  if (plan.exits || block.divergent || !block.divergent_branch || block.taken == kNone) return nullptr;
  if (block.reconverge == kNone || (block.taken == block.reconverge) == (block.next == block.reconverge))
    return nullptr;
  const Instruction& branch = p.code[block.last - 1];
  return branch.kind == Kind::branch && branch.guard != kNone ? &block : nullptr;
}

// Registers that only the question is about: all that each warp computes beside the code that lanes skip. False: warps
// do something else, too.
bool find_asked(const Decoded& p, uint32_t r, std::vector<bool>* asked) {
  const machine::Region& region = p.regions[r];
  asked->assign(p.registers.size(), false);
  for (const uint32_t b : region.chain)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      const Instruction& i = p.code[k];
      if (machine::hoistable(p, i) || is_control(i.kind)) continue;
      if (b != region.chain.front() || i.kind != Kind::pure || i.guard != kNone) return false;
      for (const uint32_t reg : i.results)
        if (reg != kNone) (*asked)[reg] = true;
    }
  return true;
}

// The lanes that go on into the code behind the branch: those whose number is below another, or is 0.
enum class Question : uint8_t { other, below, is_zero };

Question question_of(const Registers& registers, const Instruction& test, bool enters_where_true) {
  using isa::Comparison;
  const isa::Operation& op = test.pure->operation;
  if (!op.is_comparison() || op.pair ||
      (op.type != isa::Type::s32 && op.type != isa::Type::u32 && op.type != isa::Type::b32))
    return Question::other;
  const auto is = [&](std::initializer_list<Comparison> yes, std::initializer_list<Comparison> no) {
    const auto& those = enters_where_true ? yes : no;
    return std::ranges::find(those, op.comparison) != those.end();
  };
  uint64_t number = 1;
  if (is({Comparison::eq}, {Comparison::ne}) && registers.known(test.sources[1], &number) && number == 0)
    return Question::is_zero;
  if (is({Comparison::lt, Comparison::lo, Comparison::le, Comparison::ls},
         {Comparison::ge, Comparison::hs, Comparison::gt, Comparison::hi}) &&
      registers.is_block_level(test.sources[1]))
    return Question::below;
  return Question::other;
}

// True if code behind the branch reads values that only the condition computes: a warp that is sent straight into that
// code has not computed them.
bool reads_asked(const Decoded& p, const RegionPlan& plan, uint32_t head, const std::vector<bool>& asked) {
  const auto is_asked = [&](const machine::Value& v) { return v.is_reg() && asked[v.reg]; };
  for (const uint32_t b : plan.blocks)
    for (uint32_t k = p.blocks[b].first; b != head && k < p.blocks[b].last; ++k) {
      const Instruction& i = p.code[k];
      if ((i.guard != kNone && asked[i.guard]) || std::ranges::any_of(i.sources, is_asked)) return true;
      if (i.memory != kNone &&
          (is_asked(p.memory[i.memory].address) || std::ranges::any_of(p.memory[i.memory].values, is_asked)))
        return true;
    }
  return false;
}

}  // namespace

IdleWarps find_idle_warps(const Registers& registers, const RegionRegisters& region_registers, const RegionPlan& plan,
                          uint32_t r) {
  using Form = IdleWarps::Form;
  const Decoded& p = registers.program();
  const machine::BasicBlock* const block = head_of(p, plan, r);
  if (!block || std::ranges::count(region_registers.left, true) != 0) return {};
  std::vector<bool> asked;
  if (!find_asked(p, r, &asked)) return {};
  const Instruction& branch = p.code[block->last - 1];
  const Instruction* test = registers.computed_by(machine::Value::of(branch.guard));
  if (!test || !asked[branch.guard] || test->results[0] != branch.guard) return {};
  const bool skips_taken = block->taken == block->reconverge;
  const Question question = question_of(registers, *test, skips_taken == branch.guard_negated);
  if (question == Question::other) return {};

  IdleWarps found;
  found.head = p.regions[r].chain.front();
  found.equals_zero = question == Question::is_zero;
  const machine::Value& a = test->sources[0];
  if (registers.is_thread_index(a)) {
    found.form = Form::below;
    return found;
  }
  const Instruction* from = registers.computed_by(a);
  if (!from) return {};
  const isa::Operation& op = from->pure->operation;
  const bool number = op.type == isa::Type::s32 || op.type == isa::Type::u32;
  if (op.opcode == isa::Opcode::mul && op.product == isa::Product::lo && number)
    for (const uint32_t k : {0u, 1u})
      if (registers.is_thread_index(from->sources[k]) && registers.is_block_level(from->sources[1 - k])) {
        found.form = Form::product_below;
        found.factor = from->sources[1 - k];
        return found;
      }
  const bool remainder = op.opcode == isa::Opcode::rem && number;
  if (!found.equals_zero || (!remainder && !op.is_plain(isa::Opcode::and_, isa::Type::b32)) ||
      !registers.is_thread_index(from->sources[0]) || !registers.is_block_level(from->sources[1]) ||
      reads_asked(p, plan, found.head, asked))
    return {};
  found.form = remainder ? Form::periodic : Form::masked;
  found.factor = from->sources[1];
  return found;
}

}  // namespace coalesce::native
