// One kernel becomes one function. What is where:
//   generator.cpp  the function: thread blocks, regions, counters
//   warps.cpp      a region's loop over the block's warps
//   visits.cpp     warps that the loop leaves out
//   ahead.cpp      accesses that are looked at once for all warps
//   lanes_part.cpp lanes that part and meet
//   values.cpp     registers as values: scalars, vectors of 32 lanes, predicates as masks; steps of the interpreter
//   pure.cpp       instructions that compute
//   compare.cpp    comparisons of lanes a step apart
//   stepped.cpp    addresses that are affine unless a number wraps
//   memory.cpp     loads and stores of global memory; moving values
//   whole.cpp      several elements a lane, kept as memory has them
//   shared.cpp     shared memory
//   atomics.cpp    atomics on it
//   columns.cpp    tiles of it that are read by columns
//   lanes.cpp      what the lanes of a warp do together
//   compile.cpp    LLVM around it
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "machine/execute/code.h"
#include "machine/program/uses.h"
#include "native/analyse/regions.h"
#include "native/run/frame.h"

namespace coalesce::native {

using llvm::Value;
using machine::Decoded;
using machine::Element;
using machine::Instruction;
using machine::kNone;
using machine::LaneClass;
using machine::MemoryOp;
using machine::Register;

// What an instruction is generated for: a block's body for warps with all lanes on (mask null), or for any lanes.
struct Where {
  uint32_t block = kNone;
  Value* mask = nullptr;   // i32; null: all on
  Value* lanes = nullptr;  // the same as <32 x i1>; null with mask
  bool guarded = false;    // behind a predicate: lanes that are off may be on in the next instruction
  bool keeps = false;      // lanes that are off keep what they have: their registers may be read elsewhere
};

struct TargetTraits {
  bool fuses, rounds;    // the CPU has instructions for fma, for rounding to whole numbers
  bool masks;            // registers for masks: AVX-512
  unsigned vector_bits;  // all its vector registers together
  // Streams run faster when what is loaded is asked for ahead, and not only what is stored: the CPU at hand is Intel's,
  // which loses half of a tree's time to waiting without. AMD's see it coming, and lose up to a sixth by being told
  // (docs/results/speed.md).
  bool fetches_loads;
};

class Generator {
 public:
  Generator(const machine::Code& code, llvm::Module& module, const TargetTraits& target);
  // False: nothing of the kernel has a native form.
  bool run();
  // For the loader: see kernel.cpp.
  std::vector<uint32_t> words() const;

 private:
  using BB = llvm::BasicBlock;
  // --- generator.cpp
  void prologue();
  void find_entered();
  void entries();
  void clear_shared();
  void begin_block();
  void region(uint32_t r);
  void end_of_region(uint32_t r);
  void go_region(uint32_t from, uint32_t block);
  void stop(uint32_t r);
  void finish();
  static constexpr uint64_t kFuel = 1u << 12;  // repetitions of a uniform loop before it is charged for

  // --- warps.cpp
  static constexpr uint32_t kTogether = 4;  // warps, at most
  void warp_loop(uint32_t r);
  void find_registers(uint32_t r);
  uint32_t together(uint32_t r) const;
  void several(uint32_t r, uint32_t n, Value* all_on, BB* loop, BB* after);
  void at_warp(Value* w);
  Value* alive_of(Value* w);  // address of its mask
  void begin_warp(uint32_t r);
  void take_registers(uint32_t r);
  void leave_registers();
  void body(uint32_t r, uint32_t block, bool full);
  bool counted_by_region(uint32_t r, uint32_t block) const;
  void instruction(uint32_t index, const Where& where);

