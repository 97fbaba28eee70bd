// Jumps at the beginning of functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace coalesce::redirect {

struct Jump {
  uint64_t from, to;  // addresses in this process
};

// Writes the jumps into code that nobody executes yet. `file`: the object's, for its segments' protection; `base`: its
// load address. Pages are writable or executable, never both. False: the system forbids it (errno says why), and
// nothing is written.
bool write_jumps(const std::vector<Jump>& jumps, std::string_view file, uint64_t base);

}  // namespace coalesce::redirect
