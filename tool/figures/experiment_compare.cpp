#include <algorithm>

#include "tool/figures/experiment.h"

namespace coalesce::tool {
namespace {

struct Compared {
  const char* verb;
  const char* noun;
  uint64_t (*value)(const machine::Counters&);
};
const Compared kCompared[] = {
    {"moves", "sectors", [](const machine::Counters& c) { return moved_bytes(c) / 32; }},
    {"takes", "shared wavefronts", shared_wavefronts},
    {"executes", "warp instructions (of PTX)", [](const machine::Counters& c) { return c.instructions; }},
};
constexpr double kSame = 1.005;  // would print as 1.00 or 1.01 times

}  // namespace

std::vector<Comparison> compare(const std::vector<Rung>& ladder) {
  std::vector<Comparison> result;
  for (const Compared& quantity : kCompared) {
    const auto value = [&](std::size_t i) { return quantity.value(ladder[i].counters); };
    // A rung that has none of it (no shared memory at all) is no competitor, and one that went wrong none either.
    const auto competes = [&](std::size_t i) { return value(i) && ladder[i].result != Rung::Result::wrong; };
    std::size_t best = ladder.size(), first = ladder.size();
    for (std::size_t i = 0; i < ladder.size(); ++i) {
      if (!competes(i)) continue;
      if (first == ladder.size()) first = i;
      if (best == ladder.size() || value(i) < value(best)) best = i;
    }
    if (best == ladder.size()) continue;
    std::vector<std::size_t> others = {first};
    if (best > 0) others.push_back(best - 1);
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    for (const std::size_t other : others) {
      if (other == best || !competes(other)) continue;
      const double times = ratio(value(other), value(best)).value_or(0);  // not 0: it competes
      if (times >= kSame)
        result.push_back({ladder[best].name, quantity.verb, quantity.noun, ladder[other].name, times});
    }
  }
  return result;
}

}  // namespace coalesce::tool
