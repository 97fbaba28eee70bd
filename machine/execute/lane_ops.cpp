// What the lanes of a warp do together: shuffles, votes, matches, warp-wide reductions; the clock; calls of the few
// functions the machine provides itself.
#include <chrono>

#include "machine/execute/calls.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

namespace {

const LaneOp& op_of(const Step& s) { return *static_cast<const LaneOp*>(s.extra); }

// Writes one value to all active lanes (or to the scalar) of result `k`.
template <class T>
void write_uniform(const LaneOp& op, Warp& w, std::size_t k, T value) {
  if (op.results[k] == kNoSlot) return;
  T* to = w.at<T>(op.results[k]);
  if (op.scalar[k]) {
    *to = value;
    return;
  }
  for (uint32_t m = w.active; m; m &= m - 1) to[lowest(m)] = value;
}
void write_predicate(const LaneOp& op, Warp& w, std::size_t k, uint32_t lanes) {
  if (op.results[k] == kNoSlot) return;
  uint32_t* to = w.at<uint32_t>(op.results[k]);
  *to = op.scalar[k] ? (lanes & w.active ? ~0u : 0) : (*to & ~w.active) | (lanes & w.active);
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
  write_predicate(op, w, 1, valid);
}

void vote(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t p = *w.at<uint32_t>(op.sources[0]) & w.active;
  switch (static_cast<VoteMode>(op.instruction->mode)) {
    case VoteMode::ballot: return write_uniform<uint32_t>(op, w, 0, p);
    case VoteMode::all: return write_predicate(op, w, 0, p == w.active ? ~0u : 0);
    case VoteMode::any: return write_predicate(op, w, 0, p ? ~0u : 0);
    case VoteMode::uni: return write_predicate(op, w, 0, p == 0 || p == w.active ? ~0u : 0);
  }
}

void active_mask(const Step& s, Context& c) { write_uniform<uint32_t>(op_of(s), static_cast<Warp&>(c), 0, c.active); }

template <class T>
void match(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const T* a = w.at<T>(op.sources[0]);
  alignas(64) uint32_t equal[kLanes] = {};
  for (uint32_t m = w.active; m; m &= m - 1)
    for (uint32_t n = w.active; n; n &= n - 1)
      if (a[lowest(m)] == a[lowest(n)]) equal[lowest(m)] |= 1u << lowest(n);
  const bool all = op.instruction->mode & 1;
  uint32_t* to = w.at<uint32_t>(op.results[0]);
  uint32_t everywhere = 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    const bool same = equal[l] == w.active;
    to[l] = all ? (same ? w.active : 0) : equal[l];
    everywhere |= uint32_t{same} << l;
  }
  write_predicate(op, w, 1, everywhere);
}

void reduce_lanes(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t* a = w.at<uint32_t>(op.sources[0]);
  const bool sign = op.instruction->is_signed;
  uint32_t r = a[lowest(w.active)];
  for (uint32_t m = w.active & (w.active - 1); m; m &= m - 1) {
    const uint32_t v = a[lowest(m)];
    const bool less = sign ? static_cast<int32_t>(v) < static_cast<int32_t>(r) : v < r;
    switch (static_cast<AtomicOp>(op.instruction->mode)) {
      case AtomicOp::add: r += v; break;
      case AtomicOp::min: r = less ? v : r; break;
      case AtomicOp::max: r = less || v == r ? r : v; break;
      case AtomicOp::and_: r &= v; break;
      case AtomicOp::or_: r |= v; break;
      default: r ^= v; break;
    }
  }
  write_uniform<uint32_t>(op, w, 0, r);
}

void elect(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t leader = lowest(w.active);
  write_uniform<uint32_t>(op, w, 0, leader);
  write_predicate(op, w, 1, 1u << leader);
}

// The machine says nothing about time: %clock is the number of warp instructions the worker has executed, a monotone
// count that lets programs which wait for time to pass go on. %globaltimer is the host's clock in nanoseconds.
void clock(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  Warp& w = static_cast<Warp&>(c);
  uint64_t t = w.worker->launch.instructions.load(std::memory_order_relaxed) + w.worker->instructions;
  if (op.instruction->mode == 1)
    t = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  if (op.instruction->mode == 2) t >>= 32;
  const bool wide = w.worker->launch.program->registers[op.instruction->results[0]].element == Element::b64;
  if (wide) write_uniform<uint64_t>(op, w, 0, t);
  else write_uniform<uint32_t>(op, w, 0, static_cast<uint32_t>(t));
}

void nothing(const Step&, Context&) {}

void trap(const Step& s, Context& c) {
  throw KernelFault{Fault::trap, "the kernel executed a trap", op_of(s).index, c.active, {}};
}

void unknown(const Step& s, Context& c) {
  const LaneOp& op = op_of(s);
  throw KernelFault{Fault::illegal_instruction, op.instruction->text, op.index, c.active, {}};
}

}  // namespace

Handler lane_handler(const Instruction& i) {
  switch (i.kind) {
    case Kind::shuffle:
      switch (static_cast<ShuffleMode>(i.mode)) {
        case ShuffleMode::up: return shuffle<ShuffleMode::up>;
        case ShuffleMode::down: return shuffle<ShuffleMode::down>;
        case ShuffleMode::bfly: return shuffle<ShuffleMode::bfly>;
        default: return shuffle<ShuffleMode::idx>;
      }
    case Kind::vote: return vote;
    case Kind::active_mask: return active_mask;
    case Kind::match: return i.mode & 2 ? match<uint64_t> : match<uint32_t>;
    case Kind::reduce_lanes: return reduce_lanes;
    case Kind::elect: return elect;
    case Kind::warp_barrier: return nothing;
    case Kind::clock: return clock;
    case Kind::trap: return trap;
    case Kind::call: return call_handler(static_cast<Callee>(i.mode));
    default: return unknown;
  }
}

}  // namespace coalesce::machine
