// A function as the plain executor runs it: one Op for each instruction of the text, its operands found once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/execute/ops/ops.h"
#include "machine/plain/plain.h"

namespace coalesce::machine::plain {

__extension__ using Wide = unsigned __int128;

inline constexpr uint32_t kNowhere = ~0u;

struct Warp;
struct Frame;
struct Op;
struct Code;
struct MatrixOp;
struct Video;
using Lanes = std::array<uint64_t, kLanes>;

inline uint32_t lanes_in(uint32_t mask) { return static_cast<uint32_t>(__builtin_popcount(mask)); }
inline uint32_t first_lane(uint32_t mask) { return static_cast<uint32_t>(__builtin_ctz(mask)); }

// Registers are cells of 8 bytes, one for each lane, zero-extended; predicates hold 0 or 0xffffffff. A 128-bit register
// has two cells a lane. Where 32 cells lie: in the code's constants (one for all lanes), among the warp's special
// registers, or in the frame; `at` is in bytes.
struct Source {
  Base base = kLaunch;
  uint32_t at = 0;
  uint8_t bytes = 8;  // of the register, or as wanted; 0: predicate
  bool negated = false;
};
struct Dest {
  int32_t at = -1;         // bytes into the frame's cells; -1: nobody's
  uint32_t reg = 0;        // index into the function's registers
  uint8_t bytes = 8;       // of the register; 0: predicate
  bool is_signed = false;  // what is narrower than the register is sign-extended
};

enum class Space : uint8_t { generic, global, shared, local, constant, param };
enum class Arithmetic : uint8_t {
  add,
  min,
  max,
  inc,
  dec,
  and_,
  or_,
  xor_,
  exch,
  cas,
  arrive,
  drop,
  expect,
  complete,
  arrive_expect,
  init,
  look
};
enum class Number : uint8_t { bits, is_unsigned, is_signed, f16, f16x2, bf16, bf16x2, f32, f64 };
enum class Access : uint8_t { load, store, atomic };

// One access of memory. Address: `address` + `offset`.
struct Place {
  Space space = Space::generic;
  Source address;
  int64_t offset = 0;
  bool counted = true;  // function parameters are not
};
struct MemoryForm {
  Place place;
  uint8_t width = 4, count = 1;  // bytes of one element; elements
  bool sign_extend = false;
  Arithmetic what = Arithmetic::add;
  Number number = Number::bits;
  bool row = false;      // of a matrix (ldmatrix): costs what a store costs
  bool returns = false;  // the old value is read by somebody, or exch and cas
  uint32_t bytes() const { return uint32_t{width} * count; }
};
struct CopyForm {  // cp.async
  Place from, to;
  uint32_t bytes = 4;
  bool past_l1 = false;
  int size = -1, ignore = -1;  // which of the sources is the source size, or says to ignore the source
};

// The effect of an instruction on the flow of control; `straight` ones have a function of their own.
enum class Flow : uint8_t { straight, branch, table, leave, exit, barrier, call, cluster_wait };

// Whereto a copy of a tensor moves bytes: Op::mode.
enum class Traffic : uint8_t { load, store, reduction };

using Run = void (*)(Warp&, Frame&, const Op&, uint32_t on);

struct Callee {
  const ptx::Function* function = nullptr;  // null: through a pointer
  int pointer = -1;                         // which source
  std::vector<const ptx::Function*> candidates;
  std::vector<std::string> arguments, results;  // the caller's variables
};

struct Op {
  Run run = nullptr;
  Flow flow = Flow::straight;
  int32_t guard = -1;  // where the predicate's cells are
  bool guard_negated = false;
  bool names_lanes = false;  // *.sync: the last source is the mask of lanes that take part
  bool any_sync = false;     // bar.warp.sync, which meets any other one
  bool begins = false;       // an instruction where a basic block begins
  bool polls = false;        // reads what other threads may write
  bool reads_clock = false;
  uint8_t mode = 0;
  bool together = false;    // barriers: the lanes of a warp may reach it only together
  uint32_t line = 0;        // index into the launch's lines
  uint32_t line_first = 0;  // first line of PTX of its place
  std::vector<Source> in;
  std::vector<Dest> out;
  const PureOp* row = nullptr;  // execute/ops: what is computed of a lane
  MemoryForm memory;
  CopyForm copy;
  uint32_t target = kNowhere;
  std::vector<uint32_t> targets;
  uint32_t meet = kNowhere;                      // where lanes that part here meet again; kNowhere: nowhere
  bool taken_exits = false, next_exits = false;  // that way of a branch is an exit and nothing else
  Callee callee;
  std::string text;
  uint32_t extra = 0;  // textures: the TextureOp; set: the bits of 1
  const ptx::Instruction* written = nullptr;
  std::shared_ptr<const MatrixOp> matrix;
  std::shared_ptr<const Video> video;
};

// A variable of a function: bytes into the frame's part of that space.
struct Variable {
  uint32_t at = 0;
  uint64_t size = 0;
};

struct Code {
  const ptx::Function* function = nullptr;
  bool is_kernel = false;
  std::vector<Op> ops;                // as the body; the end of the text is one past it
  std::vector<uint32_t> register_at;  // bytes into a frame's cells
  uint32_t cell_bytes = 0;            // of a frame
  std::vector<uint64_t> constants;    // two words each
  // Addresses of the function's own variables: cells that are filled when a frame is made.
  struct OwnAddress {
    uint32_t cells = 0;
    bool is_param = false;
    int64_t offset = 0;
  };
  std::vector<OwnAddress> own_addresses;
  std::map<std::string, Variable> locals, params;
  uint32_t local_bytes = 0, param_bytes = 0;
};

// Scratch cells of every frame: four sources, two results.
inline constexpr uint32_t kScratchCells = 6, kCellsBytes = 8 * kLanes;

// The bodies a launch needs, and what they share.
struct Bodies {
  const Launch* launch = nullptr;
  std::map<const ptx::Function*, std::unique_ptr<Code>> codes;
  std::map<std::string, uint32_t> shared;                    // variable -> offset
  std::vector<std::pair<std::string, uint64_t>> parameters;  // of the kernel, with their offsets
  uint32_t static_shared_bytes = 0;
  bool allocates = false;  // calls malloc
  // Lines to which counts are attributed: of the source, else of the text.
  std::vector<SourcePlace> line_places;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, uint32_t> line_of;
};

Bodies decode(const Launch& launch);

// Where the lanes that part at each branch meet, and which ways only lead to the end (meets.cpp).
void find_meets(Code& code, const Bodies& bodies);

// "ld.global.v4.f32": the opcode and the words after it.
struct Words {
  explicit Words(std::string_view mnemonic);
  bool has(std::string_view word) const;
  std::string_view opcode;
  std::vector<std::string_view> rest;
};

// Which special register of a warp a name means; -1: none. The cells are filled by fill_specials().
int special_index(std::string_view name);
enum Special : int {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kGridid,
  kMaskEq,
  kMaskLe,
  kMaskLt,
  kMaskGe,
  kMaskGt,
  kDynamicSmem,
  kTotalSmem,
  kEnvreg1,
  kEnvreg2,
  kCurrentGraph,
  kClock,
  kClockHigh,
  kTime,
  kTimeHigh,
  kClusterIdX,
  kClusterIdY,
  kClusterIdZ,
  kNclusterIdX,
  kNclusterIdY,
  kNclusterIdZ,
  kClusterCtaX,
  kClusterCtaY,
  kClusterCtaZ,
  kClusterNctaX,
  kClusterNctaY,
  kClusterNctaZ,
  kClusterRank,
  kClusterBlocks,
  kSpecials
};

}  // namespace coalesce::machine::plain
