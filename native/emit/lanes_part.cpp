// Where lanes go: how they part at branches, wait for one another and meet (plan.h).
#include <algorithm>
#include <cstddef>

#include "machine/execute/warp.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::Kind;
using machine::kLanes;

void Generator::end_of_block(uint32_t r, uint32_t b, const Where& where) {
  const machine::BasicBlock& block = p_.blocks[b];
  const machine::Region& region = p_.regions[r];
  const Instruction& last = p_.code[block.last - 1];
  if (!block.divergent && !block.divergent_branch) {
    if (b == region.chain.back()) {
      ir_.CreateBr(warp_end_);
      return;
    }
    return go(r, b, block.next, where);
  }
  if (last.kind == Kind::exit) {
    Value* at = ir_.CreateInBoundsGEP(ir_.getInt32Ty(), field(offsetof(Frame, alive), ir_.getPtrTy(), "alive"),
                                      ir_.CreateZExt(w_, ir_.getInt64Ty()));
    Value* alive = ir_.CreateLoad(ir_.getInt32Ty(), at);
    Value* left = where.mask ? ir_.CreateAnd(alive, ir_.CreateNot(where.mask)) : ir_.getInt32(0);
    ir_.CreateStore(left, at);
    count(alive_lanes_, ir_.CreateNeg(count_lanes(mask_value(where))));
    count(alive_warps_, ir_.CreateSExt(ir_.CreateIsNull(left), ir_.getInt64Ty()));
    const uint32_t s = plans_[r].scope_of[b];
    ir_.CreateStore(ir_.getInt32(0), mask_);
    ir_.CreateBr(s == kNone ? warp_next_ : arrive_[s]);
    return;
  }
  if (block.taken == kNone) return go(r, b, block.next, where);
  branch(r, b, where);
}

// All lanes of `where` go on at `to`.
void Generator::go(uint32_t r, uint32_t from, uint32_t to, const Where& where) {
  const RegionPlan& plan = plans_[r];
  const uint32_t s = plan.scope_of[from];
  if (s != kNone && plan.scopes[s].at == to) {
    ir_.CreateStore(mask_value(where), mask_);
    ir_.CreateBr(arrive_[s]);
    return;
  }
  if (!full_[to]) {  // the region's end
    ir_.CreateBr(warp_end_);
    return;
  }
  if (where.mask) {
    ir_.CreateStore(where.mask, mask_);
    ir_.CreateBr(masked_[to]);
  } else {
    ir_.CreateBr(full_[to]);
  }
}

// Lanes of `mask`, at least one, begin at `b`.
void Generator::enter(uint32_t b, Value* mask) {
  if (!full_[b]) {
    ir_.CreateBr(warp_end_);
    return;
  }
  ir_.CreateStore(mask, mask_);
  ir_.CreateCondBr(ir_.CreateICmpEQ(mask, ir_.getInt32(~0u)), full_[b], masked_[b]);
}

void Generator::branch(uint32_t r, uint32_t b, const Where& where) {
  const machine::BasicBlock& block = p_.blocks[b];
  const RegionPlan& plan = plans_[r];
  const Instruction& last = p_.code[block.last - 1];
  Value* taken = mask_of(last.guard);
  if (last.guard_negated) taken = ir_.CreateNot(taken);
  if (where.mask) taken = ir_.CreateAnd(taken, where.mask);
  Value* rest = ir_.CreateXor(taken, mask_value(where));
  if (block.divergent && (block.taken <= b || block.next <= b)) tick(b, where);
  uint32_t s = 0;
  while (plan.scopes[s].at != block.reconverge) ++s;
  const bool taken_waits = block.taken == block.reconverge, next_waits = block.next == block.reconverge;
  BB *all_taken = this->block("all_taken"), *not_all = this->block("not_all"), *all_next = this->block("all_next"),
     *part = this->block("part");
  // A loop over few warps or many: either way is likely.
  ir_.CreateCondBr(ir_.CreateIsNull(rest), all_taken, not_all);
  const auto together = [&](BB* at, uint32_t to) {
    ir_.SetInsertPoint(at);
    if (visits_.ordered && b == visits_.head && to == block.reconverge && !where.mask) {
      BB* another = this->block("another");
      ir_.CreateCondBr(visits_.ordered, visits_.done, another);
      ir_.SetInsertPoint(another);
    }
    go(r, b, to, where);
  };
  together(all_taken, block.taken);
  ir_.SetInsertPoint(not_all);
  ir_.CreateCondBr(ir_.CreateIsNull(taken), all_next, part);
  together(all_next, block.next);

  ir_.SetInsertPoint(part);
  count(counter({{word_divergent(b), 1}}), 1);
  const auto wait = [&](Value* m) {
    ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(ir_.getInt32Ty(), arrived_[s]), m), arrived_[s]);
  };
  Value* now = rest;
  uint32_t to = block.next;
  if (next_waits) {
    wait(rest);
    now = taken;
    to = block.taken;
  } else if (taken_waits) {
    wait(taken);
  } else {
    ir_.CreateStore(taken, pending_[b]);
  }
  ir_.CreateStore(now, mask_);
  ir_.CreateBr(masked_[to]);
}

