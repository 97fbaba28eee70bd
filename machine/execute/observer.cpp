#include "machine/execute/observer.h"

#include <numeric>

#include "machine/execute/block.h"
#include "machine/execute/launch.h"

namespace coalesce::machine {

void observed_access(const Step& s, Context& c) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(c);
  if (BlockObserver* o = w.owner->observer()) o->access(a, w);
  a.unchecked(s, c);
}

void observed_event(const Step& s, Context& c) {
  Warp& w = static_cast<Warp&>(c);
  if (BlockObserver* o = w.owner->observer()) o->event(*static_cast<const Instruction*>(s.extra), w);
}

void observed_lanes(const Step& s, Context& c) {
  Warp& w = static_cast<Warp&>(c);
  const LaneOp& op = *static_cast<const LaneOp*>(s.extra);
  if (BlockObserver* o = w.owner->observer()) o->lanes(op, w);
  op.unchecked(s, c);
}

// Shuffles are a * position + b modulo count, which is one to one where a and count share no factor.
uint64_t scheduled(uint32_t schedule, uint64_t salt, uint64_t position, uint64_t count) {
  if (schedule == 0 || schedule == 2 || count < 2) return position;
  if (schedule == 1) return count - 1 - position;
  const auto mix = [](uint64_t x) {  // splitmix64's finaliser
    x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9u;
    x = (x ^ x >> 27) * 0x94d0'49bb'1331'11ebu;
    return x ^ x >> 31;
  };
  const uint64_t seed = mix(schedule * 0x9e37'79b9'7f4a'7c15u + salt);
  uint64_t a = mix(seed + 1) % count;
  while (std::gcd(a, count) != 1) a = (a + 1) % count;
  return static_cast<uint64_t>((static_cast<u128>(a) * position + mix(seed + 2) % count) % count);
}

std::vector<SourcePlace> inlined_to(const Decoded& p, uint32_t instruction) {
  const auto place = [&](uint32_t k) -> const Place& { return p.places[p.code[k].place]; };
  const Place& here = place(instruction);
  if (!here.inlined_at.empty() || here.source.line == 0) return here.inlined_at;
  uint32_t first = 0;
  while (place(first).source.line == 0) ++first;
  const std::string& file = place(first).source.file;
  if (here.source.file == file) return {};
  for (uint32_t k = instruction; k-- > 0;)
    if (place(k).source.file == file && place(k).source.line != 0) return {place(k).source};
  return {};
}

}  // namespace coalesce::machine
