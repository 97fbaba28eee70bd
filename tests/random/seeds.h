// Which random kernels a test runs: its own, or those that an environment variable names.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace coalesce::machine::test {

struct Seeds {
  uint64_t from, count;
};

// `usual`, unless `variable` holds "first,count"; "first" alone changes only where they begin.
inline Seeds seeds(const char* variable, Seeds usual) {
  if (const char* range = std::getenv(variable)) {
    char* rest = nullptr;
    usual.from = std::strtoull(range, &rest, 10);
    if (*rest == ',') usual.count = std::strtoull(rest + 1, nullptr, 10);
  }
  return usual;
}

}  // namespace coalesce::machine::test