  // --- visits.cpp
  struct Visits {
    uint32_t head = kNone;
    llvm::BasicBlock* done = nullptr;  // behind the loop over warps
    // i1: behind a warp without lanes that go on there are only such; null: it is not so.
    Value* ordered = nullptr;
    // i1: every `step`th warp goes on, with the lanes of `mask`, and no others; null: it is not so.
    Value *alike = nullptr, *step = nullptr, *mask = nullptr;
  };
  void find_definitions();
  const Instruction* computed_by(const machine::Value& v) const;
  bool is_thread_index(const machine::Value& v) const;
  void find_visits(uint32_t r, Value* all_on);
  void visit_alike(uint32_t r, BB* next);

  // --- ahead.cpp
  struct Line {  // warp w's value: first + w * step, where it is good (null: always)
    Value *first, *step, *good;
  };
  struct Corners {
    std::array<Value*, 4> at;
    Value* fit;  // i1: none has wrapped
  };
  struct Passing {                               // an access by all warps
    Value *first = nullptr, *step = nullptr;     // the first warp's address, the distance between warps
    Value *fetches = nullptr, *ahead = nullptr;  // i1: what lies so far ahead is fetched
  };
  std::optional<std::pair<uint64_t, uint64_t>> line_of_builtin(machine::Builtin b) const;
  template <class Is, class Widens>
  bool keeps_line(const Instruction& i, Is is, Widens widens) const;
  void find_lines();
  std::vector<uint32_t> one_way(uint32_t r) const;
  uint32_t parting(const std::vector<uint32_t>& way) const;
  std::vector<uint32_t> of_each_warp(const std::vector<uint32_t>& way) const;
  bool known_ahead(const Instruction& i, const std::vector<bool>& lines) const;
  std::optional<llvm::CmpInst::Predicate> ordered_by(const Instruction& i, const std::vector<bool>& lines) const;
  template <class Line, class Access, class Test>
  bool walk(const std::vector<uint32_t>& way, Line line, Access access, Test test) const;
  Line line_of(const machine::Value& v, Element e, uint32_t r, std::map<uint32_t, Line>& lines);
  Line line_of_result(const Instruction& i, uint32_t r, std::map<uint32_t, Line>& lines);
  Corners corners(const Line& a, int64_t stride, bool is_signed);
  Value* all_go(const std::vector<uint32_t>& way, const Instruction& i, uint32_t r, std::map<uint32_t, Line>& lines);
  void run_ahead(uint32_t r, Value* all_on, BB* after);
  void pass_all(const Instruction& i, Passing& p);
  void pass(uint32_t index, const Passing& p, const Where& where);

  // --- lanes_part.cpp
  void end_of_block(uint32_t r, uint32_t block, const Where& where);
  void branch(uint32_t r, uint32_t block, const Where& where);
  void arrival(uint32_t r, uint32_t scope);
  void go(uint32_t r, uint32_t from, uint32_t to, const Where& where);
  void enter(uint32_t block, Value* mask);
  void tick(uint32_t block, const Where& where);

  // --- counters: summed in variables, added to the tally when the function returns
  struct Target {
    uint32_t word, times;
    bool operator==(const Target&) const = default;
  };
  llvm::AllocaInst* counter(const std::vector<Target>& targets);
  void count(llvm::AllocaInst* c, Value* n);
  void count(llvm::AllocaInst* c, uint64_t n) { count(c, ir_.getInt64(n)); }
  uint32_t word_executions(uint32_t b) const { return b; }
  uint32_t word_lanes(uint32_t b) const { return blocks_ + b; }
  uint32_t word_divergent(uint32_t b) const { return 2 * blocks_ + b; }
  uint32_t word_guard_executions(uint32_t g) const { return 3 * blocks_ + g; }
  uint32_t word_guard_lanes(uint32_t g) const { return 3 * blocks_ + p_.guards + g; }
  // k: 0 requests, 1 sectors, 2 lines, 3 bytes, 4 wavefronts, 5 ideal
  uint32_t word_site(uint32_t s, uint32_t k) const { return 3 * blocks_ + 2 * p_.guards + 6 * s + k; }
  llvm::AllocaInst* site_counter(uint32_t site, uint32_t k);

