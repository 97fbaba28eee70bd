// A table by pages of memory, or other places, for millions of them: entries in one piece of memory, found by a hash.
// Walks go in the order in which they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace coalesce::machine {

template <class Value>
class PageTable {
 public:
  using Entry = std::pair<uint64_t, Value>;

  PageTable() = default;
  PageTable(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) (*this)[e.first] = e.second;
  }

  // The page's value, of which there is one from now on.
  Value& operator[](uint64_t page) {
    if (latest_ < entries_.size() && entries_[latest_].first == page) return entries_[latest_].second;
    if (2 * entries_.size() >= places_.size()) grow();
    std::size_t at = place_of(page);
    if (places_[at] == 0) {
      entries_.emplace_back(page, Value());
      places_[at] = static_cast<uint32_t>(entries_.size());
    }
    latest_ = places_[at] - 1;
    return entries_[latest_].second;
  }
  const Value* find(uint64_t page) const {
    const uint32_t number = places_.empty() ? 0 : places_[place_of(page)];
    return number == 0 ? nullptr : &entries_[number - 1].second;
  }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  // Where the page is, or the free place where it would be.
  std::size_t place_of(uint64_t page) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = (page * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (places_[at] != 0 && entries_[places_[at] - 1].first != page) at = (at + 1) & mask;
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
