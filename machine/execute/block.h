// One thread block being run.
//
// Lockstep mode: region by region, all warps of the block run a region before any enters the next; block-uniform values
// are computed once per region. It needs no state between regions but the registers.
// General mode: warps have places of their own. Entered when a warp stops in the middle of a region: at a barrier in
// divergent code, or because it spins. Left at the first barrier at which all warps have come together again.
// Scattered (a form of general mode): where lanes that have reached their meeting point must go on for others to get
// there at all, the block's state moves to code in which every register is a vector (scatter()), until the block ends.
#pragma once

#include <vector>

#include "machine/execute/cluster_seat.h"
#include "machine/execute/native.h"
#include "machine/execute/observer.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

class BlockRun {
 public:
  BlockRun(Worker& worker);
  ~BlockRun();

  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  void start(uint64_t index);
  // Native code for this kernel from now on; may be null.
  void use(std::shared_ptr<const NativeKernel> kernel);
  // start() for [first, end): advance() runs them all, as far as there is native code. index() is the one it is at.
  void start(uint64_t first, uint64_t end);
  enum class Status : uint8_t { done, yielded };
  // Runs until the block has ended, or until it has made no visible progress for a while (it may wait for other
  // blocks). Throws KernelFault.
  Status advance();

  // Times in a row that advance() has yielded without a lane having exited or a barrier completed.
  uint32_t idle_yields() const { return idle_yields_; }

  // Observed blocks: true if none of its threads can go on before another block changes memory.
  bool waits_for_others() const;
  // Adds what each of its waiting threads waits for; the fault is at the first of them.
  void add_waits(KernelFault& f) const;
  ClusterSeat& seat() { return seat_; }

  // Warp instructions the block has executed.
  uint64_t instructions() const { return executed_ + worker_.instructions - uncounted_; }
  uint64_t index() const { return index_; }
  const std::array<uint32_t, 3>& coordinates() const { return ctaid_; }
  // The warp that ran last, for messages; its number within the block.
  uint32_t current_warp() const { return current_; }
  const std::vector<Diagnostic>& warnings() const { return warnings_; }

  const Code& code() const { return *code_; }
  BlockObserver* observer() { return observer_; }  // null: nobody looks at what it does

  // --- for native code, which runs on this block's state
  Worker& worker() { return worker_; }
  std::vector<Warp>& warps() { return warps_; }
  std::byte* block_area() { return block_area_; }
  bool native_fresh() const { return native_end_ != 0; }  // the block has not begun
  // The position of native code, for messages.
  void native_at(uint64_t block, uint32_t warp, uint32_t basic_block);
  // Adds up what has run so far, as charge(), with the block, warp and lanes it stands at.
  void native_charge(uint64_t block, uint32_t warp, uint32_t basic_block, uint32_t mask);

 private:
  enum class Stop : uint8_t { region_end, exited, waiting, slice };
  enum class Mode : uint8_t { lockstep, general };
  // Basic blocks a warp runs before it lets others have a turn, if it polls memory meanwhile (BlockCode::polls).
  // Counted in blocks, never in time, and by each thread block for itself: counters must not depend on the threads.
  static constexpr uint32_t kSlice = 1u << 12;
  uint32_t slice() const;
  void begin_turn();

  // --- one warp
  Stop run_warp(Warp& w, Mode mode);
  bool next_split(Warp& w);
  void split(Warp& w, uint32_t mask_taken, uint32_t taken, uint32_t other, uint32_t reconverge);
  uint32_t split_table(Warp& w, const BlockCode& code);
  bool go(Warp& w, uint32_t block);  // moves `now` to `block`; false: it arrived at its join and waits there
  void arrive(Warp& w, uint32_t join, uint32_t mask);
  void leave(Warp& w, uint32_t join);  // a split of the join has ended
  uint32_t new_join(Warp& w, uint32_t block, uint32_t pending, uint32_t parent);
  uint32_t named_lanes(const Warp& w, const Split& s) const;
  uint32_t present(const Warp& w, const Split& s) const;
  bool meets(const Split& a, const Split& b) const;
  bool meets_at(const Warp& w, uint32_t join, uint32_t block) const;
  bool enters_region(const Warp& w) const;
  void count(uint32_t block, uint32_t mask);
  void run_observed(Warp& w, const Stream& stream);

