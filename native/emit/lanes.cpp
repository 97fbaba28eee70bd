// What the lanes of a warp do together.
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;
using machine::ShuffleMode;
using machine::VoteMode;

// False: the interpreter's handler does it.
bool Generator::lanes_together(uint32_t index, const Where& where) {
  const Instruction& i = p_.code[index];
  const auto result = [&](uint32_t r, Value* word) {  // one word for all lanes
    if (is_scalar(r))
      write_scalar(r, word);
    else
      write(r, spread(word, 0), where);
  };
  if (i.kind == Kind::shuffle) return shuffle(i, where);
  if (i.kind == Kind::active_mask) {
    result(i.results[0], mask_value(where));
    return true;
  }
  if (i.kind != Kind::vote || i.results[0] == kNone) return false;
  // Lanes that name different companions get different answers.
  if (i.names_lanes && i.sources.back().is_reg() && p_.registers[i.sources.back().reg].lanes > LaneClass::warp_uniform)
    return false;
  Value* all = mask_value(where);
  Value* q = ir_.CreateAnd(mask_of(i.sources[0]), all);
  Value* holds = nullptr;
  switch (static_cast<VoteMode>(i.mode)) {
    case VoteMode::ballot:
      result(i.results[0], q);
      return true;
    case VoteMode::all:
      holds = ir_.CreateICmpEQ(q, all);
      break;
    case VoteMode::any:
      holds = ir_.CreateIsNotNull(q);
      break;
    case VoteMode::uni:
      holds = ir_.CreateOr(ir_.CreateICmpEQ(q, all), ir_.CreateIsNull(q));
      break;
  }
  if (is_scalar(i.results[0]))
    write_scalar(i.results[0], holds);
  else
    write(i.results[0], ir_.CreateSExt(holds, ir_.getInt32Ty()), where);
  return true;
}

// By a distance known when compiling: a permutation known when compiling.
bool Generator::shuffle(const Instruction& i, const Where& where) {
  uint64_t distance, limits;
  if (i.sources.size() < 3 || !known(i.sources[1], &distance) || !known(i.sources[2], &limits)) return false;
  if (i.results[1] != kNone && is_scalar(i.results[1])) return false;
  if (i.sources[0].is_reg() && p_.registers[i.sources[0].reg].element != Element::b32) return false;
  const uint32_t b = static_cast<uint32_t>(distance) & 31, bounds = static_cast<uint32_t>(limits);
  const uint32_t segment = bounds >> 8 & 31, clamp = bounds & 31;
  SmallVector<int, 32> from;
  uint32_t valid = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t max_lane = (l & segment) | (clamp & ~segment), min_lane = l & segment;
    uint32_t j = 0;
    bool inside = false;
    switch (static_cast<ShuffleMode>(i.mode)) {
      case ShuffleMode::up:
        j = l - b;
        inside = static_cast<int32_t>(j) >= static_cast<int32_t>(max_lane);
        break;
      case ShuffleMode::down:
        j = l + b;
        inside = j <= max_lane;
        break;
      case ShuffleMode::bfly:
        j = l ^ b;
        inside = j <= max_lane;
        break;
      case ShuffleMode::idx:
        j = min_lane | (b & ~segment);
        inside = j <= max_lane;
        break;
    }
    from.push_back(static_cast<int>(inside ? j & 31 : l));
    valid |= uint32_t{inside} << l;
  }
  Value* all = vector(i.sources[0], Element::b32);
  if (i.results[0] != kNone) write(i.results[0], ir_.CreateShuffleVector(all, from), where);
  if (i.results[1] != kNone) {
    write(i.results[1], ir_.getInt32(valid), where);
  }
  return true;
}

}  // namespace coalesce::native
