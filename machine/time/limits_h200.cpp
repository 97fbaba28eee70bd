#include "machine/time/hopper.h"

namespace coalesce::machine {

extern const Limits kLimitsH200 = hopper("h200", {4800, kPeak}, {4377, kMeasuredH200}, {3860, kMeasuredH200});

}  // namespace coalesce::machine
