// `coalesce check`: kernels on the interpreter, each access looked at. What is wrong becomes a diagnostic.
//
// Lowered code runs each access through observed_access() first (Checks), fences and waits through observed_event(),
// and blocks report their barriers. One thread of the host runs all blocks: findings are the same in every run.
//
// Reading order: clocks.h (what is ordered), shadow.h (what is remembered), this, check.cpp, order.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "machine/check/agents.h"
#include "machine/check/backoff.h"
#include "machine/check/clocks.h"
#include "machine/check/footprint.h"
#include "machine/check/provenance.h"
#include "machine/check/quiet.h"
#include "machine/check/rules.h"
#include "machine/check/seen.h"
#include "machine/check/shadow.h"
#include "machine/check/undefined.h"
#include "machine/execute/observer.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

// The accessor of a cell: all accesses of a warp by one instruction between two of its synchronisations.
struct AccessRecord {
  uint64_t block : 47, warp : 6;
  uint64_t under_way : 1;  // a cp.async that has not been waited for
  uint64_t asked_by : 10;  // an agent's: the thread
  Clock clock;
  uint32_t instruction;
  bool is(uint64_t of_block, uint32_t of_warp, Clock at) const {
    return block == of_block && warp == of_warp && clock == at;
  }
};

class BlockCheck;

// The state of a launch that its blocks share. Access ids go on from launch to launch: shadow cells need no clearing.
class LaunchCheck final : public LaunchObserver {
 public:
  static constexpr std::size_t kFewRecords = 1u << 16, kMostRecords = 1u << 20;  // before they are looked through
  // `records`: memory to use, of an earlier launch.
  LaunchCheck(Launch& launch, AccessId first, uint64_t room, std::vector<AccessRecord> records = {});
  std::vector<AccessRecord> give_records() { return std::move(records_); }  // at the end
  std::unique_ptr<BlockObserver> observe_blocks() override;
  bool checks() const override { return true; }

  AccessId add(const AccessRecord& record);
  AccessId first() const { return first_; }
  const AccessRecord& operator[](AccessId id) const { return records_[id - first_]; }
  AccessId next() const { return first_ + static_cast<AccessId>(records_.size()); }
  const AccessRule& rule(uint32_t instruction) const { return rules_[instruction]; }
  Launch& launch() { return launch_; }
  Handovers& places() { return places_; }
  Footprint& footprint(bool waited) { return waited || !early_ ? footprint_ : *early_; }
  std::vector<AccessSite> take_accesses();
  bool block_scopes() const { return block_scopes_; }  // the kernel has fences or strong accesses of block scope
  bool may_poll() const { return may_poll_; }          // an instruction of the kernel may

  // Forgets records that no cell names, now and then: cells bound their number. Ids change.
  void tidy() {
    if (records_.size() >= enough_) forget();
  }
  void enter(BlockCheck* b) { blocks_.insert(b); }
  void leave(BlockCheck* b) { blocks_.erase(b); }

  // Race detection stops when its memory is full; take() says so.
  uint64_t made = 0;  // bytes of cells
  bool room() { return full_ ? false : !(full_ = made + records_.size() * sizeof(AccessRecord) > room_); }

  using Seen = machine::Seen;
  // The lane that has changed a word last by an atomic or a strong store.
  struct Changer {
    uint64_t block = 0;
    uint32_t warp = 0, lane = 0, instruction = kNone;
  };
  std::unordered_map<uint64_t, Changer>& changers() { return changers_; }  // of global memory, by address
  void count_change() { ++changes_; }                                      // of memory that others read
  uint64_t changes() const { return changes_; }
  std::string name_address(const Seen& s) const;
  std::string name_place(uint32_t instruction) const;
  std::string name_changer(const Changer& c) const;

