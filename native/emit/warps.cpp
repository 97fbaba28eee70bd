// A region's loop over the thread block's warps: what a warp brings along, its blocks' bodies, what it leaves behind.
#include <algorithm>
#include <cstddef>
#include <tuple>

#include "machine/execute/warp.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::Kind;
using machine::kLanes;

void Generator::warp_loop(uint32_t r) {
  const RegionPlan& plan = plans_[r];
  BB *loop = block("warp"), *dead_or_alive = block("alive"), *after = block("after");
  warp_end_ = block("warp_end");
  warp_next_ = block("warp_next");
  full_.assign(blocks_, nullptr);
  masked_.assign(blocks_, nullptr);
  arrive_.assign(plan.scopes.size(), nullptr);
  arrived_.assign(plan.scopes.size(), nullptr);
  find_registers(r);
  // Where several go together, a warp left over is no reason for code of its own for whole warps.
  const uint32_t n = together(r);
  for (uint32_t b : plan.blocks) {
    masked_[b] = block("masked");
    full_[b] = n ? masked_[b] : block("full");
  }
  for (uint32_t s = 0; s < plan.scopes.size(); ++s) {
    arrive_[s] = block("arrive");
    IRBuilder<> at(entry_, entry_->begin());
    arrived_[s] = at.CreateAlloca(ir_.getInt32Ty(), nullptr, "arrived");
    for (uint32_t b : plan.scopes[s].two_sided)
      if (!pending_[b]) pending_[b] = at.CreateAlloca(ir_.getInt32Ty(), nullptr, "pending");
  }
  ir_.CreateStore(ir_.getInt32(0), warp_);
  // Whether all lanes of all warps are on: then no warp is asked.
  Value* all_on = warps() * kLanes == threads()
                      ? ir_.CreateICmpEQ(ir_.CreateLoad(ir_.getInt64Ty(), alive_lanes_), ir_.getInt64(threads()))
                      : ir_.getFalse();
  find_visits(r, all_on);
  find_columns(r, all_on);
  visits_.done = after;
  run_ahead(r, all_on, after);
  ir_.CreateBr(loop);

  ir_.SetInsertPoint(loop);
  at_warp(ir_.CreateLoad(ir_.getInt32Ty(), warp_, "w"));
  if (n) several(r, n, all_on, loop, after);
  if (visits_.alike) {
    BB* each = block("each");
    visit_alike(r, each);
    ir_.SetInsertPoint(each);
  }
  BB *whole = block("whole"), *some = block("some"), *ask = block("ask");
  ir_.CreateCondBr(all_on, whole, ask);
  ir_.SetInsertPoint(ask);
  Value* alive = ir_.CreateLoad(ir_.getInt32Ty(), alive_of(w_));
  ir_.CreateCondBr(ir_.CreateICmpEQ(alive, ir_.getInt32(~0u)), whole, dead_or_alive);
  ir_.SetInsertPoint(dead_or_alive);
  ir_.CreateCondBr(ir_.CreateIsNotNull(alive), some, warp_next_);
  const uint32_t head = p_.regions[r].chain.front();
  for (BB* at : {whole, some}) {
    ir_.SetInsertPoint(at);
    begin_warp(r);
    ir_.CreateStore(at == whole ? ir_.getInt32(~0u) : alive, mask_);
    ir_.CreateBr(!full_[head] ? warp_end_ : at == whole ? full_[head] : masked_[head]);
  }

  for (uint32_t b : plan.blocks) {
    if (!n) body(r, b, true);
    body(r, b, false);
  }
  for (uint32_t s = 0; s < plan.scopes.size(); ++s) arrival(r, s);

  ir_.SetInsertPoint(warp_end_);
  leave_registers();
  ir_.CreateBr(warp_next_);

  ir_.SetInsertPoint(warp_next_);
  Value* next = ir_.CreateAdd(w_, visits_.step ? visits_.step : ir_.getInt32(1));
  ir_.CreateStore(next, warp_);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, ir_.getInt32(warps())), loop, after);
  ir_.SetInsertPoint(after);
}

// No lanes wait anywhere; what the warp brings along.
void Generator::begin_warp(uint32_t r) {
  for (AllocaInst* a : arrived_) ir_.CreateStore(ir_.getInt32(0), a);
  for (const Scope& s : plans_[r].scopes)
    for (uint32_t b : s.two_sided) ir_.CreateStore(ir_.getInt32(0), pending_[b]);
  take_registers(r);
}

void Generator::at_warp(Value* w) {
  w_ = w;
  Value* first = field(offsetof(Frame, warp_area), ir_.getPtrTy(), "warps");
  Type* i64 = ir_.getInt64Ty();
  area_ = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), first,
                                ir_.CreateMul(ir_.CreateZExt(w, i64), ir_.getInt64(code_.warp_bytes)));
}

