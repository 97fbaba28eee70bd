// A decoded kernel as the interpreter runs it: steps (execute/ops/ops.h) in streams, and where every value lives.
//
// Three areas of slots: of the launch (constants, parameters; written once), of the thread block (block-uniform
// values), of each warp. A general register is a vector slot of its warp. A register of a lower lane class is one
// scalar (affine: lane 0's value); where a vector operation reads it, a step expands it after each definition.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "machine/execute/ops/ops.h"
#include "machine/program/program.h"

namespace coalesce::machine {

struct Warp;
struct Access;
struct MatrixGroup;  // matrices.cpp

inline constexpr Slot kNoSlot = ~Slot{0};

// Moves values between registers and memory for the lanes of `mask`: at base + lane * bytes, or at host[lane].
using MoveContiguous = void (*)(const Access&, Warp&, std::byte* base, uint32_t mask);
using MoveTable = void (*)(const Access&, Warp&, const uint64_t* host, uint32_t mask);
// One lane's atomic: returns the old value. Operands and result are raw bits in the low bytes.
__extension__ typedef unsigned __int128 u128;
using AtomicLane = u128 (*)(std::byte* where, u128 a, u128 b);

// All but the first: from a scalar slot. strided: lane l at base + l * stride.
enum class AddressShape : uint8_t { vector, uniform, contiguous, strided };
inline constexpr std::size_t kAddressShapes = 4;

// How many lanes of a warp a store carries out in one pass. Passes go in the order of the lanes. Where lanes store to
// one place, the last pass that has any of them decides, and of those the lowest lane's value stays. A cp.async through
// L1 has a pass for each lane (measured: tests/truth/stores.jsonl).
inline uint32_t lanes_of_a_pass(const MemoryOp& m) {
  if (m.is_copy && !m.past_l1) return 1;
  return m.bytes() <= 4 ? kLanes : 128 / m.bytes();
}

// A memory operation as its handlers see it.
struct Access {
  const MemoryOp* op = nullptr;
  uint32_t instruction = kNone;
  uint32_t site = kNone;  // kNone: not counted
  uint32_t window = 0;    // index of the worker's cached allocation (one per memory operation)
  AddressShape shape = AddressShape::vector;
  bool address_is_64 = true;
  bool scalar_results = false;   // loads with a uniform address into scalar slots
  bool counts_requests = false;  // Site::dynamic_requests
  bool words = false;            // one element of 4 bytes a lane, registers of 4 bytes
  bool plain = false;            // words of shared memory in a row, or one into a scalar; requests not counted
  uint8_t bytes = 4;             // per lane: width * count
  uint32_t stride = 0;           // strided: bytes, a multiple of 4
  uint32_t wavefronts = 0;       // strided: of a full warp, wherever it begins
  Slot address = 0;
  int64_t offset = 0;
  std::array<Slot, 8> values{};
  Slot result = kNoSlot;  // atomics; vector
  MoveContiguous move_contiguous = nullptr;
  MoveTable move_table = nullptr;
  void (*move_uniform)(const Access&, Warp&, const std::byte* at, uint32_t mask) = nullptr;
  AtomicLane atomic = nullptr;
  Handler unchecked = nullptr;  // of checked code: what moves and counts
};

// Operations between lanes: shuffles, votes ... (execute/lane_ops.cpp), and calls.
struct LaneOp {
  const Instruction* instruction = nullptr;
  uint32_t index = kNone;     // of the instruction
  std::vector<Slot> sources;  // vectors
  std::array<Slot, 2> results{kNoSlot, kNoSlot};
  std::array<bool, 2> scalar{false, false};  // result goes to a scalar slot
  const MatrixForm* matrix = nullptr;        // Kind::collective
  std::vector<Slot> targets;                 //   its results, vectors
  std::shared_ptr<const MatrixGroup> group;  //   it and the products that this step does, too
  Handler unchecked = nullptr;               // of checked code: what it does
};

// The registers that a call of a function instance saves: those its caller needs afterwards.
struct SaveOp {
  struct Item {
    Slot slot;
    Element element;
  };
  std::vector<Item> items;
  uint32_t bytes = 0;
  uint32_t instruction = kNone;
};

struct Guarded {  // @p around one step
  Step inner;
  Slot predicate = 0;
  bool negated = false;
  uint32_t tally = 0;
};

struct Expand {
  int64_t stride = 0;
};

struct Stream {
  uint32_t first = 0, last = 0;
};

enum class EndKind : uint8_t { jump, branch, table, exit, barrier, call, ret };

struct BlockCode {
  Stream lockstep;  // without the hoisted instructions (lockstep blocks)
  Stream general;   // everything
  EndKind end = EndKind::jump;
  bool divergent = false;  // runs inside a divergent stretch
  bool divergent_branch = false;
  bool negated = false;
  bool waits = false;            // begins with *.sync: `mask` names the lanes
  bool polls = false;            // reads what other threads may write: a loop of it may be waiting for them
  bool waits_for_phase = false;  // ... and that is an mbarrier's wait
  bool takes = false;            // has an atomic with a result
  bool ends_region = false;
  bool waits_for_any = false;  // ... and it is a bar.warp.sync, which meets any other
  bool wait_mask_is_vector = false;
  Slot predicate = 0;  // branch: of the lanes; table: vector of indexes
  Slot wait_mask = 0;
  uint32_t taken = kNone, next = kNone, reconverge = kNone;
  const std::vector<uint32_t>* table = nullptr;
  const Instruction* barrier = nullptr;
  uint32_t barrier_id = 0;                                       // constant ids
  Slot barrier_id_slot = kNoSlot, barrier_count_slot = kNoSlot;  // general mode: read per warp
  Slot barrier_predicate = kNoSlot, barrier_result = kNoSlot;
  bool barrier_result_scalar = false;
  Step barrier_expand;  // run when set: the result's vector form
};

struct BuiltinSlot {
  uint32_t reg;  // index into Decoded::registers
  Slot scalar = kNoSlot, vector = kNoSlot;
};

struct Constant {
  Element element;
  uint64_t bits;
  Slot scalar = kNoSlot, vector = kNoSlot;
};

// A register's place: its scalar, its vector form, or both.
struct Home {
  Slot scalar = kNoSlot, vector = kNoSlot;
};

// Bytes of the block's area that a region's hoisted instructions overwrite although an earlier value may still be
// needed.
struct Saved {
  uint32_t offset = 0, bytes = 0;
};

// A block that several warps of a thread block can run step by step, and the one beside the way to the next such block,
// if there is one: lanes that its branch sends there run it and come to that next block, too.
struct Together {
  uint32_t block = kNone, beside = kNone;
};

// Shared, so that who makes native code of it beside a launch keeps it.
struct Code : std::enable_shared_from_this<Code> {
  const uint64_t id = next_id();  // from 1 on, of all that this process has made
  std::unique_ptr<Decoded> program;
  std::vector<Step> steps;
  std::vector<uint32_t> instruction_of;  // by step; kNone: it moves an instruction's result to another form
  std::vector<BlockCode> blocks;         // as program->blocks
  // Per region, per block of its chain: the hoisted instructions; and what to save before they run.
  std::vector<std::vector<Stream>> hoisted;
  std::vector<std::vector<Saved>> saved;
  std::vector<std::vector<Together>> together;  // per region: how it begins
  std::vector<Home> homes;                      // as program->registers
  std::vector<std::unique_ptr<Access>> accesses;
  std::vector<std::unique_ptr<LaneOp>> lane_ops;
  std::vector<std::unique_ptr<SaveOp>> saves;
  std::vector<std::unique_ptr<Guarded>> guards;
  std::vector<std::unique_ptr<Expand>> expands;
  std::vector<Constant> constants;
  std::vector<BuiltinSlot> builtins;
  uint32_t launch_bytes = 0, block_bytes = 0, warp_bytes = 0;
  bool checked = false;  // every access is looked at first (machine/check)
  // The same program with every computed register general: for blocks whose lanes wait for each other, so that they
  // must be able to be anywhere. Made when first needed.
  mutable std::once_flag scattered_once;
  mutable std::unique_ptr<Code> scattered;

 private:
  static uint64_t next_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
};

// Cost: linear in the program. `program` is kept.
std::unique_ptr<Code> lower(std::unique_ptr<Decoded> program, bool checked = false);
// code.scattered, made now if need be. Safe from several threads.
const Code& scatter(const Code& code);

// Handlers that lower() picks from (memory_ops.cpp, atomics.cpp, lane_ops.cpp).
// Whether accesses of this kind to this space have a handler for addresses of this shape: all have one for `vector`.
bool takes_shape(AddressSpace space, Kind kind, AddressShape shape);
// Throws std::logic_error where there is none.
Handler memory_handler(const MemoryOp& op, Kind kind, AddressShape shape);
void choose_movers(Access& access, Kind kind);
AtomicLane atomic_lane(const MemoryOp& op);
Handler lane_handler(const Instruction& instruction);

}  // namespace coalesce::machine
