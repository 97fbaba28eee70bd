// A kernel as native code.
//
// Why it is fast, in the order of what it gains: all warps of a thread block run a region (program.h) in one loop, so
// that control that is the same for the block, and values that are, are computed once for all warps. A register's lane
// class decides what it is: block-uniform and warp-uniform ones are scalars, affine ones a scalar and a known step, so
// that most addresses are never vectors. Ranges known from the block's dimensions leave out checks. What one execution
// of a block adds to the counters is added once for all warps. Every block stands twice: for warps with all lanes on,
// without any masks, and for the others.
//
// Registers are variables (LLVM's alloca, which it turns into values and registers). Those of the block live in them
// from region to region. Those of a warp are read from the warp's slots when its turn comes in a region and written
// there at the region's end: the interpreter's own slots, so at the beginning of a region either can take over.
//
// What has no native form is a call of the interpreter's handler on those slots (step()). Where an access fails its
// cheap checks it goes the same way: the handler faults, or does what is unusual. Nothing is thrown through generated
// code: helpers return a status, and what was thrown waits in the runner (runner.cpp).
#include "native/emit/generator.h"

#include <algorithm>
#include <cstddef>

#include "machine/execute/warp.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::Kind;
using machine::kLanes;

Generator::Generator(const machine::Code& code, Module& module, const TargetTraits& target)
    : code_(code),
      p_(*code.program),
      module_(module),
      context_(module.getContext()),
      ir_(context_),
      target_(target),
      blocks_(static_cast<uint32_t>(p_.blocks.size())) {}

bool Generator::run() {
  plans_ = plan(p_);
  if (plans_.empty()) return false;
  for (const auto& a : code_.accesses) access_of_.emplace(a->instruction, a.get());
  for (const auto& o : code_.lane_ops) lane_op_of_.emplace(o->index, o.get());
  variables_.assign(kTogether, std::vector<AllocaInst*>(p_.registers.size()));
  unset_.assign(p_.registers.size(), false);
  for (uint32_t r : p_.blocks[0].live_in) unset_[r] = p_.registers[r].builtin == Builtin::none;
  find_definitions();
  find_lazy();
  find_meetings();
  find_steps();
  find_lines();
  find_entered();
  find_memo_ways();
  pending_.resize(blocks_);
  prologue();
  for (uint32_t r = 0; r < plans_.size(); ++r) {
    if (!plans_[r].native) {
      stop(r);
      continue;
    }
    region(r);
  }
  finish();
  return true;
}

void Generator::prologue() {
  FunctionType* type = FunctionType::get(ir_.getInt32Ty(), {ir_.getPtrTy()}, false);
  function_ = Function::Create(type, Function::ExternalLinkage, "kernel", module_);
  frame_ = function_->getArg(0);
  frame_->setName("frame");
  function_->getArg(0)->addAttr(Attribute::NoAlias);
  function_->addFnAttr(Attribute::NoUnwind);
  entry_ = block("entry");
  constants_ = block("constants");
  fault_ = block("fault");
  out_ = block("out");
  begin_ = block("begin");
  next_block_ = block("next_block");
  ir_.SetInsertPoint(entry_);
  Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
  outcome_ = ir_.CreateAlloca(i32, nullptr, "outcome");
  block_ = ir_.CreateAlloca(i64, nullptr, "block");
  alive_warps_ = ir_.CreateAlloca(i64, nullptr, "alive_warps");
  alive_lanes_ = ir_.CreateAlloca(i64, nullptr, "alive_lanes");
  mask_ = ir_.CreateAlloca(i32, nullptr, "mask");
  warp_ = ir_.CreateAlloca(i32, nullptr, "warp");
  fuel_ = ir_.CreateAlloca(i64, nullptr, "fuel");
  for (AllocaInst*& c : ctaid_) c = ir_.CreateAlloca(i32, nullptr, "ctaid");
  smid_ = ir_.CreateAlloca(i32, nullptr, "smid");
  ir_.CreateStore(ir_.getInt64(kFuel), fuel_);
  ir_.CreateStore(ir_.CreateLoad(i64, frame_at(offsetof(Frame, block))), block_);
  ir_.CreateBr(constants_);
  for (uint32_t r = 0; r < plans_.size(); ++r) {
    heads_.push_back(block(("region" + std::to_string(r)).c_str()));
    stops_.push_back(nullptr);
  }
  entries();
  begin_block();
  ir_.SetInsertPoint(fault_);
  ir_.CreateStore(ir_.getInt32(kFaulted), outcome_);
  ir_.CreateBr(out_);
}

