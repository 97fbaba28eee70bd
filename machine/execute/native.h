// The interface of native code. The machine includes no compiler: its owner may give it a provider (Options::native),
// which is asked for code whenever a thread takes thread blocks.
//
// Native code runs lockstep regions (program.h) of whole thread blocks and adds to the same tally as the interpreter,
// word for word. It enters and leaves at regions' beginnings, where the block's state is what the interpreter expects
// (the canonical state): every register that is live there in its slots (Code::homes), Warp::alive, shared and local
// memory. So either can go on where the other stops, at any region.
#pragma once

#include <cstdint>
#include <memory>

#include "machine/program/program.h"

namespace coalesce::machine {

class BlockRun;
struct Code;
struct Launch;

// Why and where native code stopped.
struct NativeStop {
  uint64_t block = 0;       // the thread block
  uint32_t region = kNone;  // which of its regions comes next; kNone: it has ended, and so have all before it
};

// Native code at work for one thread of the host: what it keeps between thread blocks (cached allocations, sectors not
// marked yet). Made by NativeKernel::runner for one BlockRun and not used by two threads at once.
class NativeRunner {
 public:
  virtual ~NativeRunner() = default;
  // Runs thread blocks [block, end): the first one from region `region` on, whose state is the canonical one (for
  // region 0: nothing has run yet); the following from their beginning. Returns when all have ended (then stop.block is
  // end - 1), or at the beginning of a region of one of them that has no native code, in canonical state.
  // Throws what the interpreter would throw at the same place (KernelFault, TurnAbandoned). The tally is complete
  // whenever it returns or throws, the marks of touched sectors once the runner is gone.
  virtual NativeStop run(uint64_t block, uint64_t end, uint32_t region) = 0;
};

// One kernel's code. Immutable; used by all threads.
class NativeKernel {
 public:
  virtual ~NativeKernel() = default;
  // True if there is code for the region (index into Decoded::regions).
  virtual bool enters(uint32_t region) const = 0;
  virtual std::unique_ptr<NativeRunner> runner(BlockRun& owner) const = 0;
};

class NativeProvider {
 public:
  virtual ~NativeProvider() = default;
  // The code for this launch's kernel (launch.code), or null: none yet, or not worth it. Called by every thread before
  // it runs the blocks it has taken (at most 64 at a time), from several threads at once: must be cheap when it has
  // nothing. `launch` says how large the launch is and how far it has come (blocks, done, instructions).
  virtual std::shared_ptr<const NativeKernel> find(const Launch& launch) = 0;
  // The launch has run to its end: launch.instructions says what it has executed.
  virtual void ended(const Launch&) {}
};

}  // namespace coalesce::machine
