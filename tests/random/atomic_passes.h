// The sector passes of an atomic on global memory, written down as simply as possible: tests hold the machine
// (machine/observe/traffic.cpp) to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace coalesce {

// `pass`: bytes that one pass may touch, 64 for cas.
inline uint64_t atomic_passes(const std::vector<uint64_t>& address, uint64_t width, uint64_t pass = 128) {
  const uint64_t word = std::max<uint64_t>(width, 4);
  // Each bit of a line's number within 2 MiB contributes to the number of its set.
  const auto set_of = [](uint64_t line) {
    uint64_t set = 0;
    for (const unsigned adds : {1, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 3, 1}) {
      if (line & 1) set ^= adds;
      line >>= 1;
    }
    return set;
  };
  std::array<std::vector<uint64_t>, 4> waiting;  // addresses in the lanes' order
  for (const uint64_t a : address) waiting[set_of(a / 128)].push_back(a);
  uint64_t sectors = 0;
  for (auto& set : waiting) {
    while (!set.empty()) {
      const uint64_t place = set.front() / pass;
      std::set<uint64_t> stood_up, touched;  // banks; sectors
      std::vector<uint64_t> left;
      for (const uint64_t a : set) {
        const bool first = stood_up.insert(a / word % (128 / word)).second;
        if (first && a / pass == place)
          touched.insert(a / 32);
        else
          left.push_back(a);
      }
      sectors += touched.size();
      set = left;
    }
  }
  return sectors;
}

}  // namespace coalesce
