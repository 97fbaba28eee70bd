// Accesses of global memory that are looked at once for all warps of a thread block.
//
// a[(first + threadIdx.y) * n + threadIdx.x]: from warp to warp the address goes on by the same number of bytes, nobody
// knows by how many before the launch. So before the loop over warps the first and the last warp's addresses say
// whether all of them lie in the allocation that the instruction touched last, and whether all begin at a line, so that
// each costs the same. If that is so for all accesses of a region whose other instructions cannot fault, a loop of its
// own only moves the bytes. They are marked as touched for all warps together, too, unless the allocation has been
// touched as a whole or the same access has been carried out before (Passed). A warp's access is then an addition,
// loads and stores, instead of 38 instructions.
//
// `if (i < n)` around all of a region is no obstacle: where i goes on by steps of lanes and warps, it holds for all of
// them if it does for the first and the last lane of the first and the last warp.
//
// What is proven here is that warp w's value of a register is first + w * step, modulo 2^bits. Sums, and products with
// what is the same for the block, keep that; numbers of 32 bits that are widened do where neither the first warp's
// value nor the last one's wraps, which is asked in each region. Registers from before the region have it in their
// slots: the first two warps' say first and step.
#include <algorithm>
#include <cstddef>

#include "machine/program/flatten.h"
#include "machine/program/linear.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::AddressSpace;
using machine::Builtin;
using machine::Kind;
using machine::kLanes;
using machine::Rule;

namespace {

constexpr uint32_t kFewest = 2;  // warps
constexpr uint64_t kLine = 128;
constexpr int64_t kMost = int64_t{1} << 30;  // factors, as in stepped.cpp

}  // namespace

// Lane 0's value of warp w is first + w * step.
std::optional<std::pair<uint64_t, uint64_t>> Generator::line_of_builtin(Builtin b) const {
  const auto& block = p_.shape.block;
  const bool flat = block[1] == 1 && block[2] == 1, row = block[0] == kLanes;
  switch (b) {
    case Builtin::tid_x:
      if (flat) return std::pair{uint64_t{0}, uint64_t{kLanes}};
      if (row) return std::pair{uint64_t{0}, uint64_t{0}};
      return std::nullopt;
    case Builtin::tid_y:
      if (row && block[2] == 1) return std::pair{uint64_t{0}, uint64_t{1}};
      return std::nullopt;
    case Builtin::tid_z:
      if (row && block[1] == 1) return std::pair{uint64_t{0}, uint64_t{1}};
      return std::nullopt;
    case Builtin::warpid:
      return std::pair{uint64_t{0}, uint64_t{1}};
    case Builtin::laneid:
      return std::pair{uint64_t{0}, uint64_t{0}};
    default:
      return std::nullopt;
  }
}

// Whether the result goes on by a step from warp to warp, `is` saying of which operands that is so. `widens`: of a
// 32-bit register, whether it may be widened.
template <class Is, class Widens>
bool Generator::keeps_line(const Instruction& i, Is is, Widens widens) const {
  if (i.kind != Kind::pure || i.guard != kNone || i.results[0] == kNone || i.results[1] != kNone) return false;
  const machine::RuleOf rule = machine::rule_of(*i.pure);
  const auto of_block = [&](const machine::Value& v) { return !v.is_reg() || block_level(v.reg); };
  const auto& s = i.sources;
  uint64_t factor = 0;
  const auto widened = [&](const machine::Value& v) {
    return v.is_reg() && is_scalar(v.reg) && p_.registers[v.reg].element == Element::b32 && is(v) && widens(v.reg);
  };
  const auto small = [&](const machine::Value& v) {
    if (!known(v, &factor)) return false;
    const int64_t times =
        rule.is_signed ? static_cast<int32_t>(factor) : static_cast<int64_t>(static_cast<uint32_t>(factor));
    return times <= kMost && times >= -kMost;
  };
  switch (rule.rule) {
    case Rule::add:
    case Rule::sub:
      return is(s[0]) && is(s[1]);
    case Rule::move:
    case Rule::minus:
    case Rule::truncate:
      return is(s[0]);
    case Rule::shift_left:
      return is(s[0]) && known(s[1], &factor) && factor < rule.bits;
    case Rule::mul_low:
      return (is(s[0]) && of_block(s[1])) || (of_block(s[0]) && is(s[1]));
    case Rule::mad_low:
      return ((is(s[0]) && of_block(s[1])) || (of_block(s[0]) && is(s[1]))) && is(s[2]);
    case Rule::widen_unsigned:
    case Rule::widen_signed:
      return rule.bits == 64 && widened(s[0]);
    case Rule::mul_wide:
      return rule.bits == 64 && widened(s[0]) && small(s[1]);
    case Rule::mad_wide:
      return rule.bits == 64 && widened(s[0]) && small(s[1]) && is(s[2]);
    case Rule::other:
      return false;
  }
  return false;
}

