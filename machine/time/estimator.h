// From what a launch has counted, and the traces of some of its blocks, to an estimate of its time.
#pragma once

#include <vector>

#include "machine/device.h"
#include "machine/observe/counters.h"
#include "machine/program/program.h"
#include "machine/time/costs.h"
#include "machine/time/estimate.h"
#include "machine/time/limits.h"
#include "machine/time/occupancy.h"
#include "machine/time/replay.h"
#include "machine/time/trace.h"

namespace coalesce::machine {

// Part of the device's memory, and what all blocks of the launch have touched of it.
struct TouchedRegion {
  uint64_t base = 0, end = 0;        // bytes
  uint64_t sectors = 0, halves = 0;  // distinct sectors; halves of lines with at least one of them
};

// Facts about a kernel that estimates need, found once for all of its launches.
struct KernelFacts {
  KernelFacts(const Decoded& program, const Limits& limits);
  Costs costs;
  std::vector<bool> swaps, deciding;  // swaps.h, rounds.h, by instruction; empty: no instruction is
  bool waits = false;                 // polls.h
};

struct TimedLaunch {
  const Decoded& program;
  const KernelFacts& kernel;
  const Device& device;
  const Limits& limits;
  Counters counters;  // of the whole launch
  uint64_t blocks = 0;
  BlockNeeds needs;
  bool registers_known = false;
  LineRanges host = {};                     // of the host's memory
  std::vector<TouchedRegion> regions = {};  // by base; those that the launch has touched
};

// The blocks to watch of a launch: some waves of one multiprocessor's.
Watched blocks_to_watch(const Device& device, const BlockNeeds& needs, uint64_t blocks);
// Words that a warp's trace may have, so that all of them have a bounded size.
std::size_t words_of_a_warp(const Watched& watched, uint32_t warps);

TimeEstimate estimate_time(const TimedLaunch& launch, const TimeTrace& trace);

}  // namespace coalesce::machine
