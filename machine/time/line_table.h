// A table by lines of memory, for millions of them: places in one piece of memory, found by a hash. Walks go in the
// order in which lines came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace coalesce::machine {

template <class Value>
class LineTable {
 public:
  using Entry = std::pair<uint64_t, Value>;

  LineTable() = default;
  LineTable(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) (*this)[e.first] = e.second;
  }

  // The line's value, of which there is one from now on.
  Value& operator[](uint64_t line) {
    if (latest_ < entries_.size() && entries_[latest_].first == line) return entries_[latest_].second;
    if (2 * entries_.size() >= places_.size()) grow();
    std::size_t at = place_of(line);
    if (places_[at] == 0) {
      entries_.emplace_back(line, Value());
      places_[at] = static_cast<uint32_t>(entries_.size());
    }
    latest_ = places_[at] - 1;
    return entries_[latest_].second;
  }
  bool contains(uint64_t line) const { return !places_.empty() && places_[place_of(line)] != 0; }
  std::size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(), places_.clear(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  // Where the line is, or the free place where it would be.
  std::size_t place_of(uint64_t line) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = (line * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (places_[at] != 0 && entries_[places_[at] - 1].first != line) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    constexpr std::size_t kFewest = 64;
    places_.assign(places_.empty() ? kFewest : 4 * places_.size(), 0);
    for (std::size_t k = 0; k < entries_.size(); ++k)
      places_[place_of(entries_[k].first)] = static_cast<uint32_t>(k + 1);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> places_;  // of entries, from 1 on; 0: free
  std::size_t latest_ = 0;        // entry that was asked for last
};

}  // namespace coalesce::machine
