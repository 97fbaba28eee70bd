// The state of what runs: a warp with its splits, its thread block, the worker that executes it, the launch.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machine/device.h"
#include "machine/diagnostic.h"
#include "machine/execute/cluster.h"
#include "machine/execute/code.h"
#include "machine/execute/poll_watch.h"
#include "machine/memory/memory.h"

namespace coalesce::machine {

class BlockRun;
class LaunchObserver;
class NativeProvider;
struct Worker;

// Thrown by handlers; ends the launch.
struct KernelFault {
  Fault fault;
  std::string message;
  uint32_t instruction = kNone;
  uint32_t lanes = 0;
  std::vector<std::string> notes;
  uint32_t warp = kNone;  // memory accesses: whose, which need not be the one that was called (Context::together)
};

// Lanes of a warp that are at the same place. A warp that has not diverged is one split.
struct Split {
  uint32_t block = 0;  // block to run next
  uint32_t mask = 0;
  uint32_t join = kNone;  // where it will meet the others
  bool at_end = false;    // the block's steps have run already, only its end is left
  bool passed = false;    // the *.sync at the block's head has been met already
};

// A call in progress: the saved registers of all 32 lanes.
struct CallFrame {
  const SaveOp* op = nullptr;
  std::vector<std::byte> bytes;
  bool used = false;
};

// A reconvergence point: when the last of `pending` splits has arrived (or its lanes have exited), they go on as one.
struct Join {
  uint32_t block = 0;
  uint32_t arrived = 0;
  uint32_t pending = 0;
  uint32_t parent = kNone;
  uint32_t frame = kNone;  // of the call that returns here; kNone: lanes that parted at a branch
};

// A block's warps lie one after the other: handlers that obey Context::together count on it.
struct Warp : Context {
  Worker* worker = nullptr;
  BlockRun* owner = nullptr;
  std::byte* shared = nullptr;  // the block's shared memory
  uint32_t shared_bytes = 0;
  std::byte* local = nullptr;  // lane l's local memory at local + l * local_bytes
  uint32_t local_bytes = 0;
  uint32_t index = 0;  // within the block
  uint32_t alive = 0;  // lanes that exist and have not exited
  // The warp's position: the running split, the others.
  Split now;
  bool running = false;           // `now` is valid
  std::vector<Split> ready;       // can run
  std::vector<Split> at_sync;     // wait for lanes of this warp at a *.sync
  std::vector<Split> at_barrier;  // wait for the block at the barrier ending their block
  std::vector<Join> joins;
  uint32_t free_join = kNone;
  std::vector<CallFrame> frames;
  uint32_t pending_frame = kNone;  // saved, for the call that ends this block
  // True after break_joins(): lanes went on from a reconvergence point without the others. Until all lanes are together
  // again they reach barriers one by one.
  bool let_go = false;
  uint32_t stalled = 0;        // general mode: blocks run in turns that polled, since something last happened
  uint32_t last_lockstep = 0;  // lockstep mode: the region's block it came through last
  std::vector<std::byte> own_block_area;  // general mode
};

// The allocation a memory operation touched last.
struct Window {
  uint64_t base = 1, end = 0;  // empty
  const Allocation* allocation = nullptr;
  uint64_t last = 0;  // where contiguous lanes began last time: the next warp goes, as a rule, as far again
};

// The sectors that lanes apart touched last, each one of its own, by one memory operation: a warp that walks along rows
// of a matrix, a lane a row, stays in them for as many steps as a sector has elements. Then they are marked, and cost
// the same.
struct Apart {
  std::array<uint64_t, kLanes> sectors{};
  uint32_t mask = 0, lines = 0;  // no lanes: none
};

// The launch's slots: constants, parameters, dimensions.
struct LaunchArea {
  std::vector<std::byte> bytes;
  std::byte* base = nullptr;  // 64-byte aligned
};

struct TurnAbandoned {};

struct Launch {
  const Code* code = nullptr;
  const Decoded* program = nullptr;
  Memory* memory = nullptr;
  const Device* device = nullptr;
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t blocks = 0;
  uint32_t threads_per_block = 0, warps_per_block = 0;
  uint32_t shared_bytes = 0, dynamic_shared_bytes = 0;
  bool cooperative = false;
  Size3 cluster{1, 1, 1};
  uint32_t cluster_blocks() const { return volume(cluster); }
  bool together() const { return cooperative || cluster_blocks() > 1; }  // some blocks wait for others
  uint64_t grid_workspace = 0;                                           // address of a cooperative launch's, zeroed
  uint64_t graph = 0;                                                    // the executable graph it is in, or 0
  const std::vector<uint8_t>* parameters = nullptr;
  LaunchArea area;  // slots of `code`
  // The same for lanes that wait for each other (scatter()); made by the first block that needs it.
  std::once_flag scattered_once;
  LaunchArea scattered_area;
  const Code* scattered = nullptr;
  uint64_t max_instructions = 0;
  std::atomic<uint64_t> instructions{0};  // in batches
  std::atomic<uint64_t> next_block{0};
  std::atomic<uint64_t> fault_block{~uint64_t{0}};  // lowest block that faulted
  std::atomic<bool>* interrupted = nullptr;
  // Blocks take their turn at what depends on their order (ordered atomics, malloc): when all lower blocks have
  // finished, or wait for others themselves. positions[t]: the block thread t runs; those below it that were t's have
  // ended.
  std::mutex turn_mutex;
  std::condition_variable turn_changed;
  std::vector<std::atomic<uint64_t>> positions;
  std::atomic<uint32_t> waiting_for_turn{0};
  std::atomic<uint64_t> done{0};
  std::atomic<bool> waited{false};  // some block has polled until others had their turn
  // For PollWatch: executors that have not ended, those that only poll, and whether that has been said.
  std::atomic<uint32_t> executors{0}, polling{0};
  std::atomic<bool> said_polling{false};
  const std::function<void(const Diagnostic&)>* notice = nullptr;  // as Options::notice; null: nobody asks
  const std::function<void()>* waits = nullptr;                    // as Options::waits
  std::chrono::milliseconds polling_limit{};                       // as Options::polling
  // Diagnostics by block; the lowest faulting block's is reported.
  std::mutex report_mutex;
  std::multimap<uint64_t, Diagnostic> diagnostics;
  std::map<uint64_t, std::string> output;  // what blocks printed
  class DeviceHeap* heap = nullptr;
  class DeviceRuntime* runtime = nullptr;  // what kernels that launch kernels ask; may be null
  NativeProvider* native = nullptr;        // may be null
  LaunchObserver* observer = nullptr;      // null: nobody looks at what it does
  // The order of blocks, and of the warps of a block: 0 and 2 as they are numbered, 1 reversed, others seed a shuffle.
  // Only of observed launches.
  uint32_t schedule = 0;
  // Others have their turn behind each atomic with a result: who has got in is overtaken, unless a lock keeps them out.
  bool overtaken() const { return schedule != 0 && schedule % 2 == 0; }
  const class Textures* textures = nullptr;