// A loop within a region: now and then its instructions are charged for, so that it cannot run for ever.
void Generator::tick(uint32_t b, const Where& where) {
  Value* left = ir_.CreateSub(ir_.CreateLoad(ir_.getInt64Ty(), fuel_), ir_.getInt64(1));
  ir_.CreateStore(left, fuel_);
  BB* empty = split(ir_.CreateIsNotNull(left), "empty", true);
  BB* on = ir_.GetInsertBlock();
  ir_.SetInsertPoint(empty);
  ir_.CreateStore(ir_.getInt64(kFuel), fuel_);
  check(call(offsetof(Frame, tick), ir_.getInt32Ty(),
             {w_, mask_value(where), ir_.getInt32(b), ir_.getInt64(kFuel * p_.blocks[b].instructions)}));
  BB* onward = block("onward");
  ir_.CreateBr(onward);
  ir_.SetInsertPoint(on);
  ir_.CreateBr(onward);
  ir_.SetInsertPoint(onward);
}

// Lanes of mask_ have come to where the scope's lanes meet (none: they have exited). Those that wait run first.
void Generator::arrival(uint32_t r, uint32_t index) {
  const Scope& s = plans_[r].scopes[index];
  Type* i32 = ir_.getInt32Ty();
  ir_.SetInsertPoint(arrive_[index]);
  Value* here = ir_.CreateOr(ir_.CreateLoad(i32, arrived_[index]), ir_.CreateLoad(i32, mask_));
  for (uint32_t b : s.two_sided) {
    Value* waiting = ir_.CreateLoad(i32, pending_[b]);
    BB *side = block("side"), *none = block("none");
    ir_.CreateCondBr(ir_.CreateIsNull(waiting), none, side);
    ir_.SetInsertPoint(side);
    ir_.CreateStore(here, arrived_[index]);
    ir_.CreateStore(ir_.getInt32(0), pending_[b]);
    ir_.CreateStore(waiting, mask_);
    ir_.CreateBr(masked_[p_.blocks[b].taken]);
    ir_.SetInsertPoint(none);
  }
  ir_.CreateStore(ir_.getInt32(0), arrived_[index]);
  if (plans_[r].exits) {
    BB *some = block("some"), *gone = block("gone");
    ir_.CreateCondBr(ir_.CreateIsNotNull(here), some, gone);
    ir_.SetInsertPoint(gone);
    ir_.CreateStore(ir_.getInt32(0), mask_);
    ir_.CreateBr(s.parent == kNone ? warp_next_ : arrive_[s.parent]);
    ir_.SetInsertPoint(some);
  }
  if (s.at == kNone) {
    ir_.CreateUnreachable();
    return;
  }
  // It may be where the scope around it meets, too.
  if (s.parent != kNone && plans_[r].scopes[s.parent].at == s.at) {
    ir_.CreateStore(here, mask_);
    ir_.CreateBr(arrive_[s.parent]);
    return;
  }
  enter(s.at, here);
}

}  // namespace coalesce::native
