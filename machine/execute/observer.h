// An observer sees what checked code does: its accesses, fences, waits and barriers (machine/check). Execution knows
// nothing of what an observer finds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine/execute/code.h"
#include "machine/isa/service.h"

namespace coalesce::machine {

struct Warp;

// Lanes of a warp at a barrier: they come to it at `instruction`.
struct Arrival {
  uint32_t warp, lanes, alive, instruction;
};

// How lanes meet at the barrier of their cluster: a relaxed arrival tells nothing of what came before it.
enum class Meets : uint8_t { arrives, relaxed, passes };

// Observes one thread block at a time, as BlockRun runs it; used by one thread.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  // Some register holds what nothing has written: computes() and decides() are called.
  bool shadows = false;
  virtual void begin(uint64_t block) = 0;  // shared and local memory hold nothing yet
  // Before the warp's active lanes do it.
  virtual void access(const Access& a, Warp& w) = 0;
  virtual void event(const Instruction& i, Warp& w) = 0;  // Nothing: fences, and commits and waits of copies
  virtual void lanes(const LaneOp& op, Warp& w) = 0;      // a shuffle, or a *.sync instruction
  // The active lanes of the warp begin a basic block.
  virtual void enters(uint32_t block, Warp& w) = 0;
  // They are about to do an instruction; the lanes of `mask` are about to branch by it.
  virtual void computes(uint32_t instruction, Warp& w) = 0;
  virtual void decides(uint32_t instruction, uint32_t mask, Warp& w) = 0;
  // It is complete; `whole`: it is one of all threads.
  virtual void barrier(const std::vector<Arrival>& at, uint32_t id, bool whole) = 0;
  virtual void arrive(uint32_t warp, uint32_t id) = 0;  // bar.arrive: the warp does not wait
  // --- for who looks for mistakes
  virtual void gave(uint32_t /*instruction*/, uint32_t /*lane*/, uint64_t /*address*/, Warp& /*w*/) {}  // malloc
  // The warp has used up a turn in which it has polled: it stands at w.now.
  virtual void turn_ends(Warp& /*w*/) {}
  // A lane's bulk copy is about to move that; all bytes of one have come, as an mbarrier object hears now.
  virtual void moves(const BulkPart& /*part*/, uint32_t /*instruction*/, uint32_t /*lane*/, Warp& /*w*/) {}
  virtual void completes(uint64_t /*object*/, Warp& /*w*/) {}
  // Lanes come to the barrier of their cluster, or go on behind it, in that phase.
  virtual void meets(uint32_t /*lanes*/, uint64_t /*phase*/, Meets /*how*/, Warp& /*w*/) {}
  virtual void ends() {}  // the block: its shared memory is gone
  // True if those lanes, which can run, come to the same state over and over until others change memory.
  virtual bool waits(const Warp& /*w*/, uint32_t /*lanes*/) { return false; }
  // The words say what they wait for; `instruction`: the one that polls, or kNone.
  virtual std::string waits_for(const Warp& /*w*/, uint32_t /*lanes*/, uint32_t& /*instruction*/) { return {}; }
};

// Observes one launch.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  virtual std::unique_ptr<BlockObserver> observe_blocks() = 0;
  // The first block from this one on that it looks at; others run as if there were no observer.
  virtual uint64_t next_watched(uint64_t block) const { return block; }
  virtual bool checks() const { return false; }  // it looks for mistakes: a block that faults ends the launch at once
};

// The steps of checked code: tell the observer, then do what was asked.
void observed_access(const Step& s, Context& c);
void observed_event(const Step& s, Context& c);
void observed_lanes(const Step& s, Context& c);

}  // namespace coalesce::machine