Value* Generator::alive_of(Value* w) {
  return ir_.CreateInBoundsGEP(ir_.getInt32Ty(), field(offsetof(Frame, alive), ir_.getPtrTy(), "alive"),
                               ir_.CreateZExt(w, ir_.getInt64Ty()));
}

// ---- Registers -----------------------------------------------------------------------------------------------------

// Which of a warp's registers the region uses, writes, and leaves to those after it.
void Generator::find_registers(uint32_t r) {
  const machine::Region& region = p_.regions[r];
  for (std::vector<bool>* set : {&taken_, &written_, &left_}) set->assign(p_.registers.size(), false);
  const auto mark = [&](std::vector<bool>& set, uint32_t reg) {
    if (reg != kNone && p_.registers[reg].builtin == Builtin::none && !block_level(reg)) set[reg] = true;
  };
  for (uint32_t b : plans_[r].blocks)
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k) {
      const Instruction& i = p_.code[k];
      machine::each_read(p_, i, [&](uint32_t reg) { mark(taken_, reg); });
      machine::each_written(p_, i, [&](uint32_t reg) { mark(written_, reg); });
    }
  const auto out = [&](uint32_t b) {
    for (uint32_t reg : p_.blocks[b].live_in) left_[reg] = written_[reg];
  };
  const machine::BasicBlock& last = p_.blocks[region.chain.back()];
  if (!last.divergent && !last.divergent_branch)
    machine::successors(last, out);
  else if (region.after != kNone)
    out(region.after);
}

// Those that live on from before, and zeros for what is written under a mask first.
void Generator::take_registers(uint32_t r) {
  const std::vector<uint32_t>& live = p_.blocks[p_.regions[r].chain.front()].live_in;
  for (uint32_t reg = 0; reg < p_.registers.size(); ++reg) {
    if (!taken_[reg] && !written_[reg]) continue;
    if (!std::binary_search(live.begin(), live.end(), reg)) {
      set(reg, Constant::getNullValue(variable(reg)->getAllocatedType()));
      continue;
    }
    const Element e = p_.registers[reg].element;
    const machine::Home& home = code_.homes[reg];
    set(reg, load_slot(is_scalar(reg) ? home.scalar : home.vector, e, !is_scalar(reg)));
    if (!is_scalar(reg)) step_from_vector(reg, vector(machine::Value::of(reg), e));
  }
}

// What lives on, back to its slot: NaNs as they are, of which the loader makes what the interpreter expects.
void Generator::leave_registers() {
  for (uint32_t reg = 0; reg < p_.registers.size(); ++reg) {
    if (!left_[reg]) continue;
    const machine::Home& home = code_.homes[reg];
    if (lazy_[reg] && !is_scalar(reg))
      store_slot(home.vector, vector(machine::Value::of(reg), Element::b32, true));
    else
      spill(reg, is_scalar(reg) ? home.scalar : home.vector, !is_scalar(reg));
  }
}

// ---- Several warps at once -----------------------------------------------------------------------------------------
//
// A chain of operations that wait for one another, such as the sums of a matrix product, leaves the CPU idle; other
// warps' chains fill it, and what warps read alike is read once. So where all lanes of some neighbouring warps are on,
// each instruction is generated for all of these warps before the next, on variables of their own ("copies").

// How many; 0: one after the other. Nothing may depend on the order of warps: nothing is written, nothing can fault.
uint32_t Generator::together(uint32_t r) const {
  const RegionPlan& plan = plans_[r];
  if (plan.exits || !plan.scopes.empty()) return 0;
  for (uint32_t b : plan.blocks) {
    if (p_.blocks[b].divergent || p_.blocks[b].divergent_branch) return 0;
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k) {
      const Instruction& i = p_.code[k];
      if (i.kind == Kind::nothing || i.kind == Kind::branch || i.kind == Kind::barrier) continue;
      if (i.guard != kNone) return 0;
      if (i.kind != Kind::pure && !(i.kind == Kind::load && safe(p_.memory[i.memory]))) return 0;
    }
  }
  // What a warp keeps in vectors must leave room in the CPU's registers.
  unsigned bits = 0;
  for (uint32_t reg = 0; reg < p_.registers.size(); ++reg)
    if ((left_[reg] || taken_[reg]) && !is_scalar(reg) && !p_.registers[reg].block_local)
      bits += kLanes * type_of(p_.registers[reg].element)->getScalarSizeInBits();
  uint32_t n = kTogether;
  while (n > 1 && (n > warps() || n * bits > target_.vector_bits / 2)) n /= 2;
  return bits == 0 || n == 1 ? 0 : n;
}

