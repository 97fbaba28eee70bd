// Atomics on shared memory. Nobody but this thread sees the block's, so that they need not be atomic: lane after lane,
// in order, a number is read, changed and written. What they cost is counted later, for many at once (Uncounted).
#include <cstddef>

#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::AddressSpace;
using machine::AtomicOp;
using machine::Kind;
using machine::kLanes;

// Of 32-bit integers, by an operation that is one of the CPU's: no other has code of its own.
bool Generator::simple_atomic(const Instruction& i) const {
  if (i.kind != Kind::atomic) return false;
  const MemoryOp& m = p_.memory[i.memory];
  const bool simple = m.op == AtomicOp::add || m.op == AtomicOp::min || m.op == AtomicOp::max ||
                      m.op == AtomicOp::and_ || m.op == AtomicOp::or_ || m.op == AtomicOp::xor_ ||
                      m.op == AtomicOp::exch;
  return m.space == AddressSpace::shared && m.width == 4 && m.count == 1 && m.number <= machine::Number::signed_ &&
         simple && m.site != kNone && (!m.values[0].is_reg() || p_.registers[m.values[0].reg].element == Element::b32);
}

bool Generator::shared_atomic(uint32_t index, const Where& where) {
  if (!simple_atomic(p_.code[index])) return false;
  const MemoryOp& m = p_.memory[p_.code[index].memory];
  const Element e = m.address.is_reg() ? p_.registers[m.address.reg].element : Element::b64;
  Type* i32 = ir_.getInt32Ty();
  Value* address = ir_.CreateZExtOrTrunc(vector(m.address, e), wide(i32));
  address = ir_.CreateAdd(address, spread(ir_.getInt32(static_cast<uint32_t>(m.offset)), 0));
  BB *slow = nullptr, *done = nullptr;
  if (!in_bounds(m)) {
    Value* outside = bits_of(ir_.CreateICmpUGE(in_units(address, 4), spread(shared_limit(0, 4), 0)));
    slow = split(ir_.CreateIsNull(ir_.CreateAnd(outside, mask_value(where))), "slow", true);
    done = block("accessed");
  }
  Value* scratch = field(offsetof(Frame, scratch), ir_.getPtrTy(), "scratch");
  const auto at = [&](uint32_t k) { return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), scratch, 512 * k); };
  // What was there before lies in the scratch, without code of its own addresses and operands, too.
  if (!where.mask && !m.counts_lanes) {
    whole_atomic(m, address, at(2));
  } else {
    ir_.CreateAlignedStore(address, at(0), Align(64));
    ir_.CreateAlignedStore(vector(m.values[0], Element::b32), at(1), Align(64));
    call(offsetof(Frame, shared_atomic), ir_.getVoidTy(), {ir_.getInt32(p_.code[index].memory), mask_value(where)});
  }
  if (m.result != kNone) {
    Where to = where;
    to.keeps = true;
    write(m.result, ir_.CreateAlignedLoad(wide(i32), at(2), Align(64)), to);
  }
  if (slow) {
    ir_.CreateBr(done);
    ir_.SetInsertPoint(slow);
    step(index, where);
    ir_.CreateBr(done);
    ir_.SetInsertPoint(done);
  }
  return true;
}

// Where all lanes are on. Words' numbers come from the vector's registers two at a time: what a vector has just stored
// is slow to load by words (a histogram of 2^24 numbers in plain C++ on a Zen 4: 9.9 ms, 6.9 by registers).
void Generator::whole_atomic(const MemoryOp& m, Value* address, Value* results) {
  Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty(), *i8 = ir_.getInt8Ty();
  Value* uncounted = field(offsetof(Frame, uncounted), ir_.getPtrTy(), "uncounted");
  const auto member = [&](std::size_t offset) { return ir_.CreateConstInBoundsGEP1_64(i8, uncounted, offset); };
  Value *n_at = member(offsetof(Uncounted, n)), *n = ir_.CreateLoad(i64, n_at), *words = ir_.CreateLShr(address, 2);
  Value* list = ir_.CreateInBoundsGEP(i8, member(offsetof(Uncounted, word)),
                                      ir_.CreateMul(n, ir_.getInt64(sizeof(uint32_t) * kLanes)));
  ir_.CreateAlignedStore(words, list, Align(64));
  ir_.CreateStore(ir_.getInt32(m.site), ir_.CreateInBoundsGEP(i32, member(offsetof(Uncounted, site)), n));
  Value* more = ir_.CreateAdd(n, ir_.getInt64(1));
  ir_.CreateStore(more, n_at);
  if (p_.sites[m.site].dynamic_requests) count(site_counter(m.site, 0), 1);

  const auto updated = [&](Value* old, Value* operand) -> Value* {
    const bool is_signed = m.number == machine::Number::signed_;
    switch (m.op) {
      case AtomicOp::add:
        return ir_.CreateAdd(old, operand);
      case AtomicOp::min:
        return ir_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, old, operand);
      case AtomicOp::max:
        return ir_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, old, operand);
      case AtomicOp::and_:
        return ir_.CreateAnd(old, operand);
      case AtomicOp::or_:
        return ir_.CreateOr(old, operand);
      case AtomicOp::xor_:
        return ir_.CreateXor(old, operand);
      default:  // exch
        return operand;
    }
  };
  const machine::Value& v = m.values[0];
  const bool same = !v.is_reg() || (is_scalar(v.reg) && p_.registers[v.reg].lanes <= LaneClass::warp_uniform);
  Value* operand =
      same ? ir_.CreateZExtOrTrunc(scalar(v, v.is_reg() ? Element::b32 : Element::b64), i32) : vector(v, Element::b32);
  Value* shared = field(offsetof(Frame, shared), ir_.getPtrTy(), "shared");
  VectorType* pairs = FixedVectorType::get(i64, kLanes / 2);
  // Lane k's, of a vector in pairs.
  const auto of_lane = [&](Value* all, uint32_t k) {
    Value* pair = ir_.CreateExtractElement(all, uint64_t{k / 2});
    return k % 2 ? ir_.CreateLShr(pair, 32) : ir_.CreateAnd(pair, ir_.getInt64(0xffffffffu));
  };
  Value *places = ir_.CreateBitCast(words, pairs), *operands = same ? nullptr : ir_.CreateBitCast(operand, pairs);
  for (uint32_t k = 0; k < kLanes; ++k) {
    Value* place = ir_.CreateGEP(i32, shared, of_lane(places, k));
    Value* old = ir_.CreateLoad(i32, place);
    if (m.result != kNone) ir_.CreateStore(old, ir_.CreateConstInBoundsGEP1_64(i32, results, k));
    ir_.CreateStore(updated(old, same ? operand : ir_.CreateTrunc(of_lane(operands, k), i32)), place);
  }
  BB *full = block("full"), *counted = block("counted");
  ir_.CreateCondBr(ir_.CreateICmpULT(more, ir_.getInt64(Uncounted::kMost)), counted, full, mostly(Uncounted::kMost));
  ir_.SetInsertPoint(full);
  call(offsetof(Frame, count_atomics), ir_.getVoidTy(), {});
  ir_.CreateBr(counted);
  ir_.SetInsertPoint(counted);
}

}  // namespace coalesce::native