// By register: wherever a region begins, all warps with all their lanes have come the same way, and what it holds goes
// on by a step from warp to warp. Taken to be so until a definition says otherwise.
void Generator::find_lines() {
  on_line_.assign(p_.registers.size(), false);
  for (uint32_t r = 0; r < p_.registers.size(); ++r) {
    const Register& reg = p_.registers[r];
    on_line_[r] =
        block_level(r) ||
        (reg.builtin != Builtin::none ? line_of_builtin(reg.builtin).has_value()
                                      : is_scalar(r) && (reg.element == Element::b32 || reg.element == Element::b64));
  }
  const auto is = [&](const machine::Value& v) { return !v.is_reg() || on_line_[v.reg]; };
  // Within less than 2^31 a step modulo 2^32 is a step.
  const auto widens = [&](uint32_t r) {
    const machine::Range& range = p_.registers[r].range;
    return threads() % kLanes == 0 && range.known() && range.low >= 0 && range.high < (int64_t{1} << 31);
  };
  for (bool changed = true; changed;) {
    changed = false;
    const auto give_up = [&](uint32_t r) {
      if (r == kNone || !on_line_[r] || block_level(r)) return;
      on_line_[r] = false;
      changed = true;
    };
    for (const machine::BasicBlock& b : p_.blocks) {
      if (!b.reachable) continue;
      for (uint32_t k = b.first; k < b.last; ++k) {
        const Instruction& i = p_.code[k];
        machine::each_from_memory(p_, i, give_up);
        if (b.divergent || !keeps_line(i, is, widens))
          for (const uint32_t r : i.results) give_up(r);
      }
    }
  }
}

// The blocks of region `r` that a warp passes whose lanes are all on and stay together, in order; at a branch around
// some code the lanes go into it, at one that ends the kernel they go on. Empty: there are other ways.
std::vector<uint32_t> Generator::one_way(uint32_t r) const {
  const RegionPlan& plan = plans_[r];
  const std::vector<uint32_t>& chain = p_.regions[r].chain;
  std::vector<uint32_t> way;
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    const machine::BasicBlock& block = p_.blocks[chain[k]];
    way.push_back(chain[k]);
    if (block.divergent) return {};
    if (!block.divergent_branch) continue;
    const uint32_t meet = k + 1 < chain.size() ? chain[k + 1] : p_.regions[r].after;
    if (way.size() != k + 1 || left_out || block.reconverge != meet || block.taken == kNone || !block.table.empty() ||
        (block.taken == meet) == (block.next == meet))
      return {};
    const uint32_t inside = block.taken == meet ? block.next : block.taken;
    if (p_.code[p_.blocks[inside].last - 1].kind == Kind::exit) {
      ++left_out;
      continue;
    }
    if (p_.blocks[inside].taken != kNone || !p_.blocks[inside].table.empty() || p_.blocks[inside].next != meet)
      return {};
    way.push_back(inside);
  }
  return way.size() + left_out == plan.blocks.size() ? way : std::vector<uint32_t>{};
}

// The block on the way whose branch might part the lanes; kNone: there is none.
uint32_t Generator::parting(const std::vector<uint32_t>& way) const {
  for (const uint32_t b : way)
    if (p_.blocks[b].divergent_branch) return b;
  return kNone;
}

