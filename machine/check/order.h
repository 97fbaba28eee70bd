// Synchronisation between accesses: barriers, fences, and what releases hand over to acquires.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "machine/check/block_state.h"

namespace coalesce::machine {

class Synchronisation {
 public:
  explicit Synchronisation(BlockState& s) : s_(s), check_(s.check) {}
  void begin() { arrived_.clear(); }
  void begin_access() { changed_.clear(); }
  // Hands over knowledge at the address of an atomic or a strong access: a release leaves it there, an acquire takes
  // it. A weak store ends what was left.
  void hand_over(const Access& a, const Warp& w, const Target& t);
  void arrive(uint32_t warp, uint32_t id);  // bar.arrive: leaves what it has seen for barrier `id`
  void barrier(const std::vector<Arrival>& at, uint32_t id);
  // Lanes come to the barrier of their cluster, or go on behind it.
  void meets(uint32_t lanes, uint64_t phase, Meets how, const Warp& w);

 private:
  bool swaps(const Access& a, const Warp& w, const Target& t);

  BlockState& s_;
  LaunchCheck& check_;
  std::vector<uint64_t> changed_;  // where a lane's compare-and-swap of this instruction succeeds; its mbarrier objects
  std::map<uint32_t, View> arrived_;  // by barrier: what warps that did not wait have left there
};

}  // namespace coalesce::machine
