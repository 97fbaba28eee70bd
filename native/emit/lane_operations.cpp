#include "native/emit/lane_operations.h"

#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;
using machine::ShuffleMode;
using machine::VoteMode;

namespace {

// A shuffle by a constant distance is a constant permutation.
bool emit_shuffle(Emitter& e, const Instruction& i, const Active& active) {
  IRBuilder<>& ir = e.ir;
  uint64_t distance, limits;
  if (i.sources.size() < 3 || !e.known(i.sources[1], &distance) || !e.known(i.sources[2], &limits)) return false;
  if (i.results[1] != kNone && e.is_scalar(i.results[1])) return false;
  if (i.sources[0].is_reg() && e.p.registers[i.sources[0].reg].element != Element::b32) return false;
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
  Value* all = vector_of(e, i.sources[0], Element::b32);
  if (i.results[0] != kNone) write(e, i.results[0], ir.CreateShuffleVector(all, from), active);
  if (i.results[1] != kNone) {
    write(e, i.results[1], ir.getInt32(valid), active);
  }
  return true;
}

}  // namespace

bool emit_lane_operation(Emitter& e, uint32_t index, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const auto result = [&](uint32_t r, Value* word) {  // one word for all lanes
    if (e.is_scalar(r))
      set_register(e, r, word);
    else
      write(e, r, e.spread(word, 0), active);
  };
  if (i.kind == Kind::shuffle) return emit_shuffle(e, i, active);
  if (i.kind == Kind::active_mask) {
    result(i.results[0], e.mask_of(active));
    return true;
  }
  if (i.kind != Kind::vote || i.results[0] == kNone) return false;
  // Lanes that name different companions get different answers.
  if (i.names_lanes && i.sources.back().is_reg() && e.p.registers[i.sources.back().reg].lanes > LaneClass::warp_uniform)
    return false;
  Value* all = e.mask_of(active);
  Value* q = ir.CreateAnd(predicate_mask(e, i.sources[0]), all);
  Value* holds = nullptr;
  switch (static_cast<VoteMode>(i.mode)) {
    case VoteMode::ballot:
      result(i.results[0], q);
      return true;
    case VoteMode::all:
      holds = ir.CreateICmpEQ(q, all);
      break;
    case VoteMode::any:
      holds = ir.CreateIsNotNull(q);
      break;
    case VoteMode::uni:
      holds = ir.CreateOr(ir.CreateICmpEQ(q, all), ir.CreateIsNull(q));
      break;
  }
  if (e.is_scalar(i.results[0]))
    set_register(e, i.results[0], holds);
  else
    write(e, i.results[0], ir.CreateSExt(holds, ir.getInt32Ty()), active);
  return true;
}

}  // namespace coalesce::native