  void found(const Seen& s);
  // Counts one more of a finding that is shown as it is. False: it is for found().
  bool counts_again(const Seen& s);
  // Notes the first unwritten value that an instruction has read: it is named where it is used.
  void read_undefined(const Seen& s) { origins_.emplace(s.instruction, s); }
  // Whether a load may read the padding or an unset member of a structure, as far as the kernel's text tells.
  bool may_read_padding(uint32_t operation) const { return may_read_padding_[operation]; }
  Carried& carried() { return carried_; }  // of global memory, by address
  // The agents that the kernel may have: kAgents, or 0.
  uint32_t agents() const { return agents_; }
  std::optional<Agent> agent(const AccessRecord& r) const {
    const uint32_t first = launch_.warps_per_block;
    return r.warp < first ? std::nullopt : std::optional(static_cast<Agent>(r.warp - first));
  }
  BlockCheck* running(uint64_t block) const;  // null: it has ended
  // The knowledge of those threads of the block's cluster that have come to its barrier in that phase.
  View& meeting(uint64_t block, uint64_t phase);
  void ended(uint64_t block);
  const std::vector<Skip>& skips() const { return skips_; }
  const std::vector<Skip>& lane_skips() const { return lane_skips_; }
  bool tells_skips(uint32_t block) const { return tells_skips_[block]; }  // a basic block that one of them names
  const Backoffs& backoffs() const { return backoffs_; }
  // The bytes that an operation's address may reach, of shared or local memory, or of global memory.
  struct Bounds {
    bool any = true;  // no limits are known
    AddressSpace space = AddressSpace::global;
    uint64_t base = 0, end = 0;
    const Allocation* variable = nullptr;  // of global memory: its address is made of that one's, with no limits
  };
  const Bounds& bounds(uint32_t operation) const { return bounds_[operation]; }
  // True if nothing of the kernel's can write the allocation, but past the end of another: its reads race with none.
  bool only_read(const Allocation* a) const { return !writes_any_ && !written_.contains(a); }
  // The same of memory that only the kernel's accesses can change. True of strays(): it has been written all the same.
  bool leaves_alone(const Allocation& a) const;
  bool strays() const { return strays_; }
  void stray() { strays_ = true; }
  // Pointers from memory and from malloc that addresses are made of have numbers. The pointer of an operation's
  // address; those that it loads, by element; the one that a call of malloc gives; kNone: none.
  uint32_t pointer_of(uint32_t operation) const { return pointer_of_[operation]; }
  const std::vector<std::pair<uint32_t, uint32_t>>& loads_pointers(uint32_t operation) const {
    return loads_[operation];
  }
  uint32_t given_pointer(uint32_t instruction) const {
    const auto at = given_.find(instruction);
    return at == given_.end() ? kNone : at->second;
  }
  uint32_t pointers() const { return pointers_; }
  std::vector<Diagnostic> take();

 private:
  void forget();
  Diagnostic describe(const Seen& s) const;
  void explain(const Seen& s, Diagnostic& d) const;
  std::array<uint32_t, 3> thread(uint32_t warp, uint32_t lane) const;
  std::array<uint32_t, 3> block(uint64_t index) const;

  Launch& launch_;
  uint32_t agents_ = 0, pointers_ = 0;
  struct Meeting {
    uint64_t phase = 0;
    View told;
  };
  std::map<uint64_t, std::array<Meeting, 2>> meetings_;  // by cluster; by the parity of the phase
  AccessId first_;
  uint64_t room_;
  bool full_ = false, block_scopes_ = false, may_poll_ = false, writes_any_ = false, strays_ = false;
  uint64_t left_out_ = 0;  // lanes' hazards at places beyond the most that are kept
  std::vector<AccessRecord> records_;
  std::vector<AccessRule> rules_;  // by instruction
  Handovers places_;               // of global memory
  Footprint footprint_;
  std::unique_ptr<Footprint> early_;  // before griddepcontrol.wait, if the kernel has one
  void find_bounds();
  void find_written();
  void find_padding();
  std::string name_bounds(const Seen& s) const;
  std::set<const Allocation*> written_;
  uint64_t changes_ = 1;
  std::unordered_map<uint64_t, Changer> changers_;
  std::vector<Skip> skips_, lane_skips_;
  std::vector<char> tells_skips_;
  Backoffs backoffs_;
  std::vector<Bounds> bounds_;
  std::vector<bool> may_read_padding_;  // by memory operation
  Carried carried_;
  std::vector<uint32_t> pointer_of_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> loads_;
  std::map<uint32_t, uint32_t> given_;
  std::map<uint32_t, Seen> origins_;
  std::set<BlockCheck*> blocks_;
  std::size_t enough_ = kFewRecords;
  struct Finding {
    Diagnostic diagnostic;
    uint32_t apart;  // as Seen::apart
  };
  using FindingKey = std::tuple<Hazard, uint32_t, uint32_t>;  // its two instructions
  FindingKey key_of(const Seen& s) const;
  std::map<FindingKey, Finding> findings_;
  std::pair<const FindingKey, Finding>* last_found_ = nullptr;
};