// Instructions on the way, what is computed for the block left out.
std::vector<uint32_t> Generator::of_each_warp(const std::vector<uint32_t>& way) const {
  std::vector<uint32_t> all;
  for (const uint32_t b : way)
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k)
      if (p_.blocks[b].divergent || !machine::hoistable(p_, p_.code[k])) all.push_back(k);
  return all;
}

// Lane after lane, warps a step apart.
bool Generator::known_ahead(const Instruction& i, const std::vector<bool>& lines) const {
  const MemoryOp& m = p_.memory[i.memory];
  if (m.space != AddressSpace::global || m.is_volatile || m.width > 8 || (m.count & (m.count - 1)) != 0 ||
      m.bytes() > 16 || m.site == kNone || !m.address.is_reg() || !lines[m.address.reg] ||
      p_.registers[m.address.reg].element != Element::b64)
    return false;
  int64_t step;
  return step_of(m.address, &step) && step == int64_t{m.bytes()};
}

// Of a comparison of numbers that go on by steps with one of the block's, where it ends in a branch: how.
std::optional<CmpInst::Predicate> Generator::ordered_by(const Instruction& i, const std::vector<bool>& lines) const {
  if (i.kind != Kind::pure || i.guard != kNone || i.results[1] != kNone) return std::nullopt;
  const machine::Mnemonic m(i.pure->mnemonic);
  if (m.opcode != "setp" || m.suffixes.size() != 2 || (m.suffixes[1] != "s32" && m.suffixes[1] != "u32"))
    return std::nullopt;
  const machine::Value &a = i.sources[0], &b = i.sources[1];
  if (!a.is_reg() || !is_scalar(a.reg) || !lines[a.reg] || (b.is_reg() && !block_level(b.reg))) return std::nullopt;
  const bool is_signed = m.suffixes[1] == "s32";
  const std::string_view how = m.suffixes[0];
  if (how == "lt" || how == "lo") return is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
  if (how == "le" || how == "ls") return is_signed ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
  if (how == "gt" || how == "hi") return is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
  if (how == "ge" || how == "hs") return is_signed ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
  return std::nullopt;
}

// Goes through the instructions of one way through region `r`. False: it may not have a loop of its own for accesses
// that are known before it. Otherwise `line(i)` has been called for those whose result goes on by steps, `access(k)`
// for those accesses, `test(i)` for the comparison that the branch is by.
template <class Line, class Access, class Test>
bool Generator::walk(const std::vector<uint32_t>& way, Line line, Access access, Test test) const {
  if (way.empty() || warps() < kFewest || threads() % kLanes != 0) return false;
  const uint32_t parts = parting(way), asked = parts == kNone ? kNone : p_.code[p_.blocks[parts].last - 1].guard;
  std::vector<bool> lines = on_line_;
  bool any = false, tested = asked == kNone;
  for (const uint32_t k : of_each_warp(way)) {
    const Instruction& i = p_.code[k];
    switch (i.kind) {
      case Kind::nothing:
      case Kind::branch:
      case Kind::branch_table:
      case Kind::barrier:
      case Kind::exit:
        continue;
      case Kind::pure: {
        const auto is = [&](const machine::Value& v) { return !v.is_reg() || lines[v.reg]; };
        const uint32_t result = i.results[0];
        if (i.guard != kNone) return false;
        if (asked != kNone && std::ranges::count(i.results, asked) != 0) {
          tested = ordered_by(i, lines).has_value();
          if (tested) test(i);
        }
        const bool goes_on =
            keeps_line(i, is, [](uint32_t) { return true; }) && (is_scalar(result) || has_step_[result]);
        for (const uint32_t reg : i.results)
          if (reg != kNone) lines[reg] = goes_on;
        if (goes_on) line(i);
        continue;
      }
      case Kind::load:
      case Kind::store:
        if (i.guard != kNone) return false;
        if (known_ahead(i, lines))
          any = true, access(k);
        else if (!cannot_fault(p_.memory[i.memory]))
          return false;
        machine::each_from_memory(p_, i, [&](uint32_t reg) { lines[reg] = false; });
        continue;
      case Kind::atomic:
        if (i.guard != kNone || !simple_atomic(i) || !cannot_fault(p_.memory[i.memory])) return false;
        machine::each_from_memory(p_, i, [&](uint32_t reg) { lines[reg] = false; });
        continue;
      default:
        return false;
    }
  }
  return any && tested;
}

