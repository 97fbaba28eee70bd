// Instructions that name the lanes of a warp that take part: who is missing waits, and those that have come by
// different ways run the instruction together.
#include <algorithm>

#include "machine/plain/run.h"

namespace coalesce::machine::plain {

// The lanes that the *.sync before a split names.
uint32_t Warp::named(const Split& s) const {
  Warp& self = const_cast<Warp&>(*this);  // NOLINT(cppcoreguidelines-pro-type-const-cast): where operands are
  std::byte* const before = self.base[kWarp];
  const std::byte* const constants = self.base[kLaunch];
  self.base[kWarp] = reinterpret_cast<std::byte*>(s.frame->cells.data());
  self.base[kLaunch] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(s.frame->code->constants.data()));
  uint32_t lanes = 0;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (s.lanes >> l & 1) lanes |= static_cast<uint32_t>(value(*this, s.frame->code->ops[s.at].in.back(), l));
  self.base[kWarp] = before;
  self.base[kLaunch] = const_cast<std::byte*>(constants);
  return lanes;
}

bool Warp::same_sync(const Split& a, const Split& b) const {
  if (a.frame->code == b.frame->code && a.at == b.at) return true;
  return a.frame->code->ops[a.at].any_sync && b.frame->code->ops[b.at].any_sync;
}

// The registers of some lanes, from one frame of a function to another.
static void copy_lanes(const Frame& from, Frame& to, uint32_t lanes) {
  if (&from == &to) return;
  const auto copy = [&](std::size_t first, std::size_t each) {
    for (uint32_t l = 0; l < kLanes; ++l)
      if (lanes >> l & 1)
        std::copy_n(from.cells.begin() + static_cast<std::ptrdiff_t>(first + l * each), each,
                    to.cells.begin() + static_cast<std::ptrdiff_t>(first + l * each));
  };
  const Code& code = *from.code;
  for (std::size_t r = 0; r < code.register_at.size(); ++r)
    copy(code.register_at[r] / 8, ptx::size_of(code.function->registers[r].type) == 16 ? 2 : 1);
  for (const Code::OwnAddress& a : code.own_addresses) copy(a.cells / 8, 1);
}

// The running split is at a *.sync. False: it waits there for lanes that are elsewhere. True: with those that waited
// here it has run to the end of the basic block; all stand there.
bool Warp::meets_others(const Op& op) {
  const uint32_t missing = named(now) & alive & ~now.lanes;
  uint32_t here = now.lanes;
  for (const Split& s : at_sync)
    if (same_sync(now, s)) here |= s.lanes;
  if (missing & ~here) {
    at_sync.push_back(now);
    running = false;
    return false;
  }
  now.passed = true;
  if (!missing) return true;
  std::vector<Split> together, still;
  for (Split s : at_sync) {
    if (!same_sync(now, s)) {
      still.push_back(s);
    } else if (s.frame->code == now.frame->code && s.at == now.at) {
      together.push_back(s);
    } else {  // at another bar.warp.sync
      s.passed = true;
      ready.push_back(s);
    }
  }
  at_sync = std::move(still);
  if (together.empty()) return true;
  // Lanes that came here by calls of their own bring their registers along, and take them back.
  uint32_t all = now.lanes;
  for (const Split& s : together) {
    all |= s.lanes;
    copy_lanes(*s.frame, *now.frame, s.lanes);
  }
  const Code& code = *now.frame->code;
  const Op* at = &op;
  uint32_t k = now.at;
  do {
    count(*at, all);
    if (const uint32_t on = guarded(*at, all)) at->run(*this, *now.frame, *at, on);
    ++k;
    at = &code.ops[k];
  } while (k < code.ops.size() && !at->begins && at->flow == Flow::straight);
  // The branch that ends the block is one instruction for them all, too.
  const bool ends = k < code.ops.size() && !at->begins;
  if (ends) count(*at, all);
  for (Split& s : together) {
    copy_lanes(*now.frame, *s.frame, s.lanes);
    const Split mine = now;
    now = s;
    running = true;
    go(k);
    now.counted = ends;
    if (running) ready.push_back(now);
    now = mine;
  }
  running = true;
  go(k);
  now.counted = ends;
  return false;
}

}  // namespace coalesce::machine::plain
