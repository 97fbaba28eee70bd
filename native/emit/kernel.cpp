#include "native/emit/kernel.h"

#include <algorithm>
#include <cstddef>

#include "machine/execute/warp.h"
#include "native/emit/region.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::kLanes;

namespace {

// The entry: region 0 of a new thread block, or a region of one that has begun.
void emit_entries(Emitter& e) {
  IRBuilder<>& ir = e.ir;
  ir.SetInsertPoint(e.at.constants);
  BasicBlock* dispatch = e.block("dispatch");
  ir.CreateBr(dispatch);
  ir.SetInsertPoint(dispatch);
  Value* region = ir.CreateLoad(ir.getInt64Ty(), e.frame_at(offsetof(Frame, region)));
  BasicBlock* never = e.block("never");
  SwitchInst* to = ir.CreateSwitch(region, never);
  ir.SetInsertPoint(never);
  ir.CreateUnreachable();
  to->addCase(ir.getInt64(0), e.at.begin);
  // Region 0 is entered again only as a loop's head; the number after the last region stands for that.
  for (uint32_t r = 0; r < e.facts.regions.size(); ++r) {
    if (!e.facts.regions[r].may_begin) continue;
    BasicBlock* at = e.block("enter");
    e.entries.push_back(at);
    to->addCase(ir.getInt64(r == 0 ? e.facts.regions.size() : r), at);
    ir.SetInsertPoint(at);
    for (uint32_t reg : e.p.blocks[e.p.regions[r].chain.front()].live_in)
      if (e.p.registers[reg].builtin == Builtin::none && e.is_block_level(reg))
        set_register(e, reg, load_slot(e, e.code.homes[reg].scalar, e.p.registers[reg].element, false));
    ir.CreateStore(ir.CreateLoad(ir.getInt64Ty(), e.frame_at(offsetof(Frame, alive_warps))), e.var.alive_warps);
    ir.CreateStore(ir.CreateLoad(ir.getInt64Ty(), e.frame_at(offsetof(Frame, alive_lanes))), e.var.alive_lanes);
    ir.CreateBr(e.heads[r]);
  }
}

// Shared memory begins with zeros, and its rows end with room for whole vectors. memset() is slower: for some KB it
// uses `rep stosb`, which took up to a quarter of a transpose's time.
void clear_shared(Emitter& e) {
  IRBuilder<>& ir = e.ir;
  constexpr uint64_t kVector = 64, kEach = 2 * kVector;
  BasicBlock *clear = e.block("clear"), *cleared = e.block("cleared");
  Type* i64 = ir.getInt64Ty();
  Value *bytes = e.field(offsetof(Frame, shared_bytes), i64, "shared_bytes"), *from = ir.getInt64(0);
  BasicBlock* before = ir.GetInsertBlock();
  ir.CreateCondBr(ir.CreateIsNotNull(bytes), clear, cleared);
  ir.SetInsertPoint(clear);
  PHINode* at = ir.CreatePHI(i64, 2);
  at->addIncoming(from, before);
  Value* zeros = Constant::getNullValue(FixedVectorType::get(i64, kVector / 8));
  for (uint64_t k = 0; k < kEach; k += kVector) {
    Value* to = ir.CreateConstGEP1_64(ir.getInt8Ty(), e.field(offsetof(Frame, shared), "shared"), k);
    ir.CreateAlignedStore(zeros, ir.CreateGEP(ir.getInt8Ty(), to, at), Align(kVector));
  }
  Value* next = ir.CreateAdd(at, ir.getInt64(kEach));
  at->addIncoming(next, clear);
  ir.CreateCondBr(ir.CreateICmpULT(next, bytes), clear, cleared);
  ir.SetInsertPoint(cleared);
}

void begin_thread_block(Emitter& e) {
  IRBuilder<>& ir = e.ir;
  const uint32_t threads = e.threads(), warps = e.warps();
  ir.SetInsertPoint(e.at.begin);
  ir.CreateStore(ir.CreateLoad(ir.getInt64Ty(), e.var.block), e.frame_at(offsetof(Frame, block)));
  Value* alive = e.field(offsetof(Frame, alive), "alive");
  for (uint32_t w = 0; w < warps; ++w) {
    const uint32_t left = threads - w * kLanes;
    ir.CreateStore(ir.getInt32(left >= kLanes ? ~0u : (1u << left) - 1),
                   ir.CreateConstInBoundsGEP1_64(ir.getInt32Ty(), alive, w));
  }
  ir.CreateStore(ir.getInt64(warps), e.var.alive_warps);
  ir.CreateStore(ir.getInt64(threads), e.var.alive_lanes);
  clear_shared(e);
  const bool zeros = std::ranges::any_of(e.p.blocks[0].live_in, [&](uint32_t reg) {
    return e.p.registers[reg].builtin == Builtin::none && !e.is_block_level(reg);
  });
  if (zeros || e.p.local_bytes) e.call(offsetof(Frame, start_block), ir.getVoidTy(), {});
  if (!e.facts.regions[0].plan.native) {
    BasicBlock* here = ir.GetInsertBlock();
    emit_stop(e, 0);
    ir.SetInsertPoint(here);
    ir.CreateBr(e.stops[0]);
  } else {
    // Registers read before they are written hold zeros.
    for (uint32_t reg : e.p.blocks[0].live_in)
      if (e.p.registers[reg].builtin == Builtin::none && e.is_block_level(reg))
        set_register(e, reg, Constant::getNullValue(variable(e, reg)->getAllocatedType()));
    ir.CreateBr(e.heads[0]);
  }
  ir.SetInsertPoint(e.at.next_block);
  Value* next = ir.CreateAdd(ir.CreateLoad(ir.getInt64Ty(), e.var.block), ir.getInt64(1));
  BasicBlock *more = e.block("more"), *done = e.block("done");
  Value* end = e.field(offsetof(Frame, end), ir.getInt64Ty(), "end");
  ir.CreateCondBr(ir.CreateICmpULT(next, end), more, done);
  ir.SetInsertPoint(more);
  ir.CreateStore(next, e.var.block);
  ir.CreateBr(e.at.begin);
  ir.SetInsertPoint(done);
  ir.CreateStore(ir.getInt32(kDone), e.var.outcome);
  ir.CreateBr(e.at.out);
}

void emit_prologue(Emitter& e) {
  IRBuilder<>& ir = e.ir;
  e.at.entry = e.block("entry");
  e.at.constants = e.block("constants");
  e.at.fault = e.block("fault");
  e.at.out = e.block("out");
  e.at.begin = e.block("begin");
  e.at.next_block = e.block("next_block");
  ir.SetInsertPoint(e.at.entry);
  Type *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty();
  e.var.outcome = ir.CreateAlloca(i32, nullptr, "outcome");
  e.var.block = ir.CreateAlloca(i64, nullptr, "block");
  e.var.alive_warps = ir.CreateAlloca(i64, nullptr, "alive_warps");
  e.var.alive_lanes = ir.CreateAlloca(i64, nullptr, "alive_lanes");
  e.var.mask = ir.CreateAlloca(i32, nullptr, "mask");
  e.var.warp = ir.CreateAlloca(i32, nullptr, "warp");
  e.var.fuel = ir.CreateAlloca(i64, nullptr, "fuel");
  for (AllocaInst*& c : e.var.ctaid) c = ir.CreateAlloca(i32, nullptr, "ctaid");
  e.var.smid = ir.CreateAlloca(i32, nullptr, "smid");
  ir.CreateStore(ir.getInt64(kFuel), e.var.fuel);
  ir.CreateStore(ir.CreateLoad(i64, e.frame_at(offsetof(Frame, block))), e.var.block);
  ir.CreateBr(e.at.constants);
  e.counters.begin(e.at.entry);
  for (uint32_t r = 0; r < e.facts.regions.size(); ++r) {
    e.heads.push_back(e.block(("region" + std::to_string(r)).c_str()));
    e.stops.push_back(nullptr);
  }
  emit_entries(e);
  begin_thread_block(e);
  ir.SetInsertPoint(e.at.fault);
  ir.CreateStore(ir.getInt32(kFaulted), e.var.outcome);
  ir.CreateBr(e.at.out);
}

// The block's coordinates, where a thread block begins or goes on.
void emit_coordinates(Emitter& e, BasicBlock* at) {
  IRBuilder<> ir(at, at->getFirstInsertionPt());
  Type *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty();
  const auto field = [&](std::size_t member) {
    return ir.CreateLoad(i64, ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), e.frame, member));
  };
  Value* number = ir.CreateLoad(i64, e.var.block);
  if (std::ranges::any_of(e.var.ctaid, [](AllocaInst* c) { return !c->use_empty(); })) {
    Value* x = field(offsetof(Frame, grid_x));
    Value* y = field(offsetof(Frame, grid_y));
    if (e.p.shape.grid_below[1] == 1 && e.p.shape.grid_below[2] == 1) {  // the others are constants
      ir.CreateStore(ir.CreateTrunc(number, i32), e.var.ctaid[0]);
    } else {
      Value* rows = ir.CreateUDiv(number, x);
      ir.CreateStore(ir.CreateTrunc(ir.CreateURem(number, x), i32), e.var.ctaid[0]);
      ir.CreateStore(ir.CreateTrunc(ir.CreateURem(rows, y), i32), e.var.ctaid[1]);
      ir.CreateStore(ir.CreateTrunc(ir.CreateUDiv(rows, y), i32), e.var.ctaid[2]);
    }
  }
  if (e.var.smid->use_empty()) return;
  Value* n = field(offsetof(Frame, multiprocessors));
  ir.CreateStore(ir.CreateTrunc(ir.CreateURem(number, n), i32), e.var.smid);
}

