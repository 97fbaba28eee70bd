// A cache of lines with four sectors each, least recently used goes first. Tags only. A set has room for the lines that
// it has seen: most launches touch a small part of L2.
#pragma once

#include <array>
#include <cstddef>
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
  // Nothing is initialised before its use: whole sets would cost more than what is looked up in them.
  struct Line {
    uint64_t tag;
    uint32_t used;  // lookups are fewer than a trace's words times an instruction's lines
    uint32_t sectors;
  };
  using Times = std::array<double, 4>;  // of a line's sectors
  struct Piece {
    std::unique_ptr<Line[]> line;
    std::unique_ptr<Times[]> there;  // apart: most lookups need none
  };
  struct Set {
    Line* line = nullptr;
    Times* there = nullptr;
    uint32_t number = 0, room = 0;  // lines that it holds, that there is memory for
  };
  uint32_t ways_ = 0;
  uint32_t clock_ = 0;
  std::vector<Set> sets_;
  std::vector<Piece> pieces_;         // of memory, for the sets' lines
  std::size_t piece_ = 0, free_ = 0;  // lines of the last one, and how many of them are left
  Times* latest_ = nullptr;

  Set& set_of(uint64_t line);
  void make_room(Set& set);
};

}  // namespace coalesce::machine
