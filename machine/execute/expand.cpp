#include "machine/execute/expand.h"

#include <cstring>
#include <string>

#include "machine/execute/no_handler.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

namespace {

template <class T, bool kUniform>
void expand(const Step& s, Context& c) {
  const T stride = static_cast<T>(static_cast<const Expand*>(s.extra)->stride);
  const std::byte* from = c.at<std::byte>(s.src[0]);
  std::byte* to = c.at<std::byte>(s.dst[0]);
  for (uint32_t left = c.together;;) {
    const T base = *reinterpret_cast<const T*>(from);
    T* lanes = reinterpret_cast<T*>(to);
    for (uint32_t l = 0; l < kLanes; ++l)
      lanes[l] = kUniform ? base : static_cast<T>(base + static_cast<T>(static_cast<T>(l) * stride));
    if (--left == 0) return;
    from += c.stride[s.src[0] & 3u];
    to += c.stride[s.dst[0] & 3u];
  }
}

template <class T>
Handler expand_of(bool uniform) {
  return uniform ? expand<T, true> : expand<T, false>;
}

template <class T>
void collapse(const Step& s, Context& c) {
  if (c.active) *c.at<T>(s.dst[0]) = c.at<T>(s.src[0])[lowest(c.active)];
}

void guarded(const Step& s, Context& c) {
  const Guarded& g = *static_cast<const Guarded*>(s.extra);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t all = w.active, p = *w.at<uint32_t>(g.predicate);
  w.active = all & (g.negated ? ~p : p);
  if (w.active) {
    if (g.tally != kNone) {
      w.worker->tally.guard_executions[g.tally] += 1;
      w.worker->tally.guard_lanes[g.tally] += count_lanes(w.active);
    }
    g.inner.run(g.inner, w);
  }
  w.active = all;
}

constexpr std::size_t kMaxCallDepth = 4096;  // calls in progress in one warp

std::size_t bytes_in_slot(Element e) {
  switch (e) {
    case Element::pred:
      return 4;
    case Element::b64:
      return 8 * kLanes;
    case Element::b128:
      return 16 * kLanes;
    case Element::b32:
      return 4 * kLanes;
    default:
      return 2 * kLanes;
  }
}

void save(const Step& s, Context& c) {
  const SaveOp& op = *static_cast<const SaveOp*>(s.extra);
  Warp& w = static_cast<Warp&>(c);
  uint32_t free = 0;
  while (free < w.frames.size() && w.frames[free].used) ++free;
  if (free == kMaxCallDepth)
    throw KernelFault{
        Fault::stack_overflow, "calls nested " + std::to_string(kMaxCallDepth) + " deep", op.instruction, w.active, {}};
  if (free == w.frames.size()) w.frames.emplace_back();
  CallFrame& frame = w.frames[free];
  frame.used = true;
  frame.op = &op;
  frame.bytes.clear();
  for (const SaveOp::Item& item : op.items) {
    const std::byte* from = w.at<std::byte>(item.slot);
    frame.bytes.insert(frame.bytes.end(), from, from + bytes_in_slot(item.element));
  }
  w.pending_frame = free;
}

}  // namespace

void restore_frame(Warp& w, uint32_t index, uint32_t mask) {
  CallFrame& frame = w.frames[index];
  const std::byte* from = frame.bytes.data();
  for (const SaveOp::Item& item : frame.op->items) {
    std::byte* to = w.at<std::byte>(item.slot);
    const std::size_t bytes = bytes_in_slot(item.element);
    if (item.element == Element::pred) {
      uint32_t old, now;
      std::memcpy(&old, from, 4);
      std::memcpy(&now, to, 4);
      now = (now & ~mask) | (old & mask);
      std::memcpy(to, &now, 4);
    } else {
      const std::size_t each = bytes / kLanes;
      for (uint32_t m = mask; m; m &= m - 1) std::memcpy(to + lowest(m) * each, from + lowest(m) * each, each);
    }
    from += bytes;
  }
  frame.used = false;
}

Handler save_handler() { return save; }

Handler expand_handler(Element e, bool uniform) {
  switch (e) {
    case Element::b16:
      return expand_of<uint16_t>(uniform);
    case Element::b64:
      return expand_of<uint64_t>(uniform);
    case Element::b128:
      return expand_of<u128>(uniform);
    case Element::b32:
      return expand_of<uint32_t>(uniform);
    default:
      break;
  }
  no_handler("expanding registers of the kind", e);
}

Handler collapse_handler(Element e) {
  switch (e) {
    case Element::b16:
      return collapse<uint16_t>;
    case Element::b64:
      return collapse<uint64_t>;
    case Element::b32:
      return collapse<uint32_t>;
    default:
      break;
  }
  no_handler("collapsing registers of the kind", e);
}

Handler guarded_handler() { return guarded; }

}  // namespace coalesce::machine
