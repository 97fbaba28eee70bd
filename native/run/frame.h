// The view of generated code: one frame per runner, and the helpers it calls. Generated code uses the offsets of these
// members and nothing else of the process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/observe/traffic.h"
#include "native/run/footprint.h"

namespace coalesce::machine {
struct Context;
struct Step;
}  // namespace coalesce::machine

namespace coalesce::native {

// An access by all warps of a thread block that this thread has carried out: the first warp's address, the distance
// between warps. Address 0: none. Of each memory operation 256 are remembered (4 KB), each at a place by its address.
struct BlockAccess {
  uint64_t first = 0, step = 0;
  static constexpr unsigned kHashShift = 64 - 8;
  static constexpr uint64_t kRemembered = uint64_t{1} << (64 - kHashShift), kHashFactor = 0x9e3779b97f4a7c15;
  static uint64_t place(uint64_t first) { return first * kHashFactor >> kHashShift; }
};

// The state of one memory operation: the allocation it touched last, and how much of that this thread has touched.
struct SiteState {
  uint64_t base = ~uint64_t{0};           // of the allocation; none: nothing lies in it
  uint64_t size = 0;                      // its bytes
  uint64_t limit = 0;                     // base + x has room for all the access's lanes for x < limit
  const uint8_t* sector_marks = nullptr;  // byte (x - base) / 32 belongs to x's sector
  // A mask: warp w extends range w & per_warp. 0: all warps extend one range, as where a block's warps touch bytes that
  // follow one another. ~0: each warp has its own, as where each has a row of a matrix and the next block goes on with
  // it.
  uint32_t per_warp = 0;
  uint32_t jumps = 0;  // ranges that ended because of per_warp
  // Not 0: every sector of the allocation has been touched, so that nothing need be marked.
  uint32_t fully_touched = 0;
  // Sectors of ranges that have ended; at how many of them the allocation's marks are looked at.
  uint64_t touched_sectors = 0, recheck_at = ~uint64_t{0};
  // The marks are looked at, too, after so many more accesses to what the thread has touched before; other instructions
  // may have touched the rest. The interval doubles each time.
  uint64_t rechecks_left = 0, recheck_interval = 0;
  BlockAccess* remembered = nullptr;  // BlockAccess::kRemembered of them, where code asks
  uint64_t last_first = 0;            // where the first warp was at the last access by all warps
};

// The range of one memory operation and one warp: bytes touched and not marked yet.
struct TouchedRange {
  uint64_t low = 0, high = 0;
  uint64_t last = 0;  // where lane 0 was: next time it goes, as a rule, as far again
  uint64_t unused = 0;
};

// The cost of one shared access without a closed form, of one warp: its addresses are often the same every time.
struct alignas(64) CostMemo {
  uint32_t address[32];
  uint32_t mask = 0;  // 0: empty
  uint32_t wavefronts = 0, ideal = 0;
  uint32_t step = 0;  // bytes between the lanes of a full warp, where that is known and lanes meet in banks; or 0
  uint32_t meet = 0;  // 0: no two lanes of the mask at one address
  uint32_t unused[11] = {};
};
static_assert(sizeof(CostMemo) == 192);

// Atomics on shared memory by full warps that have been carried out: their wavefronts are counted for many at once.
struct alignas(64) PendingAtomics {
  static constexpr uint32_t kMost = machine::kAtomicsTogether;
  uint32_t word[kMost][32];  // addresses / 4
  uint32_t site[kMost];
  uint64_t n = 0;
};

using Status = uint32_t;  // of helpers; not 0: return kFaulted at once, an exception waits

struct Frame {
  uint64_t block = 0, end = 0;  // blocks to run; afterwards `block` is the one it stopped in
  uint64_t region = 0;          // where to begin; afterwards: which comes next
  uint64_t grid_x = 0, grid_y = 0, multiprocessors = 0;
  std::byte* launch_area = nullptr;
  std::byte* block_area = nullptr;
  std::byte* warp_area = nullptr;  // of warp 0; the others follow
  std::byte* shared = nullptr;
  uint64_t shared_bytes = 0;
  std::byte* local = nullptr;
  uint32_t* alive = nullptr;                  // per warp
  uint64_t alive_warps = 0, alive_lanes = 0;  // in: in the middle of a block
  uint64_t* tally = nullptr;
  uint64_t instructions = 0;  // out: executed since the call
  SiteState* sites = nullptr;
  TouchedRange* ranges = nullptr;  // by site, then warp
  CostMemo* memos = nullptr;
  PendingAtomics* pending_atomics = nullptr;
  FootprintLine* footprint = nullptr;
  std::byte* scratch = nullptr;         // operands of computing steps
  machine::Context* context = nullptr;  // its warp base is the scratch
  const machine::Step* rows = nullptr;  // steps on the scratch

  // Zeroes what else a block finds at its beginning: local memory, registers of warps.
  void (*start_block)(Frame*) = nullptr;
  // Runs the interpreter's step on the warp's slots under `mask`. `block`: the basic block, for counts at a fault.
  Status (*interpret)(Frame*, uint32_t step, uint32_t warp, uint32_t mask, uint32_t block) = nullptr;
  // Marks the range that the warp extends and begins a new one.
  void (*touch)(Frame*, uint32_t site, uint32_t warp, uint64_t low, uint64_t high) = nullptr;
  // An access by all warps of the block, each a multiple of 32 bytes behind a sector's beginning: `step` from warp to
  // warp.
  void (*touch_block)(Frame*, uint32_t site, uint64_t first, uint64_t step) = nullptr;
  // Contiguous access under a mask with gaps: counts it and marks its sectors.
  void (*access_with_gaps)(Frame*, uint32_t site, uint64_t base, uint32_t mask) = nullptr;
  // Wavefronts and ideal (high half) of lanes at base + lane * stride. `how`: width; bit 8: a store.
  uint64_t (*affine_cost)(Frame*, uint32_t base, uint32_t stride, uint32_t mask, uint32_t how) = nullptr;
  // Fills the memo for the shared addresses in it, lanes of `mask`, all in bounds and aligned.
  void (*find_cost)(Frame*, CostMemo*, uint32_t mask, uint32_t how) = nullptr;
  // Counts the wavefronts of `pending_atomics`, which is empty then.
  void (*count_atomics)(Frame*) = nullptr;
  // An atomic of 32-bit integers on shared memory: addresses, all good, at the beginning of the scratch, operands 512
  // bytes on, old values (if there is a result) another 512.
  void (*shared_atomic)(Frame*, uint32_t memory, uint32_t mask) = nullptr;
  // A long divergent loop: `instructions` more have run in it.
  Status (*charge)(Frame*, uint32_t warp, uint32_t mask, uint32_t block, uint64_t instructions) = nullptr;
};

// The results of generated code.
enum Outcome : uint32_t { kDone = 0, kStopped = 1, kFaulted = 2, kPaused = 3 };  // paused: stopped to be charged
using EntryPoint = uint32_t (*)(Frame*);

}  // namespace coalesce::native
