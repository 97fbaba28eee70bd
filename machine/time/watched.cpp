#include "machine/time/watched.h"

#include <algorithm>

namespace coalesce::machine {

uint64_t Watched::next(uint64_t from) const {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), from);
  return at == numbers.end() ? blocks : *at;
}

Watched watch(uint64_t blocks, uint32_t multiprocessors, uint64_t most) {
  constexpr uint64_t kBlocks = 132;  // of all multiprocessors together, where one has fewer
  Watched w;
  w.blocks = blocks;
  w.apart = std::max(1u, multiprocessors);
  if (blocks == 0) return w;
  // The multiprocessor of the last block may do what is left to do when all others have ended.
  const uint64_t last = (blocks - 1) % w.apart, all = std::min(w.apart, blocks);
  w.of_all = (blocks - 1) / w.apart + 1;
  const uint64_t of_one = std::min(w.of_all, std::max<uint64_t>(1, most));
  const uint64_t several = std::clamp<uint64_t>(of_one < w.of_all ? 1 : kBlocks / of_one, 1, all);
  for (uint64_t m = 0; m < several; ++m) {
    // From the last one on, evenly around.
    const uint64_t first = (last + m * all / several) % all;
    const uint64_t its = (blocks - 1 - first) / w.apart + 1, number = std::min(its, of_one);
    for (uint64_t k = 0; k < number; ++k)
      w.numbers.push_back(first + (number > 1 ? k * (its - 1) / (number - 1) : its - 1) * w.apart);
  }
  std::sort(w.numbers.begin(), w.numbers.end());
  return w;
}

}  // namespace coalesce::machine