// The register's or number's, `lines` having those computed in the region.
Generator::Line Generator::line_of(const machine::Value& v, Element e, uint32_t r, std::map<uint32_t, Line>& lines) {
  if (v.is_reg())
    if (const auto found = lines.find(v.reg); found != lines.end()) return found->second;
  const auto still = [&](Value* first) { return Line{first, Constant::getNullValue(first->getType()), nullptr}; };
  if (uint64_t bits; !v.is_reg() || block_level(v.reg) || known(v, &bits) || known_base(v.reg, &bits))
    return still(scalar(v, e));
  const Register& reg = p_.registers[v.reg];
  Type* type = type_of(reg.element);
  if (reg.builtin != Builtin::none) {
    const auto [first, step] = *line_of_builtin(reg.builtin);
    return {ConstantInt::get(type, first), ConstantInt::get(type, step), nullptr};
  }
  const std::vector<uint32_t>& live = p_.blocks[p_.regions[r].chain.front()].live_in;
  if (!std::binary_search(live.begin(), live.end(), v.reg)) return still(Constant::getNullValue(type));
  Value* of_warp[2];
  for (uint32_t w = 0; w < 2; ++w) {
    at_warp(ir_.getInt32(w));
    of_warp[w] = load_slot(code_.homes[v.reg].scalar, reg.element, false);
  }
  return lines[v.reg] = {of_warp[0], ir_.CreateSub(of_warp[1], of_warp[0]), nullptr};
}

// Of a 32-bit number whose lanes are `stride` apart, in 64 bits: the first lane's and the last one's, of the first warp
// and the last. Those of all others lie between, and none wraps if these do not.
Generator::Corners Generator::corners(const Line& a, int64_t stride, bool is_signed) {
  Type* i64 = ir_.getInt64Ty();
  const auto extended = [&](Value* v) { return is_signed ? ir_.CreateSExt(v, i64) : ir_.CreateZExt(v, i64); };
  Value *first = extended(a.first), *span = ir_.getInt64(static_cast<uint64_t>(stride * (kLanes - 1)));
  Value* last = ir_.CreateAdd(first, ir_.CreateMul(ir_.CreateSExt(a.step, i64), ir_.getInt64(warps() - 1)));
  Corners c{{first, ir_.CreateAdd(first, span), last, ir_.CreateAdd(last, span)}, ir_.getTrue()};
  for (Value* v : c.at)
    if (v != first) c.fit = ir_.CreateAnd(c.fit, ir_.CreateICmpEQ(v, extended(ir_.CreateTrunc(v, ir_.getInt32Ty()))));
  return c;
}

