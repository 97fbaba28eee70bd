// Operations between the lanes of a warp: shuffles, votes, matches, warp-wide reductions; the clock; calls of the few
// functions that the machine provides itself.
#include <chrono>

#include "machine/execute/block.h"
#include "machine/execute/calls.h"
#include "machine/execute/no_handler.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

namespace {

const LaneOp& op_of(const Step& s) { return *static_cast<const LaneOp*>(s.extra); }

// Writes one value to `lanes` (or to the scalar) of result `k`.
template <class T>
void write_uniform(const LaneOp& op, Warp& w, std::size_t k, T value, uint32_t lanes) {
  if (op.results[k] == kNoSlot) return;
  T* to = w.at<T>(op.results[k]);
  if (op.scalar[k]) {
    *to = value;
    return;
  }
  for (uint32_t m = lanes; m; m &= m - 1) to[lowest(m)] = value;
}
template <class T>
void write_uniform(const LaneOp& op, Warp& w, std::size_t k, T value) {
  write_uniform(op, w, k, value, w.active);
}
// The bits of `value` that belong to `lanes`.
void write_predicate(const LaneOp& op, Warp& w, std::size_t k, uint32_t value, uint32_t lanes) {
  if (op.results[k] == kNoSlot) return;
  uint32_t* to = w.at<uint32_t>(op.results[k]);
  *to = op.scalar[k] ? (value & lanes ? ~0u : 0) : (*to & ~lanes) | (value & lanes);
}

// shfl: lane l reads from lane j of its segment; where j is outside (or not taking part) it reads itself.
template <ShuffleMode Mode>
void shuffle(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t* a = w.at<uint32_t>(op.sources[0]);
  const uint32_t* b = w.at<uint32_t>(op.sources[1]);
  const uint32_t* bounds = w.at<uint32_t>(op.sources[2]);
  alignas(64) uint32_t from[kLanes];
  uint32_t valid = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t segment = bounds[l] >> 8 & 31, clamp = bounds[l] & 31, bval = b[l] & 31;
    const uint32_t max_lane = (l & segment) | (clamp & ~segment), min_lane = l & segment;
    uint32_t j;
    bool inside;
    if constexpr (Mode == ShuffleMode::up) {
      j = l - bval;
      inside = static_cast<int32_t>(j) >= static_cast<int32_t>(max_lane);
    } else if constexpr (Mode == ShuffleMode::down) {
      j = l + bval;
      inside = j <= max_lane;
    } else if constexpr (Mode == ShuffleMode::bfly) {
      j = l ^ bval;
      inside = j <= max_lane;
    } else {
      j = min_lane | (bval & ~segment);
      inside = j <= max_lane;
    }
    from[l] = inside ? j & 31 : l;
    valid |= uint32_t{inside} << l;
  }
  alignas(64) uint32_t out[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) out[l] = a[from[l]];
  uint32_t* to = w.at<uint32_t>(op.results[0]);
  if (w.active == ~0u)
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = out[l];
  else
    for (uint32_t m = w.active; m; m &= m - 1) to[lowest(m)] = out[lowest(m)];
  write_predicate(op, w, 1, valid, w.active);
}

// Lanes at one instruction may name different companions (a warp that falls into groups): `body` runs once for each
// group of active lanes that name the same ones.
template <class Body>
void for_groups(const LaneOp& op, const Warp& w, Body&& body) {
  if (!op.instruction->names_lanes) return body(w.active);
  const uint32_t* masks = w.at<uint32_t>(op.sources.back());
  for (uint32_t left = w.active; left;) {
    const uint32_t mask = masks[lowest(left)];
    uint32_t group = 0;
    for (uint32_t l = 0; l < kLanes; ++l) group |= uint32_t{masks[l] == mask} << l;
    group &= left;
    left &= ~group;
    body(group);
  }
}

void vote(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t p = *w.at<uint32_t>(op.sources[0]);
  for_groups(op, w, [&](uint32_t lanes) {
    const uint32_t q = p & lanes;
    switch (static_cast<VoteMode>(op.instruction->mode)) {
      case VoteMode::ballot:  // written group by group: a group's lanes read their masks before
        return write_uniform<uint32_t>(op, w, 0, q, lanes);
      case VoteMode::all:
        return write_predicate(op, w, 0, q == lanes ? ~0u : 0, lanes);
      case VoteMode::any:
        return write_predicate(op, w, 0, q ? ~0u : 0, lanes);
      case VoteMode::uni:
        return write_predicate(op, w, 0, q == 0 || q == lanes ? ~0u : 0, lanes);
    }
  });
}

void active_mask(const Step& s, Context& c) { write_uniform<uint32_t>(op_of(s), static_cast<Warp&>(c), 0, c.active); }

