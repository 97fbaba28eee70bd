#include "machine/time/write_back.h"

#include <algorithm>

namespace coalesce::machine {

namespace {

// Parts of L2, measured on an H100 by kernels that load and store so many bytes each (tests/truth/write_back.jsonl):
constexpr double kDirty = 0.48;     // changed lines that it lets wait
constexpr double kPassing = 0.8;    // what can come after a line before that is pushed out
constexpr double kPartial = 0.125;  // lines with sectors of which a part is stored
// Changed lines that lie in L2 when a launch begins whose caches Nsight Compute has emptied between its passes.
constexpr double kBefore = 0.045;
// The part of the sectors that become whole which is written at once.
constexpr double kWrittenWhole = 0.7;

// Local memory, in sizes of L2, of which DRAM gets half (fitted to tests/truth/local_memory.jsonl).
constexpr double kHalfWritten = 2.1;

}  // namespace

double written_local(double resident, double l2_bytes) {
  return resident > 0 ? resident / (resident + kHalfWritten * l2_bytes) : 0;
}

WriteBack write_back(const Stores& s, double l2_bytes) {
  // A line that the other half of the multiprocessors loads lies in both halves of L2: one of two lines that are loaded
  // once, nearly all that many load.
  double alone = 1;
  for (double k = 0; k < std::min(s.readers, 8.0); ++k) alone /= 2;
  const double before = kBefore * l2_bytes, changed = s.stored_lines + before;
  const double passing = changed + (2 - alone) * s.loaded;
  const double part = std::max({0.0, 1 - kDirty * l2_bytes / changed, 1 - kPassing * l2_bytes / passing});
  WriteBack w;
  w.written = part * s.stored;
  w.before = part * before;
  const double lines = s.partial / 32 / std::max(1.0, s.partial_sectors);
  if (lines > 0) w.filled = s.partial * std::max(0.0, 1 - kPartial * l2_bytes / 128 / lines);
  w.written = std::max(w.written, kWrittenWhole * w.filled);
  return w;
}

}  // namespace coalesce::machine
