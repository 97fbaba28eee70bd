// The footprint of accesses to global memory, and prefetches. Each memory operation has a SiteState; each memory
// operation and warp has a range of bytes that is touched and not marked yet (run/frame.h).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Address of a SiteState's member.
Value* site_state(Emitter& e, uint32_t memory, std::size_t offset);
// Address of the warp's range.
Value* warp_range(Emitter& e, uint32_t memory, Value* warp);
// Bytes [low, high) are touched; a range that follows the last one extends it. `bytes`: how many, where that is known
// to be a multiple of 32. Goes to `before` where they have been touched before, not long ago (null: goes on). Returns
// the warp's range, of use only where `before` is not null.
Value* emit_touch(Emitter& e, uint32_t memory, Value* low, Value* high, uint64_t bytes, llvm::BasicBlock* before);

// Prefetches what a warp moves whose lane 0 is at `from`.
void emit_prefetch(Emitter& e, const Instruction& i, Value* from);
// Prefetches what the warp is expected to touch next: as far on as this access, at `base`, is from its last one.
// `range`: the warp's, if it is at hand.
void prefetch_next(Emitter& e, const Instruction& i, Value* base, Value* range);

}  // namespace coalesce::native
