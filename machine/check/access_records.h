// The accesses of a launch: each has an id, which shadow cells name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "machine/check/knowledge.h"
#include "machine/check/shadow.h"

namespace coalesce::machine {

// The accessor of a cell: all accesses of a warp by one instruction between two of its synchronisations.
struct AccessRecord {
  uint64_t block : 47, warp : 6;
  uint64_t under_way : 1;  // a cp.async that has not been waited for
  uint64_t asked_by : 10;  // an agent's: the thread
  Clock clock;
  uint32_t instruction;
  bool is(uint64_t of_block, uint32_t of_warp, Clock at) const {
    return block == of_block && warp == of_warp && clock == at;
  }
};

// Ids go on from launch to launch: shadow cells need no clearing. Records that no cell names are forgotten now and
// then: cells bound their number.
class AccessRecords {
 public:
  static constexpr std::size_t kFew = 1u << 16, kMost = 1u << 20;  // before they are looked through
  // `room`: bytes for records and cells. `memory` to use, of an earlier launch.
  AccessRecords(AccessId first, uint64_t room, std::vector<AccessRecord> memory)
      : first_(first), room_(room), records_(std::move(memory)) {
    records_.clear();
    // Costs nothing before it is used; growing would copy. keep_named() comes between accesses.
    records_.reserve(kMost + (1u << 10));
  }
  std::vector<AccessRecord> give() { return std::move(records_); }  // the memory, at the end

  AccessId add(const AccessRecord& record) {
    records_.push_back(record);
    return next() - 1;
  }
  const AccessRecord& operator[](AccessId id) const { return records_[id - first_]; }
  AccessId first() const { return first_; }
  AccessId next() const { return first_ + static_cast<AccessId>(records_.size()); }

  // Race detection stops when its memory is full.
  uint64_t made = 0;  // bytes of cells
  bool room() { return full_ ? false : !(full_ = made + records_.size() * sizeof(AccessRecord) > room_); }
  bool full() const { return full_; }

  bool many() const { return records_.size() >= enough_; }
  // As many as make it worth it to look at so many cells.
  bool many(std::size_t cells) {
    enough_ = std::max(enough_, std::min(kMost, cells / 4));
    return many();
  }
  // Keeps the records that are named: each(visit) calls visit(AccessId&) with each name, which may change. Returns
  // the new id of each from first() on: where it goes, or what comes behind it.
  template <class Each>
  std::vector<AccessId> keep_named(Each each) {
    std::vector<AccessId> moved(records_.size() + 1, 0);  // first: 1 for those that are named
    each([&](AccessId i) {
      if (i >= first_) moved[i - first_] = 1;
    });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < records_.size(); ++k) {
      const bool named = moved[k] != 0;
      moved[k] = first_ + static_cast<AccessId>(kept);
      if (named) records_[kept++] = records_[k];
    }
    moved.back() = first_ + static_cast<AccessId>(kept);
    each([&](AccessId& i) {
      if (i >= first_) i = moved[i - first_];
    });
    records_.resize(kept);
    enough_ = std::max(kFew, 2 * kept);
    return moved;
  }

 private:
  AccessId first_;
  uint64_t room_;
  bool full_ = false;
  std::vector<AccessRecord> records_;
  std::size_t enough_ = kFew;
};

}  // namespace coalesce::machine
