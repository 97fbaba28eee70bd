// One line on a terminal that says how far a long launch is.
#pragma once

#include <cstdint>
#include <string_view>

namespace coalesce::cudart {

// Draws (or redraws) the line on stderr: "kernel  42 % of blocks  12 s". Given to the machine as Options::progress.
void draw_progress(std::string_view kernel, uint64_t done, uint64_t total);
// The launch starts now. / It is over: wipes the line if one was drawn.
void begin_progress();
void end_progress();

}  // namespace coalesce::cudart
