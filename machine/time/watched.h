// The blocks of a launch that are traced.
#pragma once

#include <cstdint>
#include <vector>

namespace coalesce::machine {

// Which blocks are watched: of some multiprocessors those that each would run, of each at most `most` of them, spread
// evenly over the launch. Of several multiprocessors where they have few blocks, because these may differ.
struct Watched {
  uint64_t blocks = 0;            // of the launch
  uint64_t apart = 1;             // from one block of a multiprocessor to its next
  uint64_t of_all = 0;            // blocks that the multiprocessor of the last one runs in all
  std::vector<uint64_t> numbers;  // rising

  uint64_t next(uint64_t block) const;  // the first watched block from there on; `blocks`: none
};
Watched watch(uint64_t blocks, uint32_t multiprocessors, uint64_t most);

}  // namespace coalesce::machine