Generator::Line Generator::line_of_result(const Instruction& i, uint32_t r, std::map<uint32_t, Line>& lines) {
  const machine::RuleOf rule = machine::rule_of(*i.pure);
  const auto of = [&](std::size_t k) { return line_of(i.sources[k], i.pure->source[k], r, lines); };
  const auto both = [&](Value* a, Value* b) { return !a ? b : !b ? a : ir_.CreateAnd(a, b); };
  const auto sum = [&](const Line& a, const Line& b) {
    return Line{ir_.CreateAdd(a.first, b.first), ir_.CreateAdd(a.step, b.step), both(a.good, b.good)};
  };
  const auto times = [&](const Line& a, Value* factor) {
    return Line{ir_.CreateMul(a.first, factor), ir_.CreateMul(a.step, factor), a.good};
  };
  const auto product = [&] {
    const bool second = !i.sources[1].is_reg() || block_level(i.sources[1].reg);
    return times(of(second ? 0 : 1), of(second ? 1 : 0).first);
  };
  const auto widened = [&](bool is_signed) {
    const Line a = of(0);
    const Corners c = corners(a, p_.registers[i.sources[0].reg].stride, is_signed);
    return Line{c.at[0], ir_.CreateSExt(a.step, ir_.getInt64Ty()), both(a.good, c.fit)};
  };
  const auto factor = [&] {
    uint64_t bits = 0;
    known(i.sources[1], &bits);
    const int64_t n = rule.is_signed ? static_cast<int32_t>(bits) : static_cast<int64_t>(static_cast<uint32_t>(bits));
    return ir_.getInt64(static_cast<uint64_t>(n));
  };
  switch (rule.rule) {
    case Rule::add:
      return sum(of(0), of(1));
    case Rule::sub: {
      const Line a = of(0), b = of(1);
      return {ir_.CreateSub(a.first, b.first), ir_.CreateSub(a.step, b.step), both(a.good, b.good)};
    }
    case Rule::minus: {
      const Line a = of(0);
      return {ir_.CreateNeg(a.first), ir_.CreateNeg(a.step), a.good};
    }
    case Rule::truncate: {
      const Line a = of(0);
      Type* i32 = ir_.getInt32Ty();
      return {ir_.CreateTrunc(a.first, i32), ir_.CreateTrunc(a.step, i32), a.good};
    }
    case Rule::shift_left: {
      uint64_t places = 0;
      known(i.sources[1], &places);
      const Line a = of(0);
      return times(a, ConstantInt::get(a.first->getType(), uint64_t{1} << places));
    }
    case Rule::mul_low:
      return product();
    case Rule::mad_low:
      return sum(product(), of(2));
    case Rule::widen_unsigned:
    case Rule::widen_signed:
      return widened(rule.rule == Rule::widen_signed);
    case Rule::mul_wide:
      return times(widened(rule.is_signed), factor());
    case Rule::mad_wide:
      return sum(times(widened(rule.is_signed), factor()), of(2));
    default:  // move
      return of(0);
  }
}

// Whether all lanes of all warps go the way at the branch that is by this comparison.
Value* Generator::all_go(const std::vector<uint32_t>& way, const Instruction& i, uint32_t r,
                         std::map<uint32_t, Line>& lines) {
  const auto at = std::ranges::find(way, parting(way));
  const machine::BasicBlock& head = p_.blocks[*at];
  const Instruction& branch = p_.code[head.last - 1];
  const bool taken = head.taken == (at + 1 == way.end() ? p_.regions[r].after : *(at + 1));
  const auto ordered = ordered_by(i, std::vector<bool>(p_.registers.size(), true));
  if (!ordered) return ir_.getFalse();
  CmpInst::Predicate how = *ordered;
  const bool is_signed = machine::Mnemonic(i.pure->mnemonic).suffixes[1] == "s32";
  if (taken == branch.guard_negated) how = CmpInst::getInversePredicate(how);
  const Line a = line_of(i.sources[0], Element::b32, r, lines);
  const Corners c = corners(a, p_.registers[i.sources[0].reg].stride, is_signed);
  Value *limit = scalar(i.sources[1], Element::b32), *all = c.fit;
  limit = is_signed ? ir_.CreateSExt(limit, ir_.getInt64Ty()) : ir_.CreateZExt(limit, ir_.getInt64Ty());
  if (a.good) all = ir_.CreateAnd(all, a.good);
  for (Value* v : c.at) all = ir_.CreateAnd(all, ir_.CreateICmp(how, v, limit));
  return all;
}

