#include "native/emit/atomics.h"

#include <cstddef>

#include "native/analyse/shared_access.h"
#include "native/emit/interpreter.h"
#include "native/emit/registers.h"
#include "native/emit/shared.h"

namespace coalesce::native {

using namespace llvm;
using machine::AtomicOp;
using machine::kLanes;

namespace {

// An atomic by a full warp. A vector store followed by loads of its words is slow, so words' numbers are taken from the
// vector's registers, two at a time (a histogram of 2^24 numbers in plain C++ on a Zen 4: 9.9 ms by memory, 6.9 by
// registers).
void full_warp_atomic(Emitter& e, const MemoryOp& m, Value* address, Value* results) {
  IRBuilder<>& ir = e.ir;
  Type *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty(), *i8 = ir.getInt8Ty();
  Value* pending_atomics = e.field(offsetof(Frame, pending_atomics), "pending_atomics");
  const auto member = [&](std::size_t offset) { return ir.CreateConstInBoundsGEP1_64(i8, pending_atomics, offset); };
  Value *n_at = member(offsetof(PendingAtomics, n)), *n = ir.CreateLoad(i64, n_at), *words = ir.CreateLShr(address, 2);
  Value* list = ir.CreateInBoundsGEP(i8, member(offsetof(PendingAtomics, word)),
                                     ir.CreateMul(n, ir.getInt64(sizeof(uint32_t) * kLanes)));
  ir.CreateAlignedStore(words, list, Align(64));
  ir.CreateStore(ir.getInt32(m.site), ir.CreateInBoundsGEP(i32, member(offsetof(PendingAtomics, site)), n));
  Value* more = ir.CreateAdd(n, ir.getInt64(1));
  ir.CreateStore(more, n_at);
  if (e.p.sites[m.site].dynamic_requests) e.counters.add_site(m.site, SiteWord::requests, 1);

  const auto updated = [&](Value* old, Value* operand) -> Value* {
    const bool is_signed = m.number == machine::Number::signed_;
    switch (m.op) {
      case AtomicOp::add:
        return ir.CreateAdd(old, operand);
      case AtomicOp::min:
        return ir.CreateBinaryIntrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, old, operand);
      case AtomicOp::max:
        return ir.CreateBinaryIntrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, old, operand);
      case AtomicOp::and_:
        return ir.CreateAnd(old, operand);
      case AtomicOp::or_:
        return ir.CreateOr(old, operand);
      case AtomicOp::xor_:
        return ir.CreateXor(old, operand);
      default:  // exch
        return operand;
    }
  };
  const machine::Value& v = m.values[0];
  const bool same = !v.is_reg() || (e.is_scalar(v.reg) && e.p.registers[v.reg].lanes <= LaneClass::warp_uniform);
  Value* operand = same ? ir.CreateZExtOrTrunc(scalar_of(e, v, v.is_reg() ? Element::b32 : Element::b64), i32)
                        : vector_of(e, v, Element::b32);
  Value* shared = e.field(offsetof(Frame, shared), "shared");
  VectorType* pairs = FixedVectorType::get(i64, kLanes / 2);
  // Lane k's, of a vector in pairs.
  const auto of_lane = [&](Value* all, uint32_t k) {
    Value* pair = ir.CreateExtractElement(all, uint64_t{k / 2});
    return k % 2 ? ir.CreateLShr(pair, 32) : ir.CreateAnd(pair, ir.getInt64(0xffffffffu));
  };
  Value *places = ir.CreateBitCast(words, pairs), *operands = same ? nullptr : ir.CreateBitCast(operand, pairs);
  for (uint32_t k = 0; k < kLanes; ++k) {
    Value* place = ir.CreateGEP(i32, shared, of_lane(places, k));
    Value* old = ir.CreateLoad(i32, place);
    if (m.result != kNone) ir.CreateStore(old, ir.CreateConstInBoundsGEP1_64(i32, results, k));
    ir.CreateStore(updated(old, same ? operand : ir.CreateTrunc(of_lane(operands, k), i32)), place);
  }
  BasicBlock *full = e.block("full"), *counted = e.block("counted");
  ir.CreateCondBr(ir.CreateICmpULT(more, ir.getInt64(PendingAtomics::kMost)), counted, full,
                  e.likely(PendingAtomics::kMost));
  ir.SetInsertPoint(full);
  e.call(offsetof(Frame, count_atomics), ir.getVoidTy(), {});
  ir.CreateBr(counted);
  ir.SetInsertPoint(counted);
}

}  // namespace

bool emit_shared_atomic(Emitter& e, uint32_t index, const Active& active) {
  IRBuilder<>& ir = e.ir;
  if (!is_simple_atomic(e.p, e.p.code[index])) return false;
  const MemoryOp& m = e.p.memory[e.p.code[index].memory];
  const Element element = m.address.is_reg() ? e.p.registers[m.address.reg].element : Element::b64;
  Type* i32 = ir.getInt32Ty();
  Value* address = ir.CreateZExtOrTrunc(vector_of(e, m.address, element), e.wide(i32));
  address = ir.CreateAdd(address, e.spread(ir.getInt32(static_cast<uint32_t>(m.offset)), 0));
  BasicBlock *slow = nullptr, *done = nullptr;
  if (!in_bounds(e.p, m)) {
    Value* outside = e.bits_of(ir.CreateICmpUGE(in_units(e, address, 4), e.spread(shared_limit(e, 0, 4), 0)));
    slow = e.split(ir.CreateIsNull(ir.CreateAnd(outside, e.mask_of(active))), "slow", true);
    done = e.block("accessed");
  }
  Value* scratch = e.field(offsetof(Frame, scratch), "scratch");
  const auto at = [&](uint32_t k) { return e.offset(scratch, 512 * k); };
  // The old value is in the scratch area, also without code of its own for addresses and operands.
  if (!active.mask && !m.counts_lanes) {
    full_warp_atomic(e, m, address, at(2));
  } else {
    ir.CreateAlignedStore(address, at(0), Align(64));
    ir.CreateAlignedStore(vector_of(e, m.values[0], Element::b32), at(1), Align(64));
    e.call(offsetof(Frame, shared_atomic), ir.getVoidTy(), {ir.getInt32(e.p.code[index].memory), e.mask_of(active)});
  }
  if (m.result != kNone) write(e, m.result, ir.CreateAlignedLoad(e.wide(i32), at(2), Align(64)), active);
  if (slow) {
    ir.CreateBr(done);
    ir.SetInsertPoint(slow);
    call_interpreter(e, index, active);
    ir.CreateBr(done);
    ir.SetInsertPoint(done);
  }
  return true;
}

}  // namespace coalesce::native