void emit_return(Emitter& e) {
  IRBuilder<>& ir = e.ir;
  ir.SetInsertPoint(e.at.out);
  Value* tally = e.field(offsetof(Frame, tally), "tally");
  ir.CreateStore(e.counters.flush(tally), e.frame_at(offsetof(Frame, instructions)));
  ir.CreateStore(ir.CreateLoad(ir.getInt64Ty(), e.var.block), e.frame_at(offsetof(Frame, block)));
  Value* outcome = ir.CreateLoad(ir.getInt32Ty(), e.var.outcome);
  ir.CreateRet(outcome);
  IRBuilder<> start(e.at.entry->getTerminator());
  start.CreateStore(start.getInt32(kStopped), e.var.outcome);
  emit_coordinates(e, e.at.begin);
  for (BasicBlock* at : e.entries) emit_coordinates(e, at);
}

}  // namespace

void emit_kernel(Emitter& e) {
  emit_prologue(e);
  for (uint32_t r = 0; r < e.facts.regions.size(); ++r) {
    if (e.facts.regions[r].plan.native)
      emit_region(e, r);
    else
      emit_stop(e, r);
  }
  emit_return(e);
}

std::vector<uint32_t> loader_words(const Emitter& e) {
  std::vector<uint32_t> w{static_cast<uint32_t>(e.facts.regions.size())};
  for (uint32_t r = 0; r < e.facts.regions.size(); ++r) {
    const RegionPlan& plan = e.facts.regions[r].plan;
    const bool begins = e.facts.regions[r].may_begin || (r == 0 && plan.native);
    w.push_back(begins ? 1u : 0u);
    w.push_back(plan.exits ? 1u : 0u);
    w.push_back(static_cast<uint32_t>(plan.native ? plan.blocks.size() : 0));
    if (plan.native)
      for (uint32_t b : plan.blocks) w.push_back(b), w.push_back(plan.position.at(b));
  }
  for (const std::vector<uint32_t>* list : {&e.tables.row_calls, &e.tables.interpreter_calls}) {
    w.push_back(static_cast<uint32_t>(list->size()));
    w.insert(w.end(), list->begin(), list->end());
  }
  w.push_back(static_cast<uint32_t>(e.tables.remembered.size()));
  w.insert(w.end(), e.tables.remembered.begin(), e.tables.remembered.end());
  w.push_back(static_cast<uint32_t>(e.tables.memos.size()) * e.facts.memo_ways);
  for (uint32_t r = 0; r < e.p.registers.size(); ++r)
    if (e.facts.any_nan[r] && !e.is_scalar(r)) w.push_back(r);
  return w;
}

}  // namespace coalesce::native