  // --- several warps step by step (warps_at_once.cpp)
  bool run_together(uint32_t region, uint32_t first, uint32_t last);
  bool run_beside(const Together& at, uint32_t next, uint32_t first, uint32_t last);
  void run_steps(const Stream& stream, uint32_t first, uint32_t last, bool all, const Split& onward);

  // --- the block
  Status advance_lockstep();
  Status advance_general();
  Status advance_native(uint64_t end);
  void begin(uint64_t index);      // bookkeeping of a new block, without its memory
  void lay_out(const Code& code);  // areas and builtin values for this code
  void put_threads(const BuiltinSlot& slot, uint32_t each, uint32_t end);
  void set_block_builtins(std::byte* block_area);
  void enter_general(uint32_t region, uint32_t stopped, uint32_t begun);
  void enter_scattered();
  std::vector<uint32_t> holding_joins(const Warp& w, bool of_waiting = false) const;
  void break_joins(Warp& w, bool of_waiting = false);
  bool let_go();
  void warn_if_apart(const Warp& w, const Split& s);
  bool try_lockstep(uint32_t block);
  bool release_barriers(bool stuck = false);
  void finish_barrier_lockstep(const BlockCode& code);
  uint32_t next_after_region(const BlockCode& code) const;
  uint32_t alive_lanes() const;
  void charge();
  void warn_if_polling();
  std::vector<uint32_t> order_of_warps() const;

  Worker& worker_;
  const Launch& launch_;
  const Code* code_ = nullptr;  // the launch's, or its scattered form
  std::shared_ptr<const NativeKernel> native_;
  std::shared_ptr<const NativeKernel> runs_;  // by runner_, which stays while a block is interpreted
  std::unique_ptr<NativeRunner> runner_;
  uint64_t native_end_ = 0;  // blocks [index_, native_end_) are still to be begun by native code; 0: none
  uint64_t index_ = 0;
  std::array<uint32_t, 3> ctaid_{};
  KeptArea area_;  // block area, then the warps' areas
  std::vector<std::byte> shared_, local_;
  std::vector<std::byte> saved_;  // Code::saved of the region that runs
  std::byte* block_area_ = nullptr;
  std::vector<Warp> warps_;
  ClusterSeat seat_{warps_, launch_.threads_per_block};
  Mode mode_ = Mode::lockstep;
  uint32_t group_ = 1;   // warps that run step by step together
  uint32_t region_ = 0;  // lockstep: to run next
  uint32_t current_ = 0;
  uint32_t fuel_ = 0;        // blocks the running warp may still execute before it must yield, if it polls
  bool spins_ = false;       // joins have had to be broken
  bool polled_ = false;      // it has run a block that polls
  uint32_t waits_ = 0;       // lockstep: its waits for phases of an mbarrier in this turn
  uint32_t used_ = 0;        // blocks before such a wait ended its turn; 0: none has
  uint32_t last_block_ = 0;  // basic block that ran last, for messages
  uint64_t executed_ = 0, uncounted_ = 0;  // instructions: before the last charge; of the worker when that was
  uint32_t idle_yields_ = 0, alive_at_yield_ = 0;
  bool released_ = false;               // a barrier has completed since the last yield
  std::array<uint32_t, 16> arrived_{};  // named barriers: threads that arrived without waiting (bar.arrive)
  std::unique_ptr<BlockObserver> own_observer_;
  BlockObserver* observer_ = nullptr;  // null: nobody looks at this block
  std::vector<Arrival> arrivals_;      // at the last barrier in lockstep, for the observer
  std::vector<uint32_t> turns_;        // general mode: warps in the order of their turns
  std::vector<bool> warned_;           // per block: divergent barrier reported
  std::vector<Diagnostic> warnings_;
};

}  // namespace coalesce::machine
