// The limits that devices of compute capability 9.0 have in common: multiprocessors and L2 of the H100, measured by
// `./dev gpu --limits` where no document is named. DRAM differs.
#pragma once

#include "machine/time/sources.h"

namespace coalesce::machine {

constexpr Limits hopper(std::string_view device, Limit dram_peak_gbs, Limit dram_read_gbs, Limit dram_copy_gbs) {
  return {
      .device = device,
      .clock_ghz = {1.98, kMeasured},
      .issue = {4, kWhitePaper},
      .fp32 = {3.94, kMeasured},
      .alu = {1.99, kMeasured},
      .fp64 = {1.99, kMeasured},
      .half = {2.96, kMeasured},
      .special = {0.5, kMeasured},
      .shuffle = {1, kGuide},
      .tensor = {1, kWhitePaper},
      .lat_fp32 = {4.4, kMeasured},
      .lat_alu = {4.4, kMeasured},
      .lat_mul = {4.4, kMeasured},
      .lat_fp64 = {8.3, kMeasured},
      .lat_half = {8.3, kMeasured},
      .lat_special = {17.3, kMeasured},
      .lat_convert = {17.3, kMeasured},
      .lat_shuffle = {23, kHopper},
      .lat_shared = {28.4, kMeasured},
      .lat_constant = {34, kMeasured},
      .lat_constant_far = {100, kMeasured},
      .lat_constant_word = {11, kMeasured},
      .constant_cycles = {2, kMeasured},
      .constant_near_bytes = {2048, kMeasured},
      .constant_bytes = {65536, kMeasured},
      .lat_l1 = {40.2, kMeasured},
      .lat_l2 = {291, kMeasured},
      .lat_dram = {703, kMeasured},
      .lat_host = {2325, kMeasured},
      .lat_atomic = {315, kMeasured},
      .lsu = {1, kWhitePaper},
      .l1_sectors = {4, kWhitePaper},
      .port_sectors = {2.3, kMeasured},
      .store_sectors = {1, kMeasured},
      .l2_gbs = {7000, kMeasured},
      .l2_write_gbs = {3900, kMeasured},
      .dram_peak_gbs = dram_peak_gbs,
      .dram_read_gbs = dram_read_gbs,
      .dram_copy_gbs = dram_copy_gbs,
      .host_gbs = {40.5, kMeasured},
      .l1_bytes = {262144, kWhitePaper},
      .l2_bytes = {52428800, kMeasured},
      .launch_us = {2.3, kFitted},
      .branch_cycles = {20, kMeasured},
      .code_cycles = {19, kStraight},
      .code_far_cycles = {120, kStraight},
      .code_ahead_bytes = {65536, kStraight},
      .code_near_bytes = {12288, kVolta},
      .block_cycles = {190, kFitted},
      .dispatch_cycles = {1.2, kMeasured},
      .barrier_cycles = {15.3, kMeasured},
      .barrier_warp_cycles = {2.0, kMeasured},
      .fence_cycles = {675, kMeasured},
      .atom_same = {0.7, kMeasured},
      .atom_same_real = {0.283, kMeasured},
      .atom_sectors = {38, kMeasured},
      .atom_shared = {1, kMeasured},
      .loop_shared = {95, kLoops},
      .loop_shared_wide = {111, kLoops},
  };
}

}  // namespace coalesce::machine