// Regions at which code may begin: after those that the interpreter runs, and where loops are stopped to be charged.
void Generator::find_entered() {
  entered_.assign(plans_.size(), false);
  for (uint32_t r = 0; r < plans_.size(); ++r) {
    const machine::Region& region = p_.regions[r];
    const machine::BasicBlock& last = p_.blocks[region.chain.back()];
    std::vector<uint32_t> next = last.table;
    if (last.divergent || last.divergent_branch)
      next = {region.after};
    else
      next.insert(next.end(), {last.next, last.taken});
    for (uint32_t b : next) {
      if (b == kNone || p_.region_of[b] == kNone) continue;
      const uint32_t to = p_.region_of[b];
      if (!plans_[r].native || p_.regions[to].chain.front() <= region.chain.front()) entered_[to] = plans_[to].native;
    }
  }
}

// Where to begin: region 0 of a new block, or a region of one that has begun.
void Generator::entries() {
  ir_.SetInsertPoint(constants_);
  BB* dispatch = block("dispatch");
  ir_.CreateBr(dispatch);
  ir_.SetInsertPoint(dispatch);
  Value* region = ir_.CreateLoad(ir_.getInt64Ty(), frame_at(offsetof(Frame, region)));
  BB* never = block("never");
  SwitchInst* to = ir_.CreateSwitch(region, never);
  ir_.SetInsertPoint(never);
  ir_.CreateUnreachable();
  to->addCase(ir_.getInt64(0), begin_);
  // Region 0 can be come back to within a block only as a loop's head; the number after the last stands for that.
  for (uint32_t r = 0; r < plans_.size(); ++r) {
    if (!entered_[r]) continue;
    BB* at = block("enter");
    to->addCase(ir_.getInt64(r == 0 ? plans_.size() : r), at);
    ir_.SetInsertPoint(at);
    for (uint32_t reg : p_.blocks[p_.regions[r].chain.front()].live_in)
      if (p_.registers[reg].builtin == Builtin::none && block_level(reg))
        set(reg, load_slot(code_.homes[reg].scalar, p_.registers[reg].element, false));
    ir_.CreateStore(ir_.CreateLoad(ir_.getInt64Ty(), frame_at(offsetof(Frame, alive_warps))), alive_warps_);
    ir_.CreateStore(ir_.CreateLoad(ir_.getInt64Ty(), frame_at(offsetof(Frame, alive_lanes))), alive_lanes_);
    ir_.CreateStore(ir_.CreateLoad(ir_.getInt64Ty(), frame_at(offsetof(Frame, block))), block_);
    ir_.CreateBr(heads_[r]);
  }
}

// Shared memory begins with zeros, and its rows end with room for whole vectors. A call of memset() is slower: for
// some KB it uses `rep stosb`, which took up to a quarter of a transpose's time.
void Generator::clear_shared() {
  constexpr uint64_t kVector = 64, kEach = 2 * kVector;
  BB *clear = block("clear"), *cleared = block("cleared");
  Type* i64 = ir_.getInt64Ty();
  Value *bytes = field(offsetof(Frame, shared_bytes), i64, "shared_bytes"), *from = ir_.getInt64(0);
  BB* before = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateIsNotNull(bytes), clear, cleared);
  ir_.SetInsertPoint(clear);
  PHINode* at = ir_.CreatePHI(i64, 2);
  at->addIncoming(from, before);
  Value* zeros = Constant::getNullValue(FixedVectorType::get(i64, kVector / 8));
  for (uint64_t k = 0; k < kEach; k += kVector) {
    Value* to = ir_.CreateConstGEP1_64(ir_.getInt8Ty(), field(offsetof(Frame, shared), ir_.getPtrTy(), "shared"), k);
    ir_.CreateAlignedStore(zeros, ir_.CreateGEP(ir_.getInt8Ty(), to, at), Align(kVector));
  }
  Value* next = ir_.CreateAdd(at, ir_.getInt64(kEach));
  at->addIncoming(next, clear);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, bytes), clear, cleared);
  ir_.SetInsertPoint(cleared);
}