  // --- values.cpp
  llvm::Type* type_of(Element e) const;  // of one lane; i1 for predicates
  llvm::VectorType* wide(llvm::Type* t) const { return llvm::FixedVectorType::get(t, 32); }
  uint32_t warps() const {  // of a thread block
    return (threads() + machine::kLanes - 1) / machine::kLanes;
  }
  uint32_t threads() const { return p_.shape.block[0] * p_.shape.block[1] * p_.shape.block[2]; }
  bool is_scalar(uint32_t r) const { return p_.registers[r].lanes != LaneClass::general; }
  bool block_level(uint32_t r) const { return p_.registers[r].lanes <= LaneClass::block_uniform; }
  llvm::AllocaInst* variable(uint32_t r);
  // Of a scalar register or constant; predicate: i1. `raw`: a NaN may be any.
  Value* scalar(const machine::Value& v, Element e, bool raw = false);
  Value* vector(const machine::Value& v, Element e, bool raw = false);  // <32 x T>; predicate: <32 x i1>
  bool known(const machine::Value& v, uint64_t* bits) const;            // one value, known now
  bool known_base(uint32_t r, uint64_t* bits) const;                    // of affine lanes
  Value* canonical(Value* bits);
  void find_lazy();
  void find_memo_ways();
  void find_meetings();
  static bool makes_nan(const machine::PureOp& op);  // single precision arithmetic: a NaN result is canonical
  Value* mask_of(const machine::Value& v);           // predicate as i32
  Value* mask_of(uint32_t reg) { return mask_of(machine::Value::of(reg)); }
  Value* builtin(uint32_t r);  // scalar or vector, as its class says
  Value* spread(Value* scalar, int64_t stride);
  Value* lanes_of(Value* mask) { return ir_.CreateBitCast(mask, wide(ir_.getInt1Ty())); }
  Value* lanes_on(Value* mask);
  Value* bits_of(Value* lanes) { return ir_.CreateBitCast(lanes, ir_.getInt32Ty()); }
  void write(uint32_t r, Value* v, const Where& where);  // a general register; predicate: i32
  void write_scalar(uint32_t r, Value* v);
  Value* slot(machine::Slot s);                // address
  void store_slot(machine::Slot s, Value* v);  // i1 and <32 x i1> as a word
  Value* load_slot(machine::Slot s, Element e, bool is_vector);
  void spill(uint32_t r, machine::Slot s, bool as_vector);
  void step(uint32_t index, const Where& where);  // by the interpreter's handler
  void pure_step(uint32_t index, const Instruction& i, bool as_scalar, const std::vector<Value*>& sources,
                 Value* out[2]);
  Value* mask_value(const Where& where) { return where.mask ? where.mask : ir_.getInt32(~0u); }
  Value* count_lanes(Value* mask);
  Value* field(std::size_t offset, llvm::Type* type, const char* name);  // of the frame
  Value* frame_at(std::size_t offset);
  Value* call(std::size_t offset, llvm::Type* result, std::initializer_list<Value*> arguments);
  void check(Value* status);  // returns kFaulted unless 0
  BB* block(const char* name);
  llvm::MDNode* mostly(uint32_t times);
  BB* split(Value* condition, const char* name, bool likely);  // goes on where it holds; returns the block for the rest

  // --- pure.cpp
  void pure(uint32_t index, const Where& where);
  bool compute(const Instruction& i, bool as_scalar, const std::vector<Value*>& s, Value* out[2]);
  Value* integer(const machine::PureOp& op, const Instruction& i, bool as_scalar, const std::vector<Value*>& s);
  Value* product(const Instruction& i, const std::vector<Value*>& s);
  Value* convert(std::string_view name, const std::vector<Value*>& s);
  Value* floating(std::string_view name, const std::vector<Value*>& s);
  bool compare(std::string_view name, const std::vector<Value*>& s, Value* out[2]);

  // --- compare.cpp
  Value* compare_steps(const Instruction& i);

