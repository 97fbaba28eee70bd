#include "native/emit/warps_at_once.h"

#include <tuple>

#include "native/emit/registers.h"
#include "native/emit/warp_loop.h"

namespace coalesce::native {

using namespace llvm;

void emit_warps_at_once(Emitter& e, uint32_t r, uint32_t n, Value* all_on, BasicBlock* loop, BasicBlock* after) {
  IRBuilder<>& ir = e.ir;
  BasicBlock *there = e.block("there"), *all = e.block("at_once"), *single = e.block("single");
  Type* masks = FixedVectorType::get(ir.getInt32Ty(), n);
  Value *first = e.warp.index, *area = e.warp.area;
  Value* next = ir.CreateAdd(first, ir.getInt32(n));
  Value* enough = e.warps() % n == 0 ? ir.getTrue() : ir.CreateICmpULE(next, ir.getInt32(e.warps()));
  BasicBlock* ask = e.block("ask");
  ir.CreateCondBr(enough, there, single);
  ir.SetInsertPoint(there);
  ir.CreateCondBr(all_on, all, ask);
  ir.SetInsertPoint(ask);
  Value* alive = ir.CreateAlignedLoad(masks, alive_mask(e, first), Align(4));
  Value* full = ir.CreateAndReduce(ir.CreateICmpEQ(alive, Constant::getAllOnesValue(masks)));
  ir.CreateCondBr(full, all, single);

  ir.SetInsertPoint(all);
  std::vector<std::pair<Value*, Value*>> copies;  // index, area
  for (uint32_t c = 0; c < n; ++c) {
    select_warp(e, ir.CreateAdd(first, ir.getInt32(c)));
    copies.push_back({e.warp.index, e.warp.area});
  }
  const auto each = [&](auto work) {
    for (e.warp.copy = 0; e.warp.copy < n; ++e.warp.copy) {
      std::tie(e.warp.index, e.warp.area) = copies[e.warp.copy];
      work();
    }
    e.warp.copy = 0;
  };
  each([&] { load_registers(e, r); });
  for (uint32_t b : e.facts.regions[r].plan.blocks) {
    Active active;
    active.block = b;
    for (uint32_t k = e.p.blocks[b].first; k < e.p.blocks[b].last; ++k)
      if (!machine::hoistable(e.p, e.p.code[k])) each([&] { emit_instruction(e, k, active); });
  }
  each([&] { store_registers(e, r); });
  ir.CreateStore(next, e.var.warp);
  ir.CreateCondBr(ir.CreateICmpULT(next, ir.getInt32(e.warps())), loop, after);
  ir.SetInsertPoint(single);
  e.warp.index = first;
  e.warp.area = area;
}

}  // namespace coalesce::native
