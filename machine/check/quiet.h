// Reads of a block's shared memory that no cell has to know yet.
//
// Memory is quiet while no thread has written it since all threads of the block met at a barrier: a read of it is
// ordered behind every write, so it only has to be remembered for a later write. If all threads meet again first, the
// read comes before whatever follows, and is forgotten. Else cells hear of the reads, in their order. Cost: 32 bytes an
// access of a warp, 128 more if its addresses are not in a row.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/check/shadow.h"

namespace coalesce::machine {

class QuietReads {
 public:
  static constexpr std::size_t kMost = 4096;  // then cells get them
  static constexpr uint32_t kInRow = ~uint32_t{0};
  struct Read {
    AccessId id;
    uint32_t warp, lanes;
    uint32_t bytes;            // of a lane
    uint32_t at, step;         // lane l reads at + l * step, or
    uint32_t places = kInRow;  // at its entry of places()
  };

  bool quiet = false;

  bool empty() const { return reads_.empty(); }
  bool full() const { return reads_.size() == kMost; }
  void clear() {
    reads_.clear();
    places_.clear();
  }
  void add(const Read& r) { reads_.push_back(r); }
  // `base`: of shared memory.
  void add(Read r, const std::array<uint64_t, 32>& addresses, uint64_t base) {
    r.places = static_cast<uint32_t>(places_.size());
    std::array<uint32_t, 32>& to = places_.emplace_back();
    for (std::size_t l = 0; l < to.size(); ++l) to[l] = static_cast<uint32_t>(addresses[l] - base);
    reads_.push_back(r);
  }
  std::vector<Read>& all() { return reads_; }
  uint32_t place(const Read& r, uint32_t lane) const {
    return r.places == kInRow ? r.at + lane * r.step : places_[r.places][lane];
  }

 private:
  std::vector<Read> reads_;
  std::vector<std::array<uint32_t, 32>> places_;
};

}  // namespace coalesce::machine
