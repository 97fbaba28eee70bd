#include "machine/execute/expand.h"

#include "machine/execute/warp.h"

namespace coalesce::machine {

namespace {

template <class T>
void expand(const Step& s, Context& c) {
  const T base = *c.at<T>(s.src[0]);
  const T stride = static_cast<T>(static_cast<const Expand*>(s.extra)->stride);
  T* to = c.at<T>(s.dst[0]);
  for (uint32_t l = 0; l < kLanes; ++l) to[l] = static_cast<T>(base + static_cast<T>(static_cast<T>(l) * stride));
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

}  // namespace

Handler expand_handler(Element e) {
  switch (e) {
    case Element::b8:
    case Element::b16:
      return expand<uint16_t>;
    case Element::b64:
      return expand<uint64_t>;
    case Element::b128:
      return expand<u128>;
    default:
      return expand<uint32_t>;
  }
}

Handler collapse_handler(Element e) {
  switch (e) {
    case Element::b8:
    case Element::b16:
      return collapse<uint16_t>;
    case Element::b64:
      return collapse<uint64_t>;
    case Element::b128:
      return collapse<u128>;
    default:
      return collapse<uint32_t>;
  }
}

Handler guarded_handler() { return guarded; }

}  // namespace coalesce::machine