void Generator::begin_block() {
  const uint32_t threads = this->threads(), warps = this->warps();
  ir_.SetInsertPoint(begin_);
  ir_.CreateStore(ir_.CreateLoad(ir_.getInt64Ty(), block_), frame_at(offsetof(Frame, block)));
  Value* alive = field(offsetof(Frame, alive), ir_.getPtrTy(), "alive");
  for (uint32_t w = 0; w < warps; ++w) {
    const uint32_t left = threads - w * kLanes;
    ir_.CreateStore(ir_.getInt32(left >= kLanes ? ~0u : (1u << left) - 1),
                    ir_.CreateConstInBoundsGEP1_64(ir_.getInt32Ty(), alive, w));
  }
  ir_.CreateStore(ir_.getInt64(warps), alive_warps_);
  ir_.CreateStore(ir_.getInt64(threads), alive_lanes_);
  clear_shared();
  const bool zeros = std::ranges::any_of(p_.blocks[0].live_in, [&](uint32_t reg) {
    return p_.registers[reg].builtin == Builtin::none && !block_level(reg);
  });
  if (zeros || p_.local_bytes) call(offsetof(Frame, start_block), ir_.getVoidTy(), {});
  if (!plans_[0].native) {
    BB* here = ir_.GetInsertBlock();
    stop(0);
    ir_.SetInsertPoint(here);
    ir_.CreateBr(stops_[0]);
  } else {
    // Registers read before they are written hold zeros.
    for (uint32_t reg : p_.blocks[0].live_in)
      if (p_.registers[reg].builtin == Builtin::none && block_level(reg))
        set(reg, Constant::getNullValue(variable(reg)->getAllocatedType()));
    ir_.CreateBr(heads_[0]);
  }
  ir_.SetInsertPoint(next_block_);
  Value* next = ir_.CreateAdd(ir_.CreateLoad(ir_.getInt64Ty(), block_), ir_.getInt64(1));
  BB *more = block("more"), *done = block("done");
  Value* end = field(offsetof(Frame, end), ir_.getInt64Ty(), "end");
  ir_.CreateCondBr(ir_.CreateICmpULT(next, end), more, done);
  ir_.SetInsertPoint(more);
  ir_.CreateStore(next, block_);
  ir_.CreateBr(begin_);
  ir_.SetInsertPoint(done);
  ir_.CreateStore(ir_.getInt32(kDone), outcome_);
  ir_.CreateBr(out_);
}

// Whether the region's counts of this block are added for all its warps at once.
bool Generator::counted_by_region(uint32_t r, uint32_t b) const { return !plans_[r].exits && !p_.blocks[b].divergent; }

void Generator::region(uint32_t r) {
  const RegionPlan& plan = plans_[r];
  const machine::Region& region = p_.regions[r];
  ir_.SetInsertPoint(heads_[r]);
  ir_.CreateStore(ir_.getInt64(r), frame_at(offsetof(Frame, region)));
  Where hoisted;
  for (uint32_t b : region.chain) {
    if (p_.blocks[b].divergent) continue;
    hoisted.block = b;
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k)
      if (machine::hoistable(p_, p_.code[k])) pure(k, hoisted);
  }
  if (plan.has_work || plan.exits) warp_loop(r);
  if (!plan.exits) {
    std::vector<Target> warps, lanes;
    for (uint32_t b : region.chain)
      if (!p_.blocks[b].divergent) warps.push_back({word_executions(b), 1}), lanes.push_back({word_lanes(b), 1});
    count(counter(warps), ir_.CreateLoad(ir_.getInt64Ty(), alive_warps_));
    count(counter(lanes), ir_.CreateLoad(ir_.getInt64Ty(), alive_lanes_));
  }
  end_of_region(r);
}

