// A cache of lines with four sectors each, least recently used goes first. Tags only. A set has room from its first use
// on: most launches touch a small part of L2.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace coalesce::machine {

class SectorCache {
 public:
  SectorCache() = default;  // holds nothing
  // `bytes` are rounded down to whole sets; less than one set holds nothing.
  SectorCache(uint64_t bytes, uint32_t ways);

  // Looks sectors of the line up and, where `fill`, holds them from now on. Returns those that were there.
  uint32_t access(uint64_t line, uint32_t sectors, bool fill = true);
  uint64_t lines() const { return sets_.size() * ways_; }

  // The line that was looked up last: when the last of these sectors is there, and that they come at `at`.
  double there(uint32_t sectors) const;
  void arrive(uint32_t sectors, double at);

 private:
  struct Line {
    uint64_t tag = ~uint64_t{0};
    uint64_t used = 0;
    uint32_t sectors = 0;
    std::array<double, 4> there{};
  };
  uint32_t ways_ = 0;
  uint64_t clock_ = 0;
  std::vector<std::unique_ptr<Line[]>> sets_;
  Line* latest_ = nullptr;

  Line* set_of(uint64_t line);
};

}  // namespace coalesce::machine
