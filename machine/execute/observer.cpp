#include "machine/execute/observer.h"

#include "machine/execute/block.h"

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

}  // namespace coalesce::machine
