// Accesses that are looked at as a whole, because nothing is wrong with them: most are.
#pragma once

#include "machine/check/block_state.h"
#include "machine/check/quiet.h"
#include "machine/check/races.h"

namespace coalesce::machine {

class WarpAccesses {
 public:
  WarpAccesses(BlockState& s, Locator& locator, Races& races);
  void begin();
  // Whether nothing is wrong with the access, looked at as a whole. False: it is to be looked at lane by lane.
  bool whole(const Access& a, Warp& w, bool races);
  // Cells hear of the reads of shared memory that they need not have known so far.
  void hear_quiet();
  void disturb() { reads_.quiet = false; }  // shared memory is no longer quiet
  // All threads of the block have met. `copies`: some that nobody has waited for.
  void all_met(bool copies);
  QuietReads& reads() { return reads_; }

 private:
  struct Lanes;
  class Known;
  bool whole_line(const Access& a, Warp& w, uint64_t base, bool races);
  bool one_word(const Access& a, Warp& w, bool races);
  bool apart(const Access& a, Warp& w, const Lanes& lanes, bool races);
  bool apart_local(const Access& a, const Warp& w, const Lanes& lanes, const Target& t);
  bool apart_cells(const Access& a, const Warp& w, const Lanes& lanes, const Target& t, uint64_t shadow);
  bool ends_handover(const Target& t, uint32_t element) const;
  bool quiet(const Target& t, bool reads) const {  // whether reads of the target's memory need no cell yet
    return reads && t.space == AddressSpace::shared && reads_.quiet;
  }
  void note_quiet(const QuietReads::Read& r, const Lanes* lanes, uint64_t base);

  BlockState& s_;
  LaunchCheck& check_;
  Locator& locator_;
  Races& races_;
  QuietReads reads_;  // of shared memory
  const bool may_be_quiet_;
};

}  // namespace coalesce::machine