void Generator::end_of_region(uint32_t r) {
  const machine::Region& region = p_.regions[r];
  const uint32_t last = region.chain.back();
  const machine::BasicBlock& block = p_.blocks[last];
  const Instruction& end = p_.code[block.last - 1];
  if (plans_[r].exits) {
    BB* some = this->block("some_alive");
    ir_.CreateCondBr(ir_.CreateIsNotNull(ir_.CreateLoad(ir_.getInt64Ty(), alive_warps_)), some, next_block_);
    ir_.SetInsertPoint(some);
  }
  if (block.divergent || block.divergent_branch) return go_region(r, region.after);
  if (end.kind == Kind::exit) {
    ir_.CreateBr(next_block_);
  } else if (end.kind == Kind::branch_table) {
    Value* index = scalar(end.sources[0], Element::b32);
    BB* others = this->block("others");
    SwitchInst* to = ir_.CreateSwitch(index, others);
    for (uint32_t k = 0; k < block.table.size(); ++k) {
      BB* at = k + 1 < block.table.size() ? this->block("case") : others;
      if (at != others) to->addCase(ir_.getInt32(k), at);
      ir_.SetInsertPoint(at);
      go_region(r, block.table[k]);
    }
  } else if (block.taken != kNone && end.kind == Kind::branch) {
    Value* p = scalar(machine::Value::of(end.guard), Element::pred);
    BB *taken = this->block("taken"), *next = this->block("next");
    ir_.CreateCondBr(p, end.guard_negated ? next : taken, end.guard_negated ? taken : next);
    ir_.SetInsertPoint(taken);
    go_region(r, block.taken);
    ir_.SetInsertPoint(next);
    go_region(r, block.next);
  } else {
    go_region(r, block.next);
  }
}

// All warps go on with the region at `b`. Backwards: a loop, which is stopped now and then to be charged.
void Generator::go_region(uint32_t from, uint32_t b) {
  if (b == kNone) {
    ir_.CreateBr(next_block_);
    return;
  }
  const uint32_t to = p_.region_of[b];
  if (!plans_[to].native || p_.regions[to].chain.front() > p_.regions[from].chain.front()) {
    if (!plans_[to].native) {
      IRBuilderBase::InsertPointGuard guard(ir_);
      stop(to);
    }
    ir_.CreateBr(plans_[to].native ? heads_[to] : stops_[to]);
    return;
  }
  Value* left = ir_.CreateSub(ir_.CreateLoad(ir_.getInt64Ty(), fuel_), ir_.getInt64(1));
  ir_.CreateStore(left, fuel_);
  BB *pause = block("pause"), *on = block("on");
  ir_.CreateCondBr(ir_.CreateIsNull(left), pause, on);
  ir_.SetInsertPoint(pause);
  ir_.CreateStore(ir_.getInt32(kPaused), outcome_);
  {
    IRBuilderBase::InsertPointGuard guard(ir_);
    stop(to);
  }
  ir_.CreateBr(stops_[to]);
  ir_.SetInsertPoint(on);
  ir_.CreateBr(heads_[to]);
}

// Returns at the beginning of region `r`: what the block's registers hold goes to their slots.
void Generator::stop(uint32_t r) {
  if (stops_[r]) return;
  BB* at = stops_[r] = block("stop");
  ir_.SetInsertPoint(at);
  ir_.CreateStore(ir_.getInt64(r), frame_at(offsetof(Frame, region)));
  for (uint32_t reg : p_.blocks[p_.regions[r].chain.front()].live_in)
    if (p_.registers[reg].builtin == Builtin::none && block_level(reg)) spill(reg, code_.homes[reg].scalar, false);
  ir_.CreateBr(out_);
  if (!plans_[r].native && heads_[r]->empty()) {
    ir_.SetInsertPoint(heads_[r]);
    ir_.CreateBr(at);
  }
}

// ---- Counters ------------------------------------------------------------------------------------------------------

AllocaInst* Generator::counter(const std::vector<Target>& targets) {
  for (const Counter& c : counters_)
    if (c.targets == targets) return c.sum;
  // Memory, as an array is: a loop keeps those that it counts in registers (LICM), and no others take any from it.
  IRBuilder<> at(entry_, entry_->begin());
  AllocaInst* sum = at.CreateAlloca(ArrayType::get(ir_.getInt64Ty(), 1), nullptr, "count");
  IRBuilder<> zero(entry_->getTerminator());
  zero.CreateStore(ir_.getInt64(0), sum);
  counters_.push_back({sum, targets});
  return sum;
}

AllocaInst* Generator::site_counter(uint32_t site, uint32_t k) { return counter({{word_site(site, k), 1}}); }

void Generator::count(AllocaInst* c, Value* n) {
  ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(ir_.getInt64Ty(), c), n), c);
}

