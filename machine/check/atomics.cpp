#include "machine/check/atomics.h"

#include <algorithm>
#include <utility>

namespace coalesce::machine {

bool Races::meets_its_like(Cell& cell, uint64_t at, const Target& t, Met& met) {
  const auto free = [&](const Accessed& a) { return a.id < t.first; };
  const uint32_t me = 1u << t.as;
  const Accessed writer = cell.writer;
  if (!free(cell.readers[0]) || !free(cell.readers[1]) || free(writer)) return false;
  const bool mine = writer.id == t.id;
  if (!mine && !met.is_other(writer.id)) return false;
  // Other lanes of this warp have no order before it.
  const auto unordered = [&](const Accessed& a) { return a.id != t.id || (a.lanes & ~me) != 0; };
  Cells::Pasts& all = t.cells->past();
  const auto known = all.find(at);
  Past next;
  std::size_t n = 0;
  if (unordered(writer)) next.others[n++] = writer;
  if (known != all.end()) {
    const Past& past = known->second;
    if (past.observers && !std::all_of(past.observers->begin(), past.observers->end(), free)) return false;
    if (!free(past.weak) && !met.is_known(past.weak.id)) return false;
    next.weak = past.weak;
    for (const Accessed& o : past.others) {
      if (free(o)) continue;
      if (o.id != t.id && !met.is_other(o.id)) return false;
      if (n < 2 && unordered(o)) next.others[n++] = o;
    }
  }
  const bool any = n != 0 || !free(next.weak);
  if (known == all.end() && any)
    all.emplace(at, std::move(next));
  else if (any)
    known->second = std::move(next);
  else if (known != all.end())
    all.erase(known);
  cell = {{t.id, mine ? writer.lanes | me : me}, {}};
  return true;
}

}  // namespace coalesce::machine
