// Happens-before: the order that barriers, fences and atomics make (FastTrack, with clocks for warps instead of
// threads).
//
// A warp's clock counts its synchronisations; an access carries the warp, its clock and the lanes. It precedes what
// warp w does now if w has seen that warp's clock pass it. Lanes of one warp have seen each other only up to their last
// bar.warp.sync or barrier, because they need not run in step since Volta. A lane acquires for its whole warp, so a
// missing __syncwarp after one lane's lock is not found.
//
// Between thread blocks order comes from an address: a release (st.release, or a fence and then an atomic or a strong
// store) leaves there what its warp had seen, an acquire (or an atomic or strong load, and then a fence) takes it from
// there. Handovers keeps what was left, in order; a warp keeps how much of each address' list it has acquired.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace coalesce::machine {

using Clock = uint32_t;
using Clocks = std::vector<Clock>;  // by warp of a block: accesses before it have been seen

void take_later(Clocks& to, const Clocks& from);

// The known part of what was released at each address: (place, entries).
using Known = std::vector<std::pair<uint32_t, uint32_t>>;
void take_later(Known& to, const Known& from);

// The knowledge of a warp, which barriers pass on.
struct Sight {
  Clocks seen, block_fenced, fenced;  // by warp; when the last fence came: of the block, of the device
  bool has_fenced = false;            // block_fenced or fenced says something
  Known known;                        // of other blocks
  // Knowledge from atomics and strong loads since the last fence: it orders strong accesses, not yet others.
  Clocks offered;
  Known pending;

  explicit Sight(uint32_t warps) : seen(warps), block_fenced(warps), fenced(warps), offered(warps) {}
};
void take_later(Sight& to, const Sight& from);

struct WarpView : Sight {
  Clock now = 1;
  std::array<std::array<Clock, 32>, 32> lanes{};  // lanes[l][k]: of lane k's accesses lane l has seen those before it

  explicit WarpView(uint32_t warps = 0) : Sight(warps) {}
  void begin(uint32_t warps);      // nothing is seen; the clock goes on
  void sync_lanes(uint32_t mask);  // they have seen each other's accesses up to now; the clock goes on
  void fence(uint32_t self, bool device);
};

class Handovers {
 public:
  static constexpr uint32_t kNowhere = ~uint32_t{0};
  // `block`: whose shared memory the address is in; kGlobal: global memory.
  static constexpr uint64_t kGlobal = ~uint64_t{0};
  uint32_t find(uint64_t block, uint64_t address) const;
  uint32_t make(uint64_t block, uint64_t address);
  bool empty() const { return places_.empty(); }

  uint32_t entries(uint32_t place) const { return static_cast<uint32_t>(lists_[place].entries); }
  // Leaves what `block` had seen: for its own warps and for other blocks, and what it acquired from elsewhere.
  void leave(uint32_t place, uint64_t block, const Clocks& to_block, const Clocks& to_device, const Known& links);
  // Adds to `seen` what `block` itself left among the first `entries`.
  void take_own(uint32_t place, uint32_t entries, uint64_t block, Clocks& seen) const;
  // True if `known` contains the access of `warp` of another block at clock `then`.
  bool shows(const Known& known, uint64_t block, uint32_t warp, Clock then) const;

 private:
  struct Left {
    uint32_t at;
    Clocks to_block, to_device;
  };
  struct List {
    uint64_t entries = 0;
    std::map<uint64_t, std::vector<Left>> by_block;
    std::vector<std::pair<uint32_t, Known>> links;  // from which entry on
  };
  const Left* last(uint32_t place, uint32_t entries, uint64_t block) const;
  bool shows(Known& seen, uint32_t place, uint32_t entries, uint64_t block, uint32_t warp, Clock then) const;

  std::map<std::pair<uint64_t, uint64_t>, uint32_t> places_;
  std::vector<List> lists_;
};

}  // namespace coalesce::machine