// The state of one thread block at a time, like BlockRun.
class BlockCheck final : public BlockObserver {
 public:
  explicit BlockCheck(LaunchCheck& launch);
  ~BlockCheck() override;
  BlockCheck(const BlockCheck&) = delete;
  BlockCheck& operator=(const BlockCheck&) = delete;
  void begin(uint64_t block) override;  // shared and local memory hold nothing, nobody has seen anything

  void access(const Access& a, Warp& w) override;
  void event(const Instruction& i, Warp& w) override;  // Nothing
  void lanes(const LaneOp& op, Warp& w) override;
  void enters(uint32_t block, Warp& w) override;
  void computes(uint32_t instruction, Warp& w) override;
  void decides(uint32_t instruction, uint32_t mask, Warp& w) override;
  void barrier(const std::vector<Arrival>& at, uint32_t id, bool whole) override;
  void arrive(uint32_t warp, uint32_t id) override;  // bar.arrive: leaves what it has seen for barrier `id`
  void moves(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w) override;
  void completes(uint64_t object, Warp& w) override;
  void meets(uint32_t lanes, uint64_t phase, Meets how, Warp& w) override;
  void ends() override;
  bool runs(uint64_t block) const { return running_ && block_ == block; }
  void gave(uint32_t instruction, uint32_t lane, uint64_t address, Warp& w) override;
  void turn_ends(Warp& w) override;
  bool waits(const Warp& w, uint32_t lanes) override;
  std::string waits_for(const Warp& w, uint32_t lanes, uint32_t& instruction) override;

  // For LaunchCheck::forget(): calls `visit` with each id that it holds, which may change it; forgets needless ones.
  template <class Visitor>
  void visit_ids(Visitor visit);
  void move_first(const std::vector<AccessId>& moved, AccessId first) { first_ = moved[first_ - first]; }

 private:
  struct Target;  // one lane's access
  struct Lanes;
  class Known;
  class Met;
  struct Copy {  // a cp.async that has not been waited for; no bytes: an mbarrier object's, `at` its agent's lane
    uint32_t lane, group, at, bytes;
    AccessId id;
  };
  struct BulkGroup {  // bulk copies of a lane that have not been waited for
    uint32_t lane, group;
    Clock reads, writes;
  };
  struct Polled {  // the last read that may be waiting for a value
    uint32_t instruction = kNone, lane = 0, bytes = 0;
    uint64_t address = 0;
    const Access* access = nullptr;
  };
  struct Before {  // an atomic's word before it
    const std::byte* at = nullptr;
    uint64_t old = 0;
    uint32_t width = 0;
    AddressSpace space = AddressSpace::global;
    uint64_t address = 0;
    LaunchCheck::Changer by;
  };
  struct Ids {
    Clock clock = 0;
    AccessId id = 0;
  };
  struct WarpState {
    WarpView view;
    std::vector<Ids> ids;  // by memory operation
    std::vector<Copy> copies;
    std::vector<BulkGroup> bulk;
    std::array<uint32_t, 32> group{}, bulk_group{};  // of each lane: the group its copies go to
    UndefinedRegisters undefined;
    std::vector<std::array<uint64_t, 32>> pointers;  // by number: what each lane has got last; 0: nothing
    // A barrier of the warp that can be gone past: the lanes that came to the branch, and to the block behind it.
    std::vector<std::pair<uint32_t, uint32_t>> lanes_passed;
    // At the ends of its turns since memory has changed last: its states, and the lanes of which one came again.
    uint64_t turn_changes = 0;
    std::set<uint64_t> states;
    std::vector<std::pair<uint32_t, Polled>> repeats;
    Polled polled;
    bool waited = false;  // for the launches before (griddepcontrol.wait), or behind a barrier for a warp that has
    // One entry a skip, since the last barrier: 1 it has come to the branch, 2 and to the block behind it.
    std::vector<uint8_t> passed;
  };

