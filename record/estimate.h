// An estimate of time as JSON, in records and exports.
//
//   {"us":1.5,"low_us":...,"high_us":...,"bound_by":"dram","share":0..1,"parts_us":{"dram":...},"waits":{"dram":0..1},
//    "roofline_us":...,"registers":n,"registers_from":"ptxas" or "liveness","resident_blocks":n,"occupancy":0..1,
//    "l1_hit_sectors":n,"l2_hit_sectors":n,"dram_read_bytes":n,"dram_write_bytes":n}
//   {"none":why}
#pragma once

#include <string>

#include "machine/time/estimate.h"

namespace coalesce::record {

void put_estimate(std::string& out, const machine::TimeEstimate& estimate);

}  // namespace coalesce::record
