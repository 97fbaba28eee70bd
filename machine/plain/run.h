// The state of a launch: a thread block, its warps, the frames of calls, and where lanes are.
//
// A warp is a set of splits: lanes that are at the same place. Lanes that part at a branch become splits that meet at
// the branch's immediate post-dominator, lanes that call together meet where the call returns. A split runs until it
// meets others, waits or ends; then another one does.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "machine/execute/cluster.h"
#include "machine/plain/code.h"
#include "machine/plain/cost.h"

namespace coalesce::machine::plain {

// Ends the launch. `what` comes to the user.
struct Stop {
  Fault fault = Fault::none;
  std::string message;
  uint32_t lanes = 0;
  std::vector<std::string> notes;
};

struct Grid;
struct Block;

// A call in progress. Its variables lie in the lanes' local memory, from these offsets on.
struct Frame {
  const Code* code = nullptr;
  std::vector<uint64_t> cells;
  Frame* caller = nullptr;
  uint32_t returns_to = 0;  // instruction of the caller
  uint32_t local_base = 0, param_base = 0, depth = 0;
};

struct Meet;
using MeetPointer = std::shared_ptr<Meet>;

// Where splits meet. `at` is the end of the frame's code where a call returns.
struct Meet {
  Frame* frame = nullptr;
  uint32_t at = 0;
  bool returns = false;
  uint32_t arrived = 0, pending = 0;
  MeetPointer outer;
};

struct Split {
  Frame* frame = nullptr;
  uint32_t at = 0;
  uint32_t lanes = 0;
  MeetPointer meet;
  bool passed = false;   // the *.sync here has been met already
  bool counted = false;  // the instruction here has been counted already
};

// Local memory of a warp's lanes, in parts that grow: variables, function parameters, alloca.
struct LaneMemory {
  static constexpr uint64_t kParams = 1u << 28, kStack = 1u << 29;
  struct Part {
    std::vector<std::byte> bytes;
    uint64_t each = 0;  // of one lane
    void grow(uint64_t wanted);
  };
  Part parts[3];
  // The place of one lane's bytes; null: not all of them are there.
  std::byte* find(uint32_t lane, uint64_t offset, uint64_t bytes);
};

struct Warp {
  Block* block = nullptr;
  Grid* grid = nullptr;
  uint32_t index = 0, alive = 0;
  std::byte* base[4] = {};  // of operands: constants, special registers, the running frame's cells
  std::vector<uint64_t> specials;
  LaneMemory local;
  std::array<uint64_t, kLanes> stack{};  // alloca: where each lane's is free
  uint32_t carry = 0;                    // PTX's condition code, a bit per lane
  std::vector<std::unique_ptr<Frame>> frames, spare;
  std::deque<Split> ready;
  std::vector<Split> at_sync, at_barrier;
  Split now;
  bool running = false;
  bool polled = false;  // in this turn
  bool let_go = false;  // lanes did not wait where they meet: until they are one again
  uint32_t stalled = 0, unpolled_turns = 0;

  enum class End : uint8_t { exited, waits, turn };
  End run();

  Frame* enter(const Code& code, Frame* caller, uint32_t returns_to);
  void drop(Frame* frame);
  bool let_lanes_go(bool stuck = false);
  void resume(const Split& s);  // it has passed the barrier before which it stands
  bool interrupted() const;

 private:
  bool next();
  void step();
  void count(const Op& op, uint32_t lanes) const;
  bool meets_others(const Op& op);
  uint32_t named(const Split& s) const;
  bool same_sync(const Split& a, const Split& b) const;
  void go(uint32_t at);
  void arrive(const MeetPointer& meet, uint32_t lanes);
  void leave(MeetPointer meet);
  void part(const std::vector<std::pair<uint32_t, uint32_t>>& ways, uint32_t meet);
  void branch(const Op& op, uint32_t on);
  void table(const Op& op);
  void end_lanes(uint32_t lanes);
  void give_back();  // `ret`
  void call(const Op& op);
  void call_one(const Op& op, const ptx::Function* function, uint32_t lanes, const MeetPointer& meet);
  void finish_call(const Meet& meet, uint32_t lanes);
  uint32_t guarded(const Op& op, uint32_t lanes) const;
  void tell_written(const Op& op, uint32_t on) const;
};

struct Block {
  Block(Grid& grid, uint64_t number);
  Grid& grid;
  uint64_t number;
  std::array<uint32_t, 3> coordinates{};
  std::vector<std::byte> shared;
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<uint32_t, 16> arrived{};  // bar.arrive: threads
  Warp* current = nullptr;
  uint64_t executed = 0;  // warp instructions
  std::vector<Diagnostic> warnings;
  uint32_t idle = 0;   // turns of all its warps, one after the other, in which they only polled
  bool spins = false;  // holds lanes that wait for each other

  class Member final : public Cluster::Member {
   public:
    explicit Member(const Block& b) : block_(b) {}
    bool alive(uint32_t thread) const override { return block_.warps[thread / kLanes]->alive >> thread % kLanes & 1; }

