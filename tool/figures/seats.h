// The report's two pictures: the banks of a warp's lanes, and the sectors that its lanes share. report/src/rule.js
// answers the same questions for what the reader chooses; a test compares them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine/observe/traffic.h"

namespace coalesce::tool {

enum class SharedAccess { load, store, atomic };

// Lane l of the first `lanes` accesses element l * (stride + pad) of an array in shared memory: a column of a tile
// whose rows have `stride` elements and `pad` unused ones. The same question as `coalesce banks` answers (banks.h).
struct BankQuestion {
  uint32_t stride = 1, width = 4, pad = 0,
           lanes = 32;  // elements, bytes of an element (1, 2, 4, 8, 16), elements, lanes
  SharedAccess kind = SharedAccess::load;
  std::array<uint32_t, 32> addresses() const;
  machine::SharedCost cost() const;             // by the machine's rule
  std::optional<uint32_t> freeing_pad() const;  // the least padding without conflicts, up to kMostPad; empty: none
};

// Lane l accesses element offset + l * stride of an array in global memory that starts on a 128-byte line.
struct SectorQuestion {
  uint32_t stride = 1, offset = 0, width = 4;
  std::array<uint64_t, 32> addresses() const;
};

// One word (or `span` words side by side, for wider accesses) that lanes ask for in one pass over the banks.
struct BankSeat {
  uint32_t word = 0, bank = 0, span = 1, pass = 0;
  std::vector<uint32_t> lanes;
};
// Lanes that are judged together, as docs/counters.md says. The passes of all groups add up to the machine's
// wavefronts.
struct SeatGroup {
  uint32_t first = 0, last = 31, passes = 0;
  std::vector<BankSeat> seats;
};
// The first `lanes` lanes are active. Addresses are multiples of `width`.
std::vector<SeatGroup> seat_banks(const std::array<uint32_t, 32>& address, uint32_t width, uint32_t lanes,
                                  SharedAccess kind);

}  // namespace coalesce::tool