template <class T>
void match(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const T* a = w.at<T>(op.sources[0]);
  const bool all = op.instruction->mode & 1;
  alignas(64) uint32_t out[kLanes] = {};  // the result may be where the masks are
  uint32_t everywhere = 0;
  for_groups(op, w, [&](uint32_t lanes) {
    for (uint32_t m = lanes; m; m &= m - 1) {
      const uint32_t l = lowest(m);
      uint32_t equal = 0;
      for (uint32_t k = 0; k < kLanes; ++k) equal |= uint32_t{a[k] == a[l]} << k;
      equal &= lanes;
      const bool same = equal == lanes;
      out[l] = all ? (same ? lanes : 0) : equal;
      everywhere |= uint32_t{same} << l;
    }
  });
  uint32_t* to = w.at<uint32_t>(op.results[0]);
  for (uint32_t m = w.active; m; m &= m - 1) to[lowest(m)] = out[lowest(m)];
  write_predicate(op, w, 1, everywhere, w.active);
}

uint32_t reduce(const uint32_t* a, uint32_t lanes, AtomicOp op, bool is_signed) {
  uint32_t r = a[lowest(lanes)];
  for (uint32_t m = lanes & (lanes - 1); m; m &= m - 1) {
    const uint32_t v = a[lowest(m)];
    const bool less = is_signed ? static_cast<int32_t>(v) < static_cast<int32_t>(r) : v < r;
    switch (op) {
      case AtomicOp::add:
        r += v;
        break;
      case AtomicOp::min:
        r = less ? v : r;
        break;
      case AtomicOp::max:
        r = less || v == r ? r : v;
        break;
      case AtomicOp::and_:
        r &= v;
        break;
      case AtomicOp::or_:
        r |= v;
        break;
      default:  // xor_: lane_handler() lets no other in
        r ^= v;
        break;
    }
  }
  return r;
}

bool reduces(AtomicOp op) {
  return op == AtomicOp::add || op == AtomicOp::min || op == AtomicOp::max || op == AtomicOp::and_ ||
         op == AtomicOp::or_ || op == AtomicOp::xor_;
}

void reduce_lanes(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t* a = w.at<uint32_t>(op.sources[0]);
  alignas(64) uint32_t out[kLanes];  // the result may be where the values or the masks are
  for_groups(op, w, [&](uint32_t lanes) {
    const uint32_t r = reduce(a, lanes, static_cast<AtomicOp>(op.instruction->mode), op.instruction->is_signed);
    for (uint32_t m = lanes; m; m &= m - 1) out[lowest(m)] = r;
  });
  if (op.scalar[0]) return write_uniform<uint32_t>(op, w, 0, out[lowest(w.active)]);
  uint32_t* to = w.at<uint32_t>(op.results[0]);
  for (uint32_t m = w.active; m; m &= m - 1) to[lowest(m)] = out[lowest(m)];
}

void elect(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  for_groups(op, w, [&](uint32_t lanes) {
    const uint32_t leader = lowest(lanes);
    write_uniform<uint32_t>(op, w, 0, leader, lanes);
    write_predicate(op, w, 1, 1u << leader, lanes);
  });
}

// The machine says nothing about time: %clock is 16 times the warp instructions the block has executed so far, a
// monotone count that lets programs which wait for time to pass go on, and the same in every run. %globaltimer is the
// host's clock in nanoseconds.
void clock(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  uint64_t t = 16 * w.owner->instructions();
  if (op.instruction->mode & 1)
    t = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
  if (op.instruction->mode & 2) t >>= 32;
  const bool wide = w.worker->launch.program->registers[op.instruction->results[0]].element == Element::b64;
  if (wide)
    write_uniform<uint64_t>(op, w, 0, t);
  else
    write_uniform<uint32_t>(op, w, 0, static_cast<uint32_t>(t));
}

void nothing(const Step&, Context&) {}

void trap(const Step& s, Context& c) {
  throw KernelFault{Fault::trap, "the kernel executed a trap", op_of(s).index, c.active, {}};
}

void unknown(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  const Fault fault = op.instruction->mode == 1 ? Fault::invalid_pc : Fault::illegal_instruction;
  throw KernelFault{fault, op.instruction->text, op.index, c.active, {}};
}

}  // namespace

Handler lane_handler(const Instruction& i) {
  switch (i.kind) {
    case Kind::shuffle:
      switch (static_cast<ShuffleMode>(i.mode)) {
        case ShuffleMode::up:
          return shuffle<ShuffleMode::up>;
        case ShuffleMode::down:
          return shuffle<ShuffleMode::down>;
        case ShuffleMode::bfly:
          return shuffle<ShuffleMode::bfly>;
        case ShuffleMode::idx:
          return shuffle<ShuffleMode::idx>;
      }
      no_handler("the shuffle", i.mode);
    case Kind::vote:
      return vote;
    case Kind::active_mask:
      return active_mask;
    case Kind::match:
      return i.mode & 2 ? match<uint64_t> : match<uint32_t>;
    case Kind::reduce_lanes:
      if (!reduces(static_cast<AtomicOp>(i.mode))) no_handler("the reduction of lanes", i.mode);
      return reduce_lanes;
    case Kind::elect:
      return elect;
    case Kind::warp_barrier:
      return nothing;
    case Kind::clock:
      return clock;
    case Kind::trap:
      return trap;
    case Kind::call:
      return call_handler(static_cast<Callee>(i.mode));
    case Kind::unknown:
      return unknown;
    default:
      no_handler("an instruction of the kind", i.kind);
  }
}

}  // namespace coalesce::machine
