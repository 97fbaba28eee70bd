// Counters of one source line.
#pragma once

#include <cstdint>

#include "machine/diagnostic.h"
#include "machine/observe/counters.h"

namespace coalesce::machine {

// Counts attributed to one source line (or to one PTX line where the program has no line information).
struct LineCounters {
  SourcePlace place;      // file empty: only ptx_line is known
  uint32_t ptx_line = 0;  // first PTX line of this place
  Counters counters;
};

}  // namespace coalesce::machine
