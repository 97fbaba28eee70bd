#include "machine/time/hopper.h"

namespace coalesce::machine {

extern const Limits kLimitsH100 = hopper("h100", {3352, kPeak}, {3070, kMeasured}, {2810, kMeasured});

}  // namespace coalesce::machine
