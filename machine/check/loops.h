// Loops of a kernel's basic blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

// Blocks that can be reached from `from` without going through `stop`.
std::vector<bool> reachable_from(const Decoded& p, uint32_t from, uint32_t stop);

// Basic blocks in loops, by component: two blocks are in one loop when they reach each other, by none of `without`.
class Loops {
 public:
  explicit Loops(const Decoded& p, std::vector<bool> without = {});
  // The loop of the block; kNone: none.
  uint32_t of(uint32_t block) const { return looping_[of_[block]] ? of_[block] : kNone; }

 private:
  std::vector<uint32_t> after(uint32_t block) const;
  bool left_out(uint32_t b) const { return !without_.empty() && without_[b]; }
  void walk(uint32_t root);

  const Decoded& p_;
  std::vector<bool> without_;
  std::vector<uint32_t> index_, low_, of_, stack_;
  std::vector<bool> looping_;
  uint32_t count_ = 0;
};

}  // namespace coalesce::machine
