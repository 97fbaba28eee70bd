// An estimate of the time that a launch would take on a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "machine/named.h"

namespace coalesce::machine {

// The resource that a launch spends most of its time on.
enum class BoundBy : uint8_t { launch, issue, shared, l2, dram, atomics, host, latency };
inline constexpr Names<BoundBy, 8> kBounds{{{"launch", BoundBy::launch},
                                            {"issue", BoundBy::issue},
                                            {"shared", BoundBy::shared},
                                            {"l2", BoundBy::l2},
                                            {"dram", BoundBy::dram},
                                            {"atomics", BoundBy::atomics},
                                            {"host", BoundBy::host},
                                            {"latency", BoundBy::latency}}};

struct TimeEstimate {
  std::string none;                        // why there is none; then nothing else counts
  double us = 0, low_us = 0, high_us = 0;  // of the launch, with a cold L2
  BoundBy bound_by = BoundBy::launch;
  double share = 0;                              // of that limit
  std::array<double, kBounds.size()> part_us{};  // what each would take alone
  double roofline_us = 0;                        // the largest of them without latency, and the launch
  uint32_t registers = 0, resident_blocks = 0;
  bool registers_known = false;  // from ptxas; else estimated from liveness
  double occupancy = 0;          // resident warps, on average, over the most there can be
  uint64_t l1_hit_sectors = 0, l2_hit_sectors = 0, dram_read_bytes = 0, dram_write_bytes = 0;
};

}  // namespace coalesce::machine
