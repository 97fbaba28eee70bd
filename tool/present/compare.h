// `coalesce compare` as a table and as JSON.
#pragma once

#include <iosfwd>
#include <string>

#include "tool/figures/launches.h"

namespace coalesce::tool {

void print_comparing(std::ostream& out, const Comparing& comparing, bool all, bool colour);
// {"schema":"coalesce.compare/1","launches","equal_launches","counters":[{launch,kernel,counter,counted,measured}...],
//  "unmatched":[...]}; of two runs of the machine "before" and "after" in place of "counted" and "measured".
std::string comparing_json(const Comparing& comparing);
// The same of one program on the machine and on a GPU. Where launches have times it has "device" and "measured_on"
// besides, and "times":[{launch,kernel,"estimated":"time" of a coalesce.run/1,"measured":its "times"}...].
std::string both_json(const Comparing& comparing, const Record& counted, const Record& measured);

}  // namespace coalesce::tool
