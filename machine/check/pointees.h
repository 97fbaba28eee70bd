// Accesses that leave the allocation or the block of malloc's that their address was made of.
#pragma once

#include <array>
#include <vector>

#include "machine/check/block_state.h"

namespace coalesce::machine {

class Pointees {
 public:
  Pointees(BlockState& s, Locator& locator) : s_(s), check_(s.check), locator_(locator), pointers_(s.warps.size()) {}
  void begin();
  // Whether the access lies in the allocation, or the block of malloc's, that the pointer it was made of points to.
  bool within_pointer(const Access& a, const Target& t);
  // Finds accesses of the device heap that lie between blocks of malloc, or in one that was freed.
  bool check_heap(const Access& a, const Target& t);
  // Before a load: the pointers that its lanes are about to get.
  void load_pointers(const Access& a, const Warp& w);
  void gave(uint32_t instruction, uint32_t lane, uint64_t address, const Warp& w);  // malloc

 private:
  BlockState& s_;
  LaunchCheck& check_;
  Locator& locator_;
  // The pointers that each lane has got last, by warp and number; 0: nothing.
  std::vector<std::vector<std::array<uint64_t, kLanes>>> pointers_;
};

}  // namespace coalesce::machine
