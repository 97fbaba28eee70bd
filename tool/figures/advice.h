// One line of plain advice for a kernel: its worst finding and the source line it comes from.
#pragma once

#include <string>

#include "tool/figures/figures.h"

namespace coalesce::tool {

struct Advice {
  std::string text;   // "loads 8.0 sectors a request where 4.0 would do"; empty: nothing worth saying
  std::string place;  // "reduce.cu:41" or "PTX line 77"; empty: not known
  double waste = 0;   // passes that could be spared; what findings are ranked by
};

// The finding with the most waste among the rules of advice.cpp.
Advice advise(const KernelTotal& total);

// "reduce.cu:41", "PTX line 77", or "" where nothing is known. The folder is left out.
std::string place_of(const Line& line);

}  // namespace coalesce::tool
