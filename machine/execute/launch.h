// A launch: its blocks over the host's threads, and what they reported.
#pragma once

#include <cstdint>
#include <functional>

#include "machine/execute/warp.h"

namespace coalesce::machine {

class Pool;

class BlockRun;

// Completes `d` by where `run` is: kernel, block, warp, the first of `lanes`, the source of `instruction` (kNone:
// none).
Diagnostic diagnose(const Launch& launch, const BlockRun& run, uint32_t instruction, uint32_t lanes, Diagnostic d);

// The calls that an instruction's place was inlined to, from the inside out. Where the compiler says nothing of them
// (clang), and the place is in another file than the kernel: the kernel's line before it, of which it is a part as a
// rule.
std::vector<SourcePlace> inlined_to(const Decoded& p, uint32_t instruction);

// Which of `count` things comes at `position` by a schedule (Launch::schedule); `salt` tells apart what one launch
// orders.
uint64_t scheduled(uint32_t schedule, uint64_t salt, uint64_t position, uint64_t count);

// Fills the launch's slots for `code` (the launch's own, or its scattered form).
void fill_launch_area(const Launch& launch, const Code& code, LaunchArea& area);

// Runs all blocks on `threads` of the pool; `progress(done)` is called about once a second. Afterwards `total` holds
// the sum of the tallies; faults and warnings are in launch.diagnostics.
void run_blocks(Launch& launch, Pool& pool, unsigned threads, Tally& total,
                const std::function<void(uint64_t)>& progress);

}  // namespace coalesce::machine
