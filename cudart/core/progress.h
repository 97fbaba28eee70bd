// One line on a terminal that says how far a long launch is, redrawn every second.
#pragma once

#include <cstdint>
#include <string_view>

namespace coalesce::cudart {

// The launch of `kernel` (mangled) begins: after a second, "kernel  42 % of blocks  12 s" stands on stderr, also while
// no block ends. The line is drawn by a thread of its own, which is started by the first call.
void begin_progress(std::string_view kernel);
// Blocks that have ended, of all. Given to the machine as Options::progress.
void note_progress(std::string_view kernel, uint64_t done, uint64_t total);
// The launch is over: wipes the line if one was drawn.
void end_progress();

}  // namespace coalesce::cudart
