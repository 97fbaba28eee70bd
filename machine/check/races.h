// Happens-before between the accesses of a cell: which one races with which.
#pragma once

#include <array>

#include "machine/check/block_state.h"

namespace coalesce::machine {

class Met;

class Races {
 public:
  explicit Races(BlockState& s) : s_(s), check_(s.check) {}
  // A lane's access of the cell at `at`: reports what it races with, and leaves it in the cell. `same_value`: a store
  // that changes nothing.
  void access(Cell& cell, uint64_t at, const Access& a, const Target& t, bool same_value);
  // The same of an atomic whose word only its like has written, of other warps or of this instruction now, since all
  // have known what was there. False: it has done nothing.
  bool meets_its_like(Cell& cell, uint64_t at, const Target& t, Met& met);
  // The asynchronous proxy sees what threads have stored if a fence.proxy.async lies between, by whichever thread.
  // Else it is a race, though the store does come before.
  void check_proxy(Cell& cell, const Access& a, const Target& t);

  // Whether the access comes before what all lanes of the target's warp do now, at a line's cell or a word's.
  bool before_all(const Accessed& before, const Target& t, bool line) const {
    if (before.id < t.first) return true;
    const AccessRecord& r = check_.records[before.id];
    if (r.under_way) return false;
    if (line && r.block == s_.block && r.warp == t.warp) return true;  // lane by lane the same thread
    return s_.warps[t.warp].view.all_know(r.block, static_cast<uint32_t>(r.warp), r.clock);
  }
  // Whether the access is a load as of constant memory, and the launch has written the cell.
  static bool stale(const Access& a, const Cell& cell, const Target& t) {
    return a.op->as_constant && t.space == AddressSpace::global && cell.writer.id >= t.first;
  }
  // A cell's next reader.
  void add_reader(Cell& cell, const Accessed& reader, const Target& t, bool line) const;

 private:
  bool ordered(const Accessed& before, const Target& t, bool strong, uint32_t* lane) const;
  bool observed(const Past& past, const Target& t) const;
  void keep_past(const Cell& cell, uint64_t at, bool reads, const Target& t);
  void report(const Accessed& before, uint32_t lane, const Access& a, const Target& t);
  const char* missing(const AccessRecord& before, uint32_t lane, const Access& a, const Target& t) const;

  BlockState& s_;
  LaunchCheck& check_;
};

}  // namespace coalesce::machine