   private:
    const Block& block_;
  };
  Member member{*this};
  std::shared_ptr<Cluster> cluster;  // its own, where it is in none
  uint32_t rank = 0;
  void join(std::shared_ptr<Cluster> to, uint32_t as);
  ~Block() {
    if (cluster) cluster->set(rank, nullptr);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  enum class Status : uint8_t { done, runs, idle };  // idle: all that ran has polled in vain
  Status advance();                                  // each warp gets a turn
  // A warning if a barrier that all lanes of a warp are to reach together is reached by a split that is not all of
  // them.
  void warn_if_apart(const Warp& w, const Split& s);

 private:
  uint32_t alive_lanes() const;
  bool release_barriers(bool stuck);
  [[noreturn]] void deadlock();
};

struct Grid {
  const Launch* launch = nullptr;
  Bodies bodies;
  const Observer* observer = nullptr;
  uint64_t blocks = 0;
  uint32_t threads = 0;  // of a block
  uint32_t shared_bytes = 0;
  std::vector<Counters> counters;     // by line
  std::vector<uint32_t> first_lines;  // by line; 0: not executed
  Touched touched;
  uint64_t executed = 0, spins = 0;
  std::map<uint64_t, std::string> output;
  const Allocation* last_found = nullptr;
  // The live allocation around these bytes; null: there is none.
  const Allocation* find(uint64_t address, uint64_t bytes);
};

// ---- What instructions use

// A lane's value of an operand; of predicates 0 or 1.
inline uint64_t value(const Warp& w, const Source& s, uint32_t lane) {
  const std::byte* from = w.base[s.base] + s.at;
  if (s.base != kLaunch) from += std::size_t{lane} * (s.bytes == 16 ? 16 : 8);
  const uint64_t v = *reinterpret_cast<const uint64_t*>(from);
  return s.bytes == 0 ? (v & 1) ^ uint64_t { s.negated } : v;
}
Wide wide_value(const Warp& w, const Source& s, uint32_t lane);

// Gives `d` a lane's value that is `bytes` wide (0: a predicate, not 0 for true), as wide as the register is.
void put(Frame& f, const Dest& d, uint32_t lane, uint64_t v, unsigned bytes);
void put_wide(Frame& f, const Dest& d, uint32_t lane, Wide v);
inline void put_predicate(Frame& f, const Dest& d, uint32_t lane, bool v) { put(f, d, lane, v, 0); }

Counters& counters_of(const Warp& w, const Op& op);

void run_row(Warp&, Frame&, const Op&, uint32_t on);
void run_unknown(Warp&, Frame&, const Op&, uint32_t on);
void run_compose(Warp&, Frame&, const Op&, uint32_t on);
void run_carry(Warp&, Frame&, const Op&, uint32_t on);
void run_move(Warp&, Frame&, const Op&, uint32_t on);
void run_pack(Warp&, Frame&, const Op&, uint32_t on);
void run_unpack(Warp&, Frame&, const Op&, uint32_t on);
void run_conversion(Warp&, Frame&, const Op&, uint32_t on);
void run_is_space(Warp&, Frame&, const Op&, uint32_t on);
void run_stack(Warp&, Frame&, const Op&, uint32_t on);
void run_load_store(Warp&, Frame&, const Op&, uint32_t on);
void run_atomic(Warp&, Frame&, const Op&, uint32_t on);
void run_copy(Warp&, Frame&, const Op&, uint32_t on);
void run_nothing(Warp&, Frame&, const Op&, uint32_t on);
void run_trap(Warp&, Frame&, const Op&, uint32_t on);
void run_shuffle(Warp&, Frame&, const Op&, uint32_t on);
void run_vote(Warp&, Frame&, const Op&, uint32_t on);
void run_active_mask(Warp&, Frame&, const Op&, uint32_t on);
void run_match(Warp&, Frame&, const Op&, uint32_t on);
void run_redux(Warp&, Frame&, const Op&, uint32_t on);
void run_elect(Warp&, Frame&, const Op&, uint32_t on);
void run_texture(Warp&, Frame&, const Op&, uint32_t on);
// The bits of one element in memory after an atomic operation with `a` (cas: with `a` and `b`).
uint64_t updated(const MemoryForm& form, Space space, uint64_t old, uint64_t a, uint64_t b);
// `bytes` at a generic address that this lane may use; a fault where it may not.
std::byte* bytes_at(Warp& w, const Op& op, uint32_t lane, uint64_t address, uint64_t bytes);
// Word `k` of an instruction that is described by words: three sources each, a value, what is added to it, and whether
// it is an address in shared memory.
uint64_t word_of(const Warp& w, const Op& op, uint32_t lane, std::size_t k);
void run_bulk(Warp&, Frame&, const Op&, uint32_t on);  // bulk.cpp
// The mbarrier object after an arrival and its kin (mbarrier.cpp).
uint64_t mbarrier_result(Arithmetic what, uint64_t old, uint64_t operand);
void run_mbarrier(Warp&, Frame&, const Op&, uint32_t on);
void run_matrix(Warp&, Frame&, const Op&, uint32_t on);
void run_group_matrix(Warp&, Frame&, const Op&, uint32_t on);
void run_quads(Warp&, Frame&, const Op&, uint32_t on);
// Functions that the machine provides: printf, malloc, free, assertions.
void run_builtin(Warp&, Frame&, const Op&, uint32_t on);
void run_service(Warp&, Frame&, const Op&, uint32_t on);  // isa/service.h
// Instructions that are services, and others of clusters (cluster.cpp).
void run_words(Warp&, Frame&, const Op&, uint32_t on);
void run_map_address(Warp&, Frame&, const Op&, uint32_t on);
void run_rank_of(Warp&, Frame&, const Op&, uint32_t on);
bool passed_cluster_barrier(Warp&, uint32_t on);

// Where lanes of a warp are, for messages.
Diagnostic diagnostic(const Warp& w, const Split& at, uint32_t lanes);

void fill_specials(Warp& w);
void fill_clock(Warp& w);

}  // namespace coalesce::machine::plain