  // --- check.cpp: cells
  AccessId id_of(const Access& a, uint32_t warp);
  uint64_t address_of(const Access& a, const Warp& w, uint32_t lane) const;
  bool locate(const Access& a, const Warp& w, uint64_t address, uint64_t bytes, Target& t);
  bool within(const Access& a, const Target& t, uint64_t bytes) const;
  bool check_heap(const Access& a, const Target& t);
  void load_pointers(const Access& a, const Warp& w);
  bool within_pointer(const Access& a, const Target& t);
  void touch(const Access& a, const Target& t, uint32_t bytes);
  bool as_whole(const Access& a, Warp& w, bool races);
  bool ends_handover(const Target& t, uint32_t element) const;
  bool whole_line(const Access& a, Warp& w, uint64_t base, bool races);
  bool one_word(const Access& a, Warp& w, bool races);
  bool apart(const Access& a, Warp& w, const Lanes& lanes, bool races);
  bool apart_local(const Access& a, const Warp& w, const Lanes& lanes, const Target& t);
  bool apart_cells(const Access& a, const Warp& w, const Lanes& lanes, const Target& t, uint64_t shadow);
  bool quiet(const Target& t, bool reads) const;
  void note_quiet(const QuietReads::Read& r, const Lanes* lanes, uint64_t base);
  void hear_quiet();
  bool before_all(const Accessed& before, const Target& t, bool line) const;
  static bool stale(const Access& a, const Cell& cell, const Target& t);
  void add_reader(Cell& cell, const Accessed& reader, const Target& t, bool line) const;
  bool store_lane(const Access& a, Warp& w, const Target& t);
  // --- uninitialised.cpp
  void check_written(const Access& a, const Warp& w, const Target& t);
  void load_undefined(const Access& a, const Target& t, uint32_t element);
  void store_undefined(const Access& a, const Target& t, uint32_t element);
  void check_use(const Value& v, uint32_t mask, uint32_t instruction, uint32_t warp, const char* use);
  bool meets_undefined(const Access& a, const Warp& w) const;
  Carried& carried(const Target& t);
  bool may_be_padding(const Access& a, const Target& t, uint64_t at) const;
  void move_undefined(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w);
  void forget_results(const Instruction& i, const Warp& w);

