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

// Wait names what a warp waits for.
enum class Wait : uint8_t { code, arithmetic, constant, shared, l1, l2, dram, host, atomic, barrier, unit };
inline constexpr Names<Wait, 11> kWaits{{{"code", Wait::code},
                                         {"arithmetic", Wait::arithmetic},
                                         {"constant", Wait::constant},
                                         {"shared", Wait::shared},
                                         {"l1", Wait::l1},
                                         {"l2", Wait::l2},
                                         {"dram", Wait::dram},
                                         {"host", Wait::host},
                                         {"atomic", Wait::atomic},
                                         {"barrier", Wait::barrier},
                                         {"unit", Wait::unit}}};  // that other warps keep busy

struct TimeEstimate {
  std::string none;                        // why there is none; then nothing else counts
  double us = 0, low_us = 0, high_us = 0;  // of the launch, with a cold L2
  BoundBy bound_by = BoundBy::launch;
  double share = 0;                              // of that limit
  std::array<double, kBounds.size()> part_us{};  // what each would take alone
  std::array<double, kWaits.size()> waits{};     // parts of the time of all warps
  double roofline_us = 0;                        // the largest of them without latency, and the launch
  uint32_t registers = 0, resident_blocks = 0;
  bool registers_known = false;  // from ptxas; else estimated from liveness
  double occupancy = 0;          // resident warps, on average, over the most there can be
  uint64_t l1_hit_sectors = 0, l2_hit_sectors = 0, dram_read_bytes = 0, dram_write_bytes = 0;
};

}  // namespace coalesce::machine