  // --- stepped.cpp
  struct Stepped {
    Value *base, *whole;  // lane 0's value; i1: no lane has wrapped (null: known)
  };
  struct Variables {
    llvm::AllocaInst *base = nullptr, *whole = nullptr;
  };
  void find_steps();
  bool step_of(const machine::Value& v, int64_t* step) const;
  bool step_of_result(const Instruction& i, int64_t* step) const;
  Stepped stepped(const machine::Value& v);
  Variables& stepped_variables(uint32_t r);
  void step_result(const Instruction& i);
  void step_from_vector(uint32_t r, Value* all);

  // --- memory.cpp
  void memory(uint32_t index, const Where& where);
  void global(uint32_t index, const Where& where, bool uniform, Value* address, Value* whole);
  void prefetch(const Instruction& i, Value* from);
  void fetch_ahead(const Instruction& i, Value* base, Value* range);
  void global_general(uint32_t index, const Where& where);
  void move_contiguous(const Instruction& i, Value* pointer, unsigned alignment, const Where& where, bool pad,
                       llvm::AllocaInst* whole = nullptr);
  void move_uniform(const Instruction& i, Value* pointer, const Where& where);
  llvm::Value* surviving_lane(uint32_t bytes, const Where& where);
  void load_scattered(const Instruction& i, Value* base, Value* offsets, const Where& where, bool pad);
  void store_scattered(const Instruction& i, Value* base, Value* offsets, const Where& where, bool apart);
  void load_result(const MemoryOp& m, std::size_t k, Value* element, const Where& where);
  Value* store_value(const MemoryOp& m, std::size_t k);
  Value* site_state(uint32_t memory, std::size_t offset);  // address of a member
  Value* track(uint32_t memory, Value* warp);              // address of the warp's
  Value* touch(uint32_t memory, Value* low, Value* high, uint64_t bytes, BB* before);

  // --- whole.cpp
  struct Part {  // element k of each `of` of `whole`
    Value* whole;
    uint32_t k, of;
  };
  struct Operation {
    const machine::PureOp* op;
    std::vector<std::pair<uint32_t, Value*>> sources;  // a scalar register, or a number or what it is a part of
    Value* whole;
  };
  llvm::VectorType* whole_type(const MemoryOp& m) const;
  llvm::AllocaInst* whole_place(const Instruction& i, const Where& where);
  Value* part(Value* whole, std::size_t k, std::size_t of);
  Value* join(std::vector<Value*> parts);
  void whole_from_registers(const MemoryOp& m, llvm::AllocaInst* place);
  void registers_from_whole(const MemoryOp& m, llvm::AllocaInst* place, const Where& where);
  std::optional<Part> part_of_result(const Instruction& i, const Where& where, bool raw);
  Value* whole_of(const MemoryOp& m);
  void set(uint32_t r, Value* v);
  void forget_parts();

  // --- shared.cpp
  bool in_bounds(const MemoryOp& m) const;
  bool cannot_fault(const MemoryOp& m) const;
  bool safe(const MemoryOp& m) const;
  Value* in_units(Value* address, int64_t bytes);
  Value* shared_limit(int64_t span, int64_t bytes);
  void shared(uint32_t index, const Where& where, int64_t stride);
  void shared_general(uint32_t index, const Where& where);
  void move_every_second(const Instruction& i, Value* pointer, const Where& where);

  // --- atomics.cpp
  bool simple_atomic(const Instruction& i) const;
  bool shared_atomic(uint32_t index, const Where& where);
  void whole_atomic(const MemoryOp& m, Value* address, Value* results);

  // --- columns.cpp
  struct Tile {
    uint32_t reg;         // of the addresses
    uint32_t reads;       // of a column, in the region
    int64_t first, last;  // lane 0's lowest address, its highest
    uint32_t columns;
    llvm::AllocaInst* place;  // where it lies transposed
  };
  bool reads_column(const Instruction& i) const;
  void find_columns(uint32_t r, Value* all_on);
  llvm::AllocaInst* tile_place(std::size_t k);
  void transpose_tile(const Tile& tile);
  bool load_column(const Instruction& i, Value* base, const Where& where);

