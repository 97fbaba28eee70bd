// Which way of reading a file is quicker: copying its blocks, or mapping their pages and reading them in place. That
// depends on the kernel and on how large the page cache's pages are: in place took half as long as a copy on the host
// of an H100 and six times as long on a virtual machine. So each thread measures both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace coalesce::reduce {

class Way {
 public:
  // Whether the next piece is to be read in place. Every 1024th piece tries the way that was slower.
  bool in_place() const {
    if (refused_) return false;
    if (pieces_ < kTrials) return pieces_ % 2 == 1;
    return (pieces_ % 1024 == 0) != (best_[1] < best_[0]);
  }

  // A piece took `seconds` of CPU time a byte. The first of each way also pays for what only beginnings do, so it does
  // not count.
  void took(bool in_place, double seconds) {
    if (pieces_ >= 2) best_[in_place] = pieces_ < kTrials ? std::min(best_[in_place], seconds) : seconds;
    ++pieces_;
  }

  // The kernel does not map pages at once.
  void refuse() { refused_ = true; }

 private:
  static constexpr uint64_t kTrials = 6;
  double best_[2] = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};  // copied, in place
  uint64_t pieces_ = 0;
  bool refused_ = false;
};

}  // namespace coalesce::reduce
