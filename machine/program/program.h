// The decoded program: what both executors (the interpreter, and native code behind the same seam) read.
//
// A kernel is decoded once per launch shape (LaunchShape): calls are inlined, the control-flow graph is built, every
// register gets its lane class, every memory operation its descriptor. Nothing here executes anything.
//
// Reading order: this file; flatten/builder.h (PTX -> instructions); graph.cpp (blocks, reconvergence); liveness.cpp;
// lanes.cpp (lane classes and ranges); tally.h (what is counted while running, and what is multiplied in afterwards).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "machine/diagnostic.h"
#include "machine/isa/matrix.h"
#include "machine/isa/row.h"
#include "machine/ptx/module.h"

namespace coalesce::machine {

inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Local memory for a thread's stack: this much for the frames of recursive functions, and this much for alloca.
// Programs may ask for more, not for less, because our frames are not laid out as a GPU's.
inline constexpr uint32_t kLeastStackBytes = 16 * 1024;

// The part of a launch that decoding uses. Block dimensions are exact; grid dimensions only bounded, so that programs
// which launch many grid sizes decode a kernel a few times at most.
struct LaunchShape {
  std::array<uint32_t, 3> block{1, 1, 1};
  std::array<uint64_t, 3> grid_below{1, 1, 1};  // grid[i] <= grid_below[i], a power of two
  std::array<uint32_t, 3> cluster{1, 1, 1};     // blocks
  uint32_t stack_bytes = kLeastStackBytes;
  bool operator<(const LaunchShape& o) const {
    return std::tie(block, grid_below, cluster, stack_bytes) <
           std::tie(o.block, o.grid_below, o.cluster, o.stack_bytes);
  }
};

// The variation of a register's value over the lanes of a warp. Ordered: joining two takes the larger (and affine with
// different strides is general).
enum class LaneClass : uint8_t {
  constant,       // one value for the whole launch (immediates, parameters, block and grid dimensions)
  block_uniform,  // one value for all threads of a block, whenever control is uniform
  warp_uniform,   // one value for the lanes of a warp
  affine,         // lane 0's value + lane * stride, modulo the register's width
  general,
};

struct Range {  // signed 64-bit interval that holds every lane's value (read as signed for s32, zero-extended when >=
                // 0)
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool known() const {
    return low != std::numeric_limits<int64_t>::min() || high != std::numeric_limits<int64_t>::max();
  }
  bool operator==(const Range&) const = default;
};

// Values that exist before the first instruction: special registers and kernel parameters.
enum class Builtin : uint8_t {
  none,
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  envreg1,
  envreg2,
  current_graph_exec,
  zero,
  parameter
};

struct Register {
  Element element = Element::none;
  Builtin builtin = Builtin::none;
  uint32_t parameter_offset = 0;  // builtin == parameter: bytes into the parameter buffer
  uint8_t parameter_size = 0;     //   bytes read there
  bool parameter_signed = false;  //   sign-extended to the element
  // Filled in by the analyses.
  LaneClass lanes = LaneClass::general;
  int64_t stride = 0;  // affine
  Range range;
  uint32_t alignment = 1;  // power of two that divides every lane's value; of affine ones lane 0's
  uint32_t definitions = 0;
  uint32_t defined_in = kNone;  // block of the only definition
  bool block_local = false;     // never live across a block's boundary
};

struct Value {
  enum class Kind : uint8_t { none, reg, constant } kind = Kind::none;
  uint32_t reg = kNone;
  uint64_t bits = 0;
  uint32_t array = kNone;  // a constant that is a variable's address: index into Decoded::arrays
  static Value of(uint32_t r) { return {Kind::reg, r, 0, kNone}; }
  static Value imm(uint64_t b) { return {Kind::constant, kNone, b, kNone}; }
  bool is_reg() const { return kind == Kind::reg; }
  bool is_constant() const { return kind == Kind::constant; }
};

enum class Kind : uint8_t {
  pure,  // computes: `pure` is its row
  load,
  store,
  atomic,
  request,  // counts what the accesses it stands for cost together (merge.h); moves nothing
  shuffle,
  vote,
  match,
  active_mask,
  reduce_lanes,
  elect,
  collective,    // a MatrixForm: sources and any number of results, the registers `targets`
  warp_barrier,  // bar.warp.sync
  barrier,       // bar.sync / barrier.sync / bar.arrive / bar.red: ends its block
  branch,
  branch_table,
  exit,  // end their block
  trap,
  clock,            // %clock, %clock64, %globaltimer
  call,             // a builtin (vprintf ...); mode Callee::function: saves registers before a function_call
  function_call,    // ends its block: to the instance at `target`, which writes the registers `targets`; back at `next`
  function_return,  // ends its block
  nothing,          // fences, prefetches, pragmas: counted, no effect here
  unknown,          // an error only when it is reached
};

// The space of an address, as far as decoding can tell.
enum class AddressSpace : uint8_t { generic, global, shared, local, constant, param };

// The role of an access in PTX's memory model. Execution does not need it; `check` does.
enum class Order : uint8_t { weak, volatile_, relaxed, acquire, release, acq_rel };
enum class Scope : uint8_t { block, device };  // whom it reaches
// The role of a Kind::nothing in `check` (Instruction::mode).
enum class Nothing : uint8_t {
  nothing,
  block_fence,
  device_fence,
  copies_commit,  // cp.async
  copies_wait,
  copies_wait_all,
  copies_arrive,  // cp.async.mbarrier.arrive; sources: the object's address and an offset
  bulk_commit,    // cp.async.bulk
  bulk_wait,
  bulk_wait_read,
  products_commit,  // wgmma
  products_wait,
  proxy_fence,         // fence.proxy.async
  proxy_fence_shared,  // of shared memory alone
  proxy_fence_global,
  grid_wait,  // griddepcontrol.wait
};

// mbarrier: isa/mbarrier.h.
enum class AtomicOp : uint8_t { add, sub, min, max, inc, dec, and_, or_, xor_, exch, cas, mbarrier };
enum class Number : uint8_t { bits, unsigned_, signed_, f16, f16x2, bf16, bf16x2, f32, f64 };

// One memory instruction. Address = value of `address` (register or constant) + offset, in bytes.
struct MemoryOp {
  AddressSpace space = AddressSpace::generic;
  uint8_t width = 4;         // bytes of one element
  uint8_t count = 1;         // elements (v2, v4, v8)
  bool sign_extend = false;  // loads narrower than their register
  bool is_volatile = false;  // volatile, relaxed, acquire ...: never merged, never hoisted
  Order order = Order::weak;
  Scope scope = Scope::device;
  bool is_copy = false;      // either side of a cp.async; what it stores is there some time before the wait for it
  bool past_l1 = false;      // of a cp.async.cg
  bool is_row = false;       // of a matrix (ldmatrix): costs what a store of as many bytes costs
  bool silent = false;       // by a tensor core (wgmma): not counted
  bool as_constant = false;  // ld.global.nc: it may see what was there before the launch
  // Store of a cp.async that reads all its source, and requests that count one: index into Decoded::memory.
  uint32_t other_side = kNone;
  bool ordered = false;  // atomic whose effect depends on the order of blocks: waits for its block's turn
  bool returns = false;  // atom (with a result), not red
  AtomicOp op = AtomicOp::add;
  Number number = Number::bits;
  // Set by --model ptxas (merge.h): lanes on one word of shared memory go together, as their number is added.
  bool counts_lanes = false;
  Value address;
  int64_t offset = 0;
  uint32_t array = kNone;                // the variable that the text names: index into Decoded::arrays
  std::array<Value, 8> values{};         // loaded into / stored from; atomics: operands [0..1]
  std::array<uint8_t, 8> value_bytes{};  // register width of each value
  uint32_t result = kNone;               // atomics: register of the old value
  uint32_t site = kNone;                 // index into Decoded::sites
  uint32_t bytes() const { return uint32_t{width} * count; }
};

enum class ShuffleMode : uint8_t { up, down, bfly, idx };
enum class VoteMode : uint8_t { all, any, uni, ballot };
enum class BarrierMode : uint8_t { sync, arrive, popc, and_, or_ };
// service: execute/services.h; its sources are 64-bit registers.
enum class Callee : uint8_t { printf, malloc, free, assertion, texture, function, service };

struct Instruction {
  Kind kind = Kind::nothing;
  uint8_t mode = 0;    // ShuffleMode, VoteMode, BarrierMode, Callee, redux's AtomicOp, Nothing; branch: 1 = made from
                       // a ret; unknown: 1 = a call that leads to no function
  bool counts = true;  // false: helper of a PTX instruction that another entry counts
  bool names_lanes = false;  // *.sync: the last source is the mask of lanes that must take part
  bool is_signed = false;
  bool together = false;  // barriers: the lanes of a warp may reach it only together (bar.*, barrier.*.aligned)
  bool guard_negated = false;
  const PureOp* pure = nullptr;
  uint32_t guard = kNone;  // predicate register of @p
  std::array<uint32_t, 2> results{kNone, kNone};
  std::vector<Value> sources;
  uint32_t memory = kNone;        // index into Decoded::memory
  uint32_t target = kNone;        // branch: block index once the graph is built (before: instruction index)
  std::vector<uint32_t> targets;  // branch_table; collective: results
  uint32_t matrix = kNone;        // index into Decoded::matrices
  uint32_t place = kNone;         // index into Decoded::places
  uint32_t ptx_line = 0;
  bool keeps_loop = false;       // the loop that begins here is not unrolled
  uint32_t guard_tally = kNone;  // index of this guarded instruction's tallies
  uint32_t bulk = kNone;         // a copy that moves bytes of global memory past the lanes: index into Decoded::bulks
  std::string text;              // unknown: what to say; call: the callee's name
};

// A run of instructions with one entry and one end.
struct BasicBlock {
  uint32_t first = 0, last = 0;          // instructions [first, last)
  uint32_t taken = kNone, next = kNone;  // successors: of the branch, and by falling through
  std::vector<uint32_t> table;           // further successors of a branch table
  uint32_t reconverge = kNone;           // where lanes that part at this block's branch meet again; kNone: at exit
  bool divergent_branch = false;         // its branch may send lanes of one block of threads both ways
  bool divergent = false;                // may run with some of the block's live threads elsewhere ("D")
  bool waits = false;                    // begins with a *.sync instruction
  bool reachable = false;
  std::vector<uint32_t> live_in;  // registers, sorted
  // Static counts: what one execution of the block contributes.
  uint32_t instructions = 0;
};

// Calls `visit` with each block that may come next.
template <class Visit>
void successors(const BasicBlock& b, Visit visit) {
  if (b.next != kNone) visit(b.next);
  if (b.taken != kNone) visit(b.taken);
  for (const uint32_t t : b.table) visit(t);
}

// A region: lockstep blocks run by all warps of a thread block one after the other, from one barrier, uniform branch or
// entry to the next. Divergent blocks between them belong to the region in which they are entered.
struct Region {
  std::vector<uint32_t>
      chain;  // lockstep blocks in order (and divergent ones entered from them); the last one ends the region
  uint32_t after = kNone;  // where lanes go on that part at the last one's branch or within it; kNone: they exit
};

struct Site {  // one memory instruction (one per space for generic ones)
  uint32_t instruction = kNone;
  AddressSpace space = AddressSpace::global;
  Kind kind = Kind::load;
  bool returns = false;
  bool dynamic_requests = false;  // guarded or generic: requests are tallied, not derived
  bool merged = false;            // another site counts its requests (merge.h)
  uint8_t bytes = 4;              // per lane
};

// A bulk copy or a copy of a tensor, as counters know it.
struct BulkSite {
  enum class Traffic : uint8_t { load, store, reduction } traffic = Traffic::load;
  uint32_t place = kNone;
};

struct Place {         // a source line of an instruction; without line information, its line of PTX
  SourcePlace source;  // innermost place
  std::vector<SourcePlace> inlined_at;
  uint32_t ptx_line = 0;  // first PTX line that belongs to it
};

struct SharedVariable {
  std::string name;
  uint32_t offset = 0;
  uint64_t size = 0;
};

// A variable of shared or local memory that the kernel's text names.
struct ArrayVariable {
  AddressSpace space = AddressSpace::shared;
  std::string name;
  uint32_t offset = 0;
  uint64_t size = 0;  // 0: up to the end of shared memory
};

struct Decoded {
  std::string kernel;
  LaunchShape shape;
  std::vector<Register> registers;
  std::vector<Instruction> code;
  std::vector<BasicBlock> blocks;
  std::vector<Region> regions;      // regions[0] begins at the kernel's entry
  std::vector<uint32_t> region_of;  // block -> region that begins there, kNone
  std::vector<MemoryOp> memory;
  std::vector<Site> sites;
  std::vector<BulkSite> bulks;
  std::vector<MatrixForm> matrices;
  std::vector<Place> places;
  std::vector<uint32_t> line_of;  // by place: the number of its line, in source order
  uint32_t lines = 0;
  uint32_t guards = 0;              // guarded instructions
  bool needs_general_mode = false;  // named or partial barriers: warps run one by one from the start
  bool has_calls = false;           // function instances: calls that are not inlined
  bool ordered_atomics = false;
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;
  uint32_t live_registers = 0;    // highest number of live 32-bit registers
  uint32_t known_registers = 0;   // what ptxas has given a thread; 0: not known
  uint32_t known_code_bytes = 0;  // of what ptxas has made of it; 0: not known
  std::vector<SharedVariable> shared;
  std::vector<ArrayVariable> arrays;
};

// The symbols a kernel may name, resolved by the loader.
struct SymbolTable {
  virtual ~SymbolTable() = default;
  struct Symbol {
    bool found = false;
    bool is_constant_space = false;
    uint64_t address = 0;
  };
  virtual Symbol symbol(const std::string& name) const = 0;              // .global / .const variable
  virtual uint64_t function_address(const std::string& name) const = 0;  // generic "address" of a function, 0: none
};

// Everything above for one kernel. Throws Error for text that cannot be decoded at all; instructions without a meaning
// here become Kind::unknown.
std::unique_ptr<Decoded> decode(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols,
                                const LaunchShape& shape);

// Computes block-uniform values only: in a lockstep block it runs once per thread block, before the warps of its
// region.
bool hoistable(const Decoded& program, const Instruction& instruction);

// Layout of a kernel's parameters: offset of each and the total, by the ABI's natural alignment.
std::vector<uint32_t> parameter_offsets(const ptx::Function& kernel, uint32_t* total);

// The passes, in order (decode() calls them; tests may too).
void flatten(const ptx::Module&, const ptx::Function&, const SymbolTable&, Decoded&);
void build_graph(Decoded&);         // blocks, successors
void find_reconvergence(Decoded&);  // immediate post-dominators, early exits
void find_liveness(Decoded&);
void find_lane_classes(Decoded&);  // lane classes, ranges, divergent branches and blocks
void find_regions(Decoded&);

// Gives up lane classes and lockstep: every computed register is a vector, every block may run with any lanes.
void make_general(Decoded&);

}  // namespace coalesce::machine