  void wait_turn(uint64_t block);  // throws TurnAbandoned when a lower block has faulted
  void abandon(unsigned number);   // that thread runs no more blocks: nobody waits for it, or begins others
};

// The registers of a block, of which a thread keeps the memory from one launch to the next, and what else they hold:
// thread indices, for this code and so many threads. To clear them anew takes longer than all else a block begins with.
struct KeptArea {
  std::vector<std::byte> bytes;
  uint64_t code = 0;  // Code::id; 0: nobody's
  std::array<uint32_t, 3> block{};
};

struct Worker {
  Worker(Launch& l, KeptArea& kept_area)
      : launch(l),
        watch(l),
        kept(kept_area),
        tally(*l.program),
        windows(l.program->memory.size()),
        apart(l.program->memory.size()) {}
  Launch& launch;
  PollWatch watch;
  KeptArea& kept;
  Tally tally;
  std::vector<Window> windows;
  std::vector<std::unique_ptr<Apart>> apart;  // as the windows; null: has not been needed
  uint64_t instructions = 0;                  // since last added to the launch's
};

inline std::byte* align64(std::byte* p) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64);
}
inline uint32_t lowest(uint32_t mask) { return static_cast<uint32_t>(__builtin_ctz(mask)); }
inline uint32_t highest(uint32_t mask) { return 31u - static_cast<uint32_t>(__builtin_clz(mask)); }
inline uint32_t count_lanes(uint32_t mask) { return static_cast<uint32_t>(__builtin_popcount(mask)); }

// The number of the warp's block, for messages and order.
uint64_t block_index(const Warp& warp);

}  // namespace coalesce::machine