// Before the loop over the warps of region `r`. `all_on`: whether all lanes of all warps are. Goes on where the warps
// are to be run one after the other; the loop for what is known goes to `after`.
void Generator::run_ahead(uint32_t r, Value* all_on, BB* after) {
  const std::vector<uint32_t> way = one_way(r);
  const auto nothing = [](const auto&) {};
  if (!walk(way, nothing, nothing, nothing)) return;
  BB *ahead = block("ahead"), *quick = block("quick"), *each = block("each"), *loop = block("quick_warp");
  Type* i64 = ir_.getInt64Ty();
  ir_.CreateCondBr(all_on, ahead, each);

  ir_.SetInsertPoint(ahead);
  std::map<uint32_t, Line> lines;
  Value* good = ir_.getTrue();
  const auto state = [&](uint32_t memory, std::size_t offset) {
    return ir_.CreateLoad(i64, site_state(memory, offset));
  };
  walk(
      way, [&](const Instruction& i) { lines[i.results[0]] = line_of_result(i, r, lines); },
      [&](uint32_t k) {
        const uint32_t memory = p_.code[k].memory;
        const MemoryOp& m = p_.memory[memory];
        Passing& p = passing_[k];
        const Line a = line_of(m.address, Element::b64, r, lines);
        p.first = ir_.CreateAdd(a.first, ir_.getInt64(static_cast<uint64_t>(m.offset)));
        p.step = a.step;
        if (a.good) good = ir_.CreateAnd(good, a.good);
        Value *start = state(memory, offsetof(SiteState, base)), *limit = state(memory, offsetof(SiteState, limit));
        Value* last = ir_.CreateAdd(p.first, ir_.CreateMul(p.step, ir_.getInt64(warps() - 1)));
        for (Value* v : {p.first, last}) good = ir_.CreateAnd(good, ir_.CreateICmpULT(ir_.CreateSub(v, start), limit));
        // A step so small that no address wraps between the two.
        constexpr uint64_t kFar = uint64_t{1} << 56;
        good =
            ir_.CreateAnd(good, ir_.CreateICmpULT(ir_.CreateAdd(p.step, ir_.getInt64(kFar)), ir_.getInt64(2 * kFar)));
        const uint64_t bytes = uint64_t{m.bytes()} * kLanes;
        Value* odd = ir_.CreateAnd(ir_.CreateOr(p.first, p.step), ir_.getInt64(std::min(bytes, kLine) - 1));
        good = ir_.CreateAnd(good, ir_.CreateIsNull(odd));
      },
      [&](const Instruction& i) { good = ir_.CreateAnd(good, all_go(way, i, r, lines)); });
  ir_.CreateCondBr(good, quick, each, mostly(2000));

  ir_.SetInsertPoint(quick);
  for (auto& [k, p] : passing_) pass_all(p_.code[k], p);
  for (const uint32_t b : way)
    if (!counted_by_region(r, b)) count(counter({{word_executions(b), 1}, {word_lanes(b), kLanes}}), warps());
  ir_.CreateStore(ir_.getInt32(0), warp_);
  ir_.CreateBr(loop);
  ir_.SetInsertPoint(loop);
  at_warp(ir_.CreateLoad(ir_.getInt32Ty(), warp_, "w"));
  seen_.clear();
  forget_parts();
  take_registers(r);
  for (const uint32_t b : way) {
    Where where;
    where.block = b;
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k)
      if (p_.blocks[b].divergent || !machine::hoistable(p_, p_.code[k])) instruction(k, where);
  }
  passing_.clear();
  leave_registers();
  Value* next = ir_.CreateAdd(w_, ir_.getInt32(1));
  ir_.CreateStore(next, warp_);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, ir_.getInt32(warps())), loop, after);
  seen_.clear();
  forget_parts();
  ir_.SetInsertPoint(each);
  ir_.CreateStore(ir_.getInt32(0), warp_);
}