// Before what is generated for one warp: where `n` from w_ on have all their lanes, they are done here.
void Generator::several(uint32_t r, uint32_t n, Value* all_on, BB* loop, BB* after) {
  BB *there = block("there"), *all = block("together"), *single = block("single");
  Type* masks = FixedVectorType::get(ir_.getInt32Ty(), n);
  Value *first = w_, *area = area_;
  Value* next = ir_.CreateAdd(first, ir_.getInt32(n));
  Value* enough = warps() % n == 0 ? ir_.getTrue() : ir_.CreateICmpULE(next, ir_.getInt32(warps()));
  BB* ask = block("ask");
  ir_.CreateCondBr(enough, there, single);
  ir_.SetInsertPoint(there);
  ir_.CreateCondBr(all_on, all, ask);
  ir_.SetInsertPoint(ask);
  Value* alive = ir_.CreateAlignedLoad(masks, alive_of(first), Align(4));
  Value* full = ir_.CreateAndReduce(ir_.CreateICmpEQ(alive, Constant::getAllOnesValue(masks)));
  ir_.CreateCondBr(full, all, single);

  ir_.SetInsertPoint(all);
  std::vector<std::pair<Value*, Value*>> copies;  // w_, area_
  for (uint32_t c = 0; c < n; ++c) {
    at_warp(ir_.CreateAdd(first, ir_.getInt32(c)));
    copies.push_back({w_, area_});
  }
  const auto each = [&](auto work) {
    for (copy_ = 0; copy_ < n; ++copy_) {
      std::tie(w_, area_) = copies[copy_];
      work();
    }
    copy_ = 0;
  };
  forget_parts();
  each([&] { take_registers(r); });
  for (uint32_t b : plans_[r].blocks) {
    Where where;
    where.block = b;
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k)
      if (!machine::hoistable(p_, p_.code[k])) each([&] { instruction(k, where); });
  }
  each([&] { leave_registers(); });
  ir_.CreateStore(next, warp_);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, ir_.getInt32(warps())), loop, after);
  ir_.SetInsertPoint(single);
  w_ = first;
  area_ = area;
}

// ---- Bodies --------------------------------------------------------------------------------------------------------

// A block of the region, for warps that are whole or for any lanes.
void Generator::body(uint32_t r, uint32_t b, bool full) {
  const machine::BasicBlock& block = p_.blocks[b];
  ir_.SetInsertPoint(full ? full_[b] : masked_[b]);
  seen_.clear();
  forget_parts();
  Where where;
  where.block = b;
  if (!full) {
    where.mask = ir_.CreateLoad(ir_.getInt32Ty(), mask_);
    where.lanes = lanes_on(where.mask);
    where.keeps = block.divergent;
  }
  if (!counted_by_region(r, b)) {
    if (full) {
      count(counter({{word_executions(b), 1}, {word_lanes(b), kLanes}}), 1);
    } else {
      count(counter({{word_executions(b), 1}}), 1);
      count(counter({{word_lanes(b), 1}}), count_lanes(where.mask));
    }
  }
  for (uint32_t k = block.first; k < block.last; ++k)
    if (block.divergent || !machine::hoistable(p_, p_.code[k])) instruction(k, where);
  end_of_block(r, b, where);
}

void Generator::instruction(uint32_t index, const Where& outer) {
  const Instruction& i = p_.code[index];
  switch (i.kind) {
    case Kind::nothing:
    case Kind::branch:
    case Kind::branch_table:
    case Kind::exit:
    case Kind::barrier:
    case Kind::warp_barrier:
      return;
    default:
      break;
  }
  Where where = outer;
  BB* after = nullptr;
  if (i.guard != kNone) {
    Value* p = mask_of(i.guard);
    if (i.guard_negated) p = ir_.CreateNot(p);
    where.mask = outer.mask ? ir_.CreateAnd(p, outer.mask) : p;
    where.keeps = where.guarded = true;
    after = block("guarded");
    BB* on = block("on");
    ir_.CreateCondBr(ir_.CreateIsNotNull(where.mask), on, after);
    ir_.SetInsertPoint(on);
    where.lanes = lanes_on(where.mask);
    if (i.counts && i.guard_tally != kNone) {
      count(counter({{word_guard_executions(i.guard_tally), 1}}), 1);
      count(counter({{word_guard_lanes(i.guard_tally), 1}}), count_lanes(where.mask));
    }
  }
  if (i.kind == Kind::pure) {
    step_result(i);
    pure(index, where);
  } else if (i.memory != kNone) {
    memory(index, where);
  } else if (!lanes_together(index, where)) {
    step(index, where);
  }
  if (after) {
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
  }
  // What was seen under a guard is not known behind it.
  if (after || (i.kind != Kind::pure && i.kind != Kind::load)) return seen_.clear();
  std::erase_if(seen_, [&](const auto& at) {
    const auto is = [&](const machine::Value& v) { return v.is_reg() && v.reg == at.first.first; };
    return std::ranges::count(i.results, at.first.first) != 0 ||
           (i.memory != kNone && std::ranges::any_of(p_.memory[i.memory].values, is));
  });
}

}  // namespace coalesce::native