  // --- lanes.cpp
  bool lanes_together(uint32_t index, const Where& where);
  bool shuffle(const Instruction& i, const Where& where);

  const machine::Code& code_;
  const Decoded& p_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> ir_;
  TargetTraits target_;
  uint32_t blocks_ = 0;
  std::vector<RegionPlan> plans_;
  llvm::Function* function_ = nullptr;
  Value* frame_ = nullptr;
  BB *entry_ = nullptr, *fault_ = nullptr, *out_ = nullptr, *begin_ = nullptr, *next_block_ = nullptr;
  BB* constants_ = nullptr;  // where values of the launch are read: runs once
  llvm::AllocaInst *outcome_ = nullptr, *block_ = nullptr, *alive_warps_ = nullptr, *alive_lanes_ = nullptr;
  llvm::AllocaInst *mask_ = nullptr, *warp_ = nullptr, *fuel_ = nullptr;
  llvm::AllocaInst *ctaid_[3] = {}, *smid_ = nullptr;
  std::map<std::size_t, Value*> fields_;
  std::map<std::pair<int64_t, int64_t>, Value*> shared_limits_;
  uint32_t copy_ = 0;                                      // which of the warps that run together: see warps.cpp
  std::vector<std::vector<llvm::AllocaInst*>> variables_;  // by copy, then register
  std::vector<bool> lazy_;                                 // by register: see find_lazy()
  std::vector<bool> unset_;                                // by register: may be read before it is written
  std::vector<bool> lanes_meet_;                           // by block: lanes may read one another's registers there
  std::vector<int64_t> step_;                              // by general 64-bit register: see stepped.cpp
  std::vector<bool> has_step_;
  std::map<std::pair<uint32_t, uint32_t>, Variables> steps_of_;  // by copy and register
  std::vector<uint32_t> definition_;                             // by register: see find_definitions()
  std::vector<bool> on_line_;                                    // by register: see find_lines()
  std::map<uint32_t, Passing> passing_;                          // by instruction, in the loop for what is known
  std::vector<uint32_t> passed_;                                 // memory operations that remember accesses
  Visits visits_;                                                // of the region being generated
  std::vector<bool> entered_;                                    // by region: code may begin there
  std::map<uint32_t, Value*> builtins_;
  Value *w_ = nullptr, *area_ = nullptr;  // the warp, its slots: within the loop over warps
  // Of the region being generated.
  std::vector<bool> taken_, written_, left_;  // by register: of a warp, used; written; written and read afterwards
  std::vector<BB*> heads_, stops_;
  std::vector<BB*> full_, masked_, arrive_;
  std::vector<llvm::AllocaInst*> arrived_, pending_;  // by scope; by block
  // By address, a register and an offset: what is in shared memory for the warp there, as long as nothing is stored.
  std::map<std::pair<uint32_t, int64_t>, Value*> seen_;
  // By register of a whole warp: what it is a part of; and what has been computed of such.
  std::map<uint32_t, Part> parts_;
  std::vector<Operation> operations_;
  std::vector<Tile> tiles_;
  std::vector<llvm::AllocaInst*> tile_places_;
  Value* tiles_ready_ = nullptr;  // i1: they have been transposed
  BB *warp_end_ = nullptr, *warp_next_ = nullptr;
  struct Counter {
    llvm::AllocaInst* sum;
    std::vector<Target> targets;
  };
  std::vector<Counter> counters_;
  std::vector<uint32_t> pure_steps_, steps_;  // instructions; bit 31 of a pure step: as scalars
  // What shared accesses cost, by address (a register and an offset) and how it is accessed.
  std::vector<std::tuple<uint32_t, int64_t, uint32_t>> memos_;
  uint32_t memo_ways_ = 1;  // memos of one access and one warp, a power of two
  std::map<uint32_t, const machine::Access*> access_of_;
  std::map<uint32_t, const machine::LaneOp*> lane_op_of_;
};

}  // namespace coalesce::native