// Before the loop for what is known: what the access costs, and that it touches what it does. Of what has not been
// touched before, what the block will want next time is fetched, as far again from now on as last time was. Where it
// goes on where it ended last time, it is what is stored, and what is loaded where the CPU does not see that coming,
// eight warps on.
void Generator::pass_all(const Instruction& i, Passing& p) {
  constexpr uint64_t kSector = 32;
  const MemoryOp& m = p_.memory[i.memory];
  const uint64_t bytes = uint64_t{m.bytes()} * kLanes;
  Type* i64 = ir_.getInt64Ty();
  std::vector<Target> cost{{word_site(m.site, 1), static_cast<uint32_t>(bytes / kSector)},
                           {word_site(m.site, 2), static_cast<uint32_t>((bytes + kLine - 1) / kLine)},
                           {word_site(m.site, 3), static_cast<uint32_t>(bytes)}};
  if (p_.sites[m.site].dynamic_requests) cost.push_back({word_site(m.site, 0), 1});
  count(counter(cost), warps());
  Value* follows = ir_.CreateICmpEQ(p.step, ir_.getInt64(bytes));
  Value* fresh = ir_.CreateIsNull(ir_.CreateLoad(ir_.getInt32Ty(), site_state(i.memory, offsetof(SiteState, all))));
  BB *extend = block("extend"), *look = block("look"), *touch = block("touch"), *touched = block("touched");

  // Streams: the block goes on where the one before ended.
  Value* high_at =
      ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), track(i.memory, ir_.getInt32(0)), offsetof(Track, high));
  Value* extends = ir_.CreateAnd(follows, ir_.CreateICmpEQ(ir_.CreateLoad(i64, high_at), p.first));
  Value* last_at = site_state(i.memory, offsetof(SiteState, last));
  p.ahead = ir_.CreateSelect(extends, ir_.CreateShl(p.step, 3), ir_.CreateSub(p.first, ir_.CreateLoad(i64, last_at)));
  ir_.CreateStore(p.first, last_at);
  ir_.CreateCondBr(ir_.CreateAnd(fresh, extends), extend, look);
  ir_.SetInsertPoint(extend);
  ir_.CreateStore(ir_.CreateAdd(p.first, ir_.getInt64(warps() * bytes)), high_at);
  ir_.CreateBr(touched);

  ir_.SetInsertPoint(look);
  if (std::ranges::find(passed_, i.memory) == passed_.end()) passed_.push_back(i.memory);
  Value* remembered = ir_.CreateLoad(ir_.getPtrTy(), site_state(i.memory, offsetof(SiteState, passed)));
  Value* place = ir_.CreateLShr(ir_.CreateMul(p.first, ir_.getInt64(Passed::kSpread)), Passed::kPlaces);
  remembered = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), remembered, ir_.CreateMul(place, ir_.getInt64(sizeof(Passed))));
  const auto same = [&](std::size_t offset, Value* v) {
    return ir_.CreateICmpEQ(ir_.CreateLoad(i64, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), remembered, offset)),
                            v);
  };
  Value* known = ir_.CreateAnd(same(offsetof(Passed, first), p.first), same(offsetof(Passed, step), p.step));
  ir_.CreateCondBr(ir_.CreateAnd(fresh, ir_.CreateNot(known)), touch, touched);
  ir_.SetInsertPoint(touch);
  call(offsetof(Frame, touch_all), ir_.getVoidTy(), {ir_.getInt32(i.memory), p.first, p.step});
  ir_.CreateBr(touched);

  ir_.SetInsertPoint(touched);
  PHINode* fetches = ir_.CreatePHI(ir_.getInt1Ty(), 3, "fetches");
  fetches->addIncoming(ir_.getInt1(i.kind == Kind::store || target_.fetches_loads), extend);
  fetches->addIncoming(ir_.getTrue(), touch);
  fetches->addIncoming(ir_.getFalse(), look);
  p.fetches = fetches;
}

// In the loop for what is known: a warp's access.
void Generator::pass(uint32_t index, const Passing& p, const Where& where) {
  const Instruction& i = p_.code[index];
  const MemoryOp& m = p_.memory[i.memory];
  const uint64_t bytes = uint64_t{m.bytes()} * kLanes;
  Value* base = ir_.CreateAdd(p.first, ir_.CreateMul(ir_.CreateZExt(w_, ir_.getInt64Ty()), p.step));
  BB *fetch = block("fetch"), *move = block("move");
  AllocaInst* elements = whole_place(i, where);
  ir_.CreateCondBr(p.fetches, fetch, move);
  ir_.SetInsertPoint(fetch);
  prefetch(i, ir_.CreateAdd(base, p.ahead));
  ir_.CreateBr(move);
  ir_.SetInsertPoint(move);
  Value* pointer = ir_.CreateIntToPtr(base, ir_.getPtrTy());
  move_contiguous(i, pointer, static_cast<unsigned>(std::min<uint64_t>(bytes, 64)), where, false, elements);
  if (elements) registers_from_whole(m, elements, where);
}

}  // namespace coalesce::native