void Generator::finish() {
  ir_.SetInsertPoint(out_);
  Value* tally = field(offsetof(Frame, tally), ir_.getPtrTy(), "tally");
  Value* instructions = ir_.getInt64(0);
  for (const Counter& c : counters_) {
    Value* n = ir_.CreateLoad(ir_.getInt64Ty(), c.sum);
    uint64_t each = 0;
    for (const Target& t : c.targets) {
      Value* word = ir_.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), tally, t.word);
      Value* amount = t.times == 1 ? n : ir_.CreateMul(n, ir_.getInt64(t.times));
      ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(ir_.getInt64Ty(), word), amount), word);
      if (t.word < blocks_) each += p_.blocks[t.word].instructions;
    }
    if (each) instructions = ir_.CreateAdd(instructions, ir_.CreateMul(n, ir_.getInt64(each)));
  }
  ir_.CreateStore(instructions, frame_at(offsetof(Frame, instructions)));
  ir_.CreateStore(ir_.CreateLoad(ir_.getInt64Ty(), block_), frame_at(offsetof(Frame, block)));
  Value* outcome = ir_.CreateLoad(ir_.getInt32Ty(), outcome_);
  ir_.CreateRet(outcome);
  IRBuilder<> start(entry_->getTerminator());
  start.CreateStore(start.getInt32(kStopped), outcome_);
  // The block's coordinates: wherever a block begins or is gone on with.
  const auto coordinates = [&](BB* at) {
    IRBuilder<> ir(at, at->getFirstInsertionPt());
    Value* number = ir.CreateLoad(ir.getInt64Ty(), block_);
    bool any = false;
    for (AllocaInst* c : ctaid_) any = any || !c->use_empty();
    if (any) {
      Value* x = ir.CreateLoad(ir.getInt64Ty(),
                               ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), frame_, offsetof(Frame, grid_x)));
      Value* y = ir.CreateLoad(ir.getInt64Ty(),
                               ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), frame_, offsetof(Frame, grid_y)));
      if (p_.shape.grid_below[1] == 1 && p_.shape.grid_below[2] == 1) {
        ir.CreateStore(ir.CreateTrunc(number, ir.getInt32Ty()), ctaid_[0]);
        ir.CreateStore(ir.getInt32(0), ctaid_[1]);
        ir.CreateStore(ir.getInt32(0), ctaid_[2]);
      } else {
        Value* rows = ir.CreateUDiv(number, x);
        ir.CreateStore(ir.CreateTrunc(ir.CreateURem(number, x), ir.getInt32Ty()), ctaid_[0]);
        ir.CreateStore(ir.CreateTrunc(ir.CreateURem(rows, y), ir.getInt32Ty()), ctaid_[1]);
        ir.CreateStore(ir.CreateTrunc(ir.CreateUDiv(rows, y), ir.getInt32Ty()), ctaid_[2]);
      }
    }
    if (!smid_->use_empty()) {
      Value* n = ir.CreateLoad(ir.getInt64Ty(),
                               ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), frame_, offsetof(Frame, multiprocessors)));
      ir.CreateStore(ir.CreateTrunc(ir.CreateURem(number, n), ir.getInt32Ty()), smid_);
    }
  };
  std::vector<BB*> starts{begin_};
  for (BB& b : *function_)
    if (b.getName().starts_with("enter")) starts.push_back(&b);
  for (BB* at : starts) coordinates(at);
}

std::vector<uint32_t> Generator::words() const {
  std::vector<uint32_t> w{static_cast<uint32_t>(plans_.size())};
  for (uint32_t r = 0; r < plans_.size(); ++r) {
    const RegionPlan& plan = plans_[r];
    const bool begins = entered_[r] || (r == 0 && plan.native);
    w.push_back(begins ? 1u : 0u);
    w.push_back(plan.exits ? 1u : 0u);
    w.push_back(static_cast<uint32_t>(plan.native ? plan.blocks.size() : 0));
    if (plan.native)
      for (uint32_t b : plan.blocks) w.push_back(b), w.push_back(plan.position[b]);
  }
  for (const std::vector<uint32_t>* list : {&pure_steps_, &steps_}) {
    w.push_back(static_cast<uint32_t>(list->size()));
    w.insert(w.end(), list->begin(), list->end());
  }
  w.push_back(static_cast<uint32_t>(passed_.size()));
  w.insert(w.end(), passed_.begin(), passed_.end());
  w.push_back(static_cast<uint32_t>(memos_.size()) * memo_ways_);
  for (uint32_t r = 0; r < p_.registers.size(); ++r)
    if (lazy_[r] && !is_scalar(r)) w.push_back(r);
  return w;
}

}  // namespace coalesce::native
