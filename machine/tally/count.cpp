// The static part of the counts: what tallies are multiplied with when a launch has ended.
#include "machine/tally/count.h"

#include <algorithm>

#include "machine/users_place.h"

namespace coalesce::machine {

namespace {

// Calls `each(instruction, executions, lanes)` for every instruction that counts, block by block.
template <class Each>
void for_each_counted(const Decoded& p, const Tally& t, Each each) {
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    if (t.executions[b] == 0) continue;
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      const Instruction& i = p.code[k];
      if (!i.counts) continue;
      // A predicated-off instruction is issued all the same; its lanes are those switched on.
      each(i, t.executions[b], i.guard_tally == kNone ? t.lanes[b] : t.guard_lanes[i.guard_tally]);
    }
  }
}

void add_site(const Site& site, const SiteTally& t, uint64_t requests, Counters& c) {
  if (site.space == AddressSpace::shared) {
    const bool narrow = site.bytes <= 4;
    const uint64_t wavefronts = t.wavefronts + (narrow ? requests : 0), ideal = t.ideal + (narrow ? requests : 0);
    if (site.kind == Kind::load) {
      c.shared_load_requests += requests;
      c.shared_load_wavefronts += wavefronts;
      c.shared_load_wavefronts_ideal += ideal;
    } else if (site.kind == Kind::store) {
      c.shared_store_requests += requests;
      c.shared_store_wavefronts += wavefronts;
      c.shared_store_wavefronts_ideal += ideal;
    } else {
      c.shared_atomic_requests += requests;
      c.shared_atomic_wavefronts += wavefronts;
      c.shared_atomic_wavefronts_ideal += ideal;
    }
  } else if (site.space == AddressSpace::local) {
    // 8 bytes a lane go as two accesses of 4, 16 as four (tests/truth/patterns.jsonl).
    const uint64_t accesses = requests * std::max<uint32_t>(site.bytes / 4, 1);
    if (site.kind == Kind::load) {
      c.local_load_requests += accesses;
      c.local_load_sectors += t.sectors;
    } else {
      c.local_store_requests += accesses;
      c.local_store_sectors += t.sectors;
    }
  } else if (site.kind == Kind::load) {
    c.global_load_requests += requests;
    c.global_load_sectors += t.sectors;
    c.global_load_lines += t.lines;
    c.global_load_bytes_requested += t.bytes;
  } else if (site.kind == Kind::store) {
    c.global_store_requests += requests;
    c.global_store_sectors += t.sectors;
    c.global_store_lines += t.lines;
    c.global_store_bytes_requested += t.bytes;
  } else if (site.returns) {
    c.global_atomic_requests += requests;
    c.global_atomic_sectors += t.sectors;
    c.global_atomic_lines += t.lines;
  } else {
    c.global_reduction_requests += requests;
    c.global_reduction_sectors += t.sectors;
    c.global_reduction_lines += t.lines;
  }
}

bool is_bra(const Instruction& i) { return (i.kind == Kind::branch && i.mode == 0) || i.kind == Kind::branch_table; }

void add_instruction(const Instruction& i, uint64_t executions, uint64_t lanes, Counters& c) {
  c.instructions += executions;
  c.thread_instructions += lanes;
  if (is_bra(i)) c.branches += executions;
  if (i.kind == Kind::barrier) c.barriers += executions;
  if (i.kind == Kind::shuffle) c.shuffles += executions;
  if (i.kind == Kind::vote || i.kind == Kind::match || i.kind == Kind::active_mask) c.votes += executions;
}

// Requests of each site: tallied where they must be, else the executions of the blocks that hold it.
std::vector<uint64_t> requests_of(const Decoded& p, const Tally& t) {
  std::vector<uint64_t> executions(p.code.size());
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) executions[k] += t.executions[b];
  std::vector<uint64_t> requests(p.sites.size());
  for (std::size_t s = 0; s < p.sites.size(); ++s)
    requests[s] = p.sites[s].dynamic_requests ? t.sites[s].requests : executions[p.sites[s].instruction];
  return requests;
}

// The totals and the lines differ only in where each amount goes: `to(place)` says.
template <class To>
void distribute(const Decoded& p, const Tally& t, To to) {
  for_each_counted(
      p, t, [&](const Instruction& i, uint64_t n, uint64_t lanes) { add_instruction(i, n, lanes, to(i.place)); });
  const std::vector<uint64_t> requests = requests_of(p, t);
  for (std::size_t s = 0; s < p.sites.size(); ++s)
    if (requests[s] && !p.sites[s].merged)
      add_site(p.sites[s], t.sites[s], requests[s], to(p.code[p.sites[s].instruction].place));
  constexpr uint64_t Counters::* kBulk[] = {&Counters::bulk_load_sectors, &Counters::bulk_store_sectors,
                                            &Counters::bulk_reduction_sectors};
  for (std::size_t k = 0; k < p.bulks.size(); ++k)
    if (t.bulk_sectors[k])
      to(p.bulks[k].place).*kBulk[static_cast<std::size_t>(p.bulks[k].traffic)] += t.bulk_sectors[k];
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    const Instruction& last = p.code[p.blocks[b].last - 1];
    if (t.divergent[b] && is_bra(last)) to(last.place).divergent_branches += t.divergent[b];
  }
}

}  // namespace

Counters count(const Decoded& p, const Tally& t) {
  Counters total;
  distribute(p, t, [&](uint32_t) -> Counters& { return total; });
  return total;
}

std::vector<LineCounters> count_lines(const Decoded& p, const Tally& t) {
  std::vector<LineCounters> lines(p.lines);
  std::vector<bool> seen(p.places.size());
  distribute(p, t, [&](uint32_t place) -> Counters& {
    LineCounters& l = lines[p.line_of[place]];
    if (seen[place]) return l.counters;
    seen[place] = true;
    const Place& where = p.places[place];
    const SourcePlace& at = users_place(where.source, where.inlined_at);
    if (l.ptx_line == 0) l.place.file = at.file, l.place.line = at.line;
    if (l.ptx_line == 0 || where.ptx_line < l.ptx_line) l.ptx_line = where.ptx_line;
    return l.counters;
  });
  std::erase_if(lines, [](const LineCounters& l) { return l.ptx_line == 0; });
  return lines;
}

}  // namespace coalesce::machine