  void check_cell(Cell& cell, uint64_t at, const Access& a, const Target& t, bool same_value);
  bool observed(const Past& past, const Target& t) const;
  bool meets_its_like(Cell& cell, uint64_t at, const Target& t, Met& met);
  void keep_past(const Cell& cell, uint64_t at, bool reads, const Target& t);
  bool ordered(const Accessed& before, const Target& t, bool strong, uint32_t* lane) const;
  void race(const Accessed& before, uint32_t lane, const Access& a, const Target& t);
  LaunchCheck::Seen seen(Hazard hazard, const Access& a, const Target& t) const;
  // --- waits.cpp
  void changed(AddressSpace space, uint64_t address, const LaunchCheck::Changer& by);
  void settle_atomics();
  void note_polled(const Access& a, const Warp& w);
  // --- agents.cpp: what goes on beside the threads, and other blocks of the cluster
  AgentLane& agent(Agent who, uint32_t lane) { return agents_[static_cast<std::size_t>(who)][lane % kLanes]; }
  AccessId agent_id(Agent who, uint32_t lane, uint32_t instruction, uint32_t asked_by);
  void agent_access(const BulkPart& part, bool writes, uint32_t instruction, uint32_t lane, Warp& w);
  View done_before(Agent who, uint32_t lane, Clock clock) const;
  void check_proxy(Cell& cell, const Access& a, const Target& t);
  void wait_bulk(WarpState& s, const Instruction& i, const Warp& w, bool reads_only);
  void come_back(const Access& a, const Target& t);
  std::size_t clocks() const { return warps_.size() * (check_.agents() ? 3 : 1) + check_.agents(); }
  uint32_t fenced_warp(AddressSpace space, uint32_t warp) const;
  // --- order.cpp: what synchronises
  bool all_meet(const std::vector<Arrival>& at, bool whole) const;
  void hand_over(const Access& a, const Warp& w, const Target& t);
  bool swaps(const Access& a, const Warp& w, const Target& t);
  void finish_copies(Warp& w, uint32_t left);
  void copies_arrive(const Instruction& i, Warp& w);
  void check_skipped(const std::vector<Arrival>& at);
  void note_passed(uint32_t block, const Warp& w);
  void check_skipping_lanes(const LaneOp& op, uint32_t named, const Warp& w);
  const char* missing(const AccessRecord& before, uint32_t lane, const Access& a, const Target& t) const;

  LaunchCheck& check_;
  uint64_t block_ = 0;
  bool running_ = false;
  std::array<std::array<AgentLane, kLanes>, kAgents> agents_;
  struct Visit {  // another block's last access of this one's shared memory, by an instruction of a lane
    Clock clock = 0;
    LaunchCheck::Seen seen;
  };
  std::map<std::tuple<uint32_t, uint64_t, uint32_t>, Visit> visits_;  // instruction, block, thread
  AccessId first_ = 0;                                                // shared memory: older ids come before all
  uint32_t epoch_ = 0;                                                // counts blocks: of shared memory's cells
  std::vector<WarpState> warps_;
  Written shared_written_, local_written_;
  Carried shared_carried_, local_carried_;
  Cells shared_;
  Handovers places_;               // of shared memory
  std::vector<uint64_t> changed_;  // where a lane's compare-and-swap of this instruction succeeds; its mbarrier objects
  std::map<uint32_t, View> arrived_;  // by barrier: what warps that did not wait have left there
  std::vector<Before> before_;        // of atomics under way
  std::unordered_map<uint64_t, LaunchCheck::Changer> changers_;  // of shared memory
  const Allocation* last_ = nullptr;                             // that was accessed
  struct Window {
    const Allocation* known = nullptr;
    bool only_read = false;
  };
  std::vector<Window> windows_;  // the same by memory operation
  QuietReads reads_;             // of shared memory
  bool may_be_quiet_;
};

template <class Visitor>
void BlockCheck::visit_ids(Visitor visit) {
  shared_.visit_all(epoch_, false, [&](Accessed& a) {
    if (a.id < first_) a = {};
    visit(a.id);
  });
  for (QuietReads::Read& r : reads_.all()) visit(r.id);
  for (auto& lanes : agents_)
    for (AgentLane& a : lanes) a.id = 0;
  for (WarpState& s : warps_) {
    for (Ids& i : s.ids) i = {};
    for (Copy& c : s.copies) visit(c.id);
  }
}

// One lane's access, as check.cpp and order.cpp know it.
struct BlockCheck::Target {
  AddressSpace space = AddressSpace::global;
  uint32_t warp = 0, lane = 0;
  uint64_t address = 0;        // in its space
  uint64_t at = 0;             // in the shadow
  Written* written = nullptr;  // null: begins with a content
  Cells* cells = nullptr;      // null: nobody else reaches it
  std::byte* host = nullptr;
  BlockCheck* home = nullptr;        // shared memory: whose
  uint32_t as = 0;                   // the bit of the accessor's lane
  const AccessRule* rule = nullptr;  // null: the instruction's
  AccessId first = 0, id = 0;        // ids before `first` are of accesses long ago
  uint32_t epoch = 0;                // of the cells
};

}  // namespace coalesce::machine
