// The context of code generation: one kernel becomes one function. What is where:
//   kernel.cpp            the function: entry, thread blocks, return
//   region.cpp            a region: what is computed for the block, where it goes on
//   warp_loop.cpp         a region's loop over the block's warps; basic blocks
//   warps_at_once.cpp     several warps side by side
//   idle_warps.cpp        warps that the loop skips
//   hoisted_checks.cpp    accesses checked once for all warps (with warp_affine.cpp, hoisted_access.cpp)
//   divergence.cpp        lanes that part and meet
//   registers.cpp         registers as LLVM values; interpreter.cpp calls of the interpreter's handlers
//   arithmetic.cpp        computing instructions (integer.cpp, division.cpp, floating.cpp, convert.cpp, compare.cpp)
//   affine_compare.cpp    comparisons of affine values by lane 0 alone
//   checked_affine.cpp    addresses that are affine unless a number wraps
//   memory.cpp            loads and stores: global.cpp, footprint.cpp, shared.cpp, shared_general.cpp, move.cpp
//   interleaved.cpp       several elements a lane, kept as memory has them
//   atomics.cpp, tiles.cpp, lane_operations.cpp
//   compile.cpp           LLVM around it: target, passes, object file
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "machine/execute/code.h"
#include "machine/observe/banks.h"
#include "native/analyse/facts.h"
#include "native/emit/counters.h"
#include "native/run/frame.h"

namespace coalesce::native {

using llvm::Value;
using machine::SiteWord;

constexpr uint64_t kSector = uint64_t{1} << machine::banks::kSectorShift,
                   kLine = uint64_t{1} << machine::banks::kLineShift;  // bytes

// The lanes for which an instruction is emitted: all lanes of a warp (mask null), or those of a mask.
struct Active {
  uint32_t block = kNone;
  Value* mask = nullptr;   // i32; null: all lanes
  Value* lanes = nullptr;  // the same as <32 x i1>; null with mask
  bool guarded = false;    // behind a predicate: lanes that are off may be on in the next instruction
  bool keeps = false;      // lanes that are off keep their values: their registers may be read elsewhere
};

struct TargetTraits {
  bool fuses, rounds;  // the CPU has instructions for fma, for rounding to whole numbers
  bool masks;          // registers for masks: AVX-512
  // Loads are prefetched, too, not only stores: an Intel CPU waits for half of a tree's time without. AMD CPUs predict
  // the stream, and lose up to a sixth by the prefetches.
  bool prefetches_loads;
};

// The warp whose code is being emitted.
struct CurrentWarp {
  Value *index = nullptr, *area = nullptr;  // area: its slots
  uint32_t copy = 0;                        // which of the warps that are emitted side by side
};

// Registers as LLVM variables.
struct Variables {
  struct Checked {  // of a checked affine register: lane 0's value; i1: no lane has wrapped
    llvm::AllocaInst *base = nullptr, *unwrapped = nullptr;
  };
  std::vector<std::vector<llvm::AllocaInst*>> registers;     // by copy, then register
  std::map<std::pair<uint32_t, uint32_t>, Checked> checked;  // by copy and register
  std::map<uint32_t, Value*> builtins;
};

// Vectors that hold several elements a lane as memory has them: see interleaved.cpp.
struct Interleaved {
  struct Part {  // element k of each `of` of `all`
    Value* all;
    uint32_t k, of;
  };
  struct Operation {
    const machine::PureOp* op;
    std::vector<std::pair<uint32_t, Value*>> sources;  // a scalar register, or a constant or an interleaved vector
    Value* all;
  };
  std::map<uint32_t, Part> parts;  // by register of a full warp: what it is a part of
  std::vector<Operation> operations;

  void forget(uint32_t reg);
  void forget_all() { parts.clear(), operations.clear(); }
};

// The tables that the loader of the object needs beside the code (run/kernel.cpp).
struct LoaderTables {
  std::vector<uint32_t> row_calls;          // instructions; bit 31: on scalars
  std::vector<uint32_t> interpreter_calls;  // instructions
  std::vector<uint32_t> remembered;         // memory operations that remember accesses by all warps
  // Costs of shared accesses are remembered by address (a register and an offset) and kind of access.
  std::vector<std::tuple<uint32_t, int64_t, uint32_t>> memos;
};

// An access whose check is hoisted out of the loop over warps.
struct HoistedAccess {
  Value *first = nullptr, *step = nullptr;  // the first warp's address, the distance between warps
  Value* prefetches = nullptr;              // i1: prefetch `distance` further on
  Value* distance = nullptr;
};

struct PlacedTile {  // a tile that lies transposed at `place`: word 32 c + l is lane l of column c
  const Tile* tile;
  llvm::AllocaInst* place;
};

// The region whose code is being emitted.
struct CurrentRegion {
  using BB = llvm::BasicBlock;
  std::vector<BB*> full, masked;           // by basic block: for warps with all lanes on, for any lanes
  std::vector<BB*> arrive;                 // by scope: where its lanes meet
  std::vector<llvm::AllocaInst*> arrived;  // by scope: lanes that wait there
  BB *warp_end = nullptr, *warp_next = nullptr;
  BB* done = nullptr;                         // behind the loop over warps
  std::map<uint32_t, HoistedAccess> hoisted;  // by instruction, within the loop for hoisted accesses
  std::vector<PlacedTile> tiles;
  Value* tiles_ready = nullptr;  // i1: they have been transposed
  // Idle warps. `ordered`: i1, all warps behind the first idle one are idle. `periodic`: i1, every `step`th warp works,
  // with the lanes of `mask`, and no others. Null: not known.
  Value *ordered = nullptr, *periodic = nullptr, *step = nullptr, *mask = nullptr;
};

struct Emitter {
  using BB = llvm::BasicBlock;
  Emitter(const machine::Code& code, const Facts& facts, llvm::Module& module, const TargetTraits& target);
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  // --- What is known of registers
  uint32_t threads() const { return facts.registers.threads(); }
  uint32_t warps() const { return facts.registers.warps(); }
  bool is_scalar(uint32_t r) const { return facts.registers.is_scalar(r); }
  bool is_block_level(uint32_t r) const { return facts.registers.is_block_level(r); }
  bool known(const machine::Value& v, uint64_t* bits) const { return facts.registers.known(v, bits); }

  // --- Types and values
  llvm::Type* type_of(Element element) const;  // of one lane; i1 for predicates
  llvm::VectorType* wide(llvm::Type* t) const { return llvm::FixedVectorType::get(t, machine::kLanes); }
  Value* spread(Value* scalar, int64_t stride);  // lane l: scalar + l * stride
  Value* lanes_of(Value* mask) { return ir.CreateBitCast(mask, wide(ir.getInt1Ty())); }
  Value* lanes_on(Value* mask);  // the same, for what is done under the mask
  Value* bits_of(Value* lanes) { return ir.CreateBitCast(lanes, ir.getInt32Ty()); }
  Value* mask_of(const Active& active) { return active.mask ? active.mask : ir.getInt32(~0u); }
  Value* count_lanes(Value* mask);  // i64
  Value* offset(Value* base, uint64_t bytes) { return ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), base, bytes); }

  // --- The frame (run/frame.h), by a member's offset
  Value* frame_at(std::size_t member) { return offset(frame, member); }
  Value* field(std::size_t member, llvm::Type* type, const char* name);  // does not change meanwhile: read once
  Value* field(std::size_t member, const char* name) { return field(member, ir.getPtrTy(), name); }
  Value* call(std::size_t member, llvm::Type* result, std::initializer_list<Value*> arguments);
  void check(Value* status);  // returns kFaulted unless 0

  // --- Control flow
  BB* block(const char* name) { return BB::Create(context, name, function); }
  llvm::MDNode* likely(uint32_t times);  // of a branch: the first side is taken so many times as often as the other
  // Goes on where the condition holds; returns the block for the rest.
  BB* split(Value* condition, const char* name, bool is_likely);
  llvm::AllocaInst* local(llvm::Type* type, const std::string& name);  // a variable of the function

  const machine::Code& code;
  const Decoded& p;
  const Facts& facts;
  llvm::LLVMContext& context;
  llvm::IRBuilder<> ir;
  const TargetTraits target;
  llvm::Function* const function;
  Value* const frame;
  struct {
    BB *entry, *constants;  // constants: where values of the launch are read, once
    BB *fault, *out, *begin, *next_block;
  } at{};
  struct {
    llvm::AllocaInst *outcome, *block, *alive_warps, *alive_lanes, *mask, *warp, *fuel, *ctaid[3], *smid;
  } var{};
  std::vector<BB*> heads, stops;           // by region: its code; where the function returns at its beginning
  std::vector<BB*> entries;                // where the function goes on within a thread block
  std::vector<llvm::AllocaInst*> pending;  // by basic block: lanes whose side of its branch is to run second
  Counters counters;
  LoaderTables tables;
  Variables variables;
  CurrentWarp warp;
  CurrentRegion region;
  Interleaved interleaved;
  // For each address, a register and an offset: what shared memory holds for the warp there, as long as nothing is
  // stored.
  std::map<std::pair<uint32_t, int64_t>, Value*> known_shared;
  std::map<std::pair<int64_t, int64_t>, Value*> shared_limits;
  std::vector<llvm::AllocaInst*> tile_places;             // all regions use the same
  std::map<uint32_t, const machine::Access*> access_of;   // by instruction
  std::map<uint32_t, const machine::LaneOp*> lane_op_of;  // by instruction

 private:
  std::map<std::size_t, Value*> fields_;
};

}  // namespace coalesce::native
