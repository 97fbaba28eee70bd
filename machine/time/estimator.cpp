#include "machine/time/estimator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_set>

#include "machine/time/costs.h"
#include "machine/time/polls.h"
#include "machine/time/rounds.h"
#include "machine/time/swaps.h"
#include "machine/time/touched.h"
#include "machine/time/write_back.h"

namespace coalesce::machine {

namespace {

constexpr uint64_t kWaves = 6;            // watched: the first fill the multiprocessor, the others show its pace
constexpr std::size_t kWords = 1u << 21;  // of all traces of a launch
constexpr double kHeld = 0.7;             // of L2: what can be loaded again without DRAM (measured)
constexpr double kIdleBytes = 2304;       // that an empty kernel reads from DRAM (measured), beside its code
constexpr double kCodePiece = 256;        // bytes of code that are read together (measured)
constexpr double kConstantLine = 64;      // bytes
constexpr double kUncertain = 2.6;        // nine of ten programs are nearer (docs/results/time.md)

// The part of L1 that is left beside the shared memory of the resident blocks, of which hardware has some sizes.
uint64_t l1_beside_shared(const TimedLaunch& launch, uint32_t resident) {
  const auto all = static_cast<uint64_t>(launch.limits.l1_bytes.value);
  if (launch.device.major < 7) return all;
  const uint64_t used = uint64_t{resident} * (launch.needs.shared_bytes + launch.device.shared_reserved_per_block);
  for (const uint64_t kib : {0, 8, 16, 32, 64, 100, 132, 164, 196, 228})
    if (kib * 1024 >= used) return all > kib * 1024 ? all - kib * 1024 : 0;
  return all > used ? all - used : 0;
}

double ratio_of(double a, double b) { return b > 0 ? a / b : 0; }

// The watched blocks of one multiprocessor.
struct Multiprocessor {
  Blocks blocks;
  uint64_t of_all = 0;                     // that it would run
  uint64_t instructions = 0, longest = 0;  // of all its warps, of one
};

// Those whose blocks may take the longest: of the last block, of the most work, and of the longest warp.
std::vector<Multiprocessor> candidates(const TimeTrace& trace) {
  std::map<uint64_t, Multiprocessor> all;
  const Watched& w = trace.watched();
  for (const auto& [number, block] : trace.blocks()) {
    Multiprocessor& m = all[number % w.apart];
    m.of_all = (w.blocks - 1 - number % w.apart) / w.apart + 1;
    m.blocks.push_back(&block);
    for (const uint64_t n : block.instructions) m.instructions += n, m.longest = std::max(m.longest, n);
  }
  if (all.empty()) return {};
  const auto last = all.find((w.blocks - 1) % w.apart);
  const Multiprocessor *first = last == all.end() ? &all.begin()->second : &last->second, *most = first,
                       *longest = first;
  for (const auto& [number, m] : all) {
    if (m.instructions > most->instructions) most = &m;
    if (m.longest > longest->longest) longest = &m;
  }
  std::vector<Multiprocessor> out{*first};
  if (most != first) out.push_back(*most);
  if (longest != first && longest != most) out.push_back(*longest);
  return out;
}

// Lines of local memory that a warp has touched, the most of any.
uint64_t local_lines(const std::vector<Multiprocessor>& all) {
  std::size_t most = 0;
  for (const Multiprocessor& m : all)
    for (const BlockTrace* block : m.blocks)
      for (std::size_t w = 0; block->has_local && w < block->warps.size(); ++w) {
        const Words warp = block->warps[w];
        std::unordered_set<uint64_t> lines;
        for (std::size_t k = 0; k < warp.size(); k += 1 + TraceWord::count(warp[k]))
          if (TraceWord::kind(warp[k]) == TraceKind::local)
            for (uint32_t n = 1; n <= TraceWord::count(warp[k]); ++n) lines.insert(warp[k + n] >> 4);
        most = std::max(most, lines.size());
      }
  return most;
}

// The bound that Nsight Compute's section "Speed of Light" would name: the busiest unit of the time that all
// multiprocessors have, DRAM of what its pins could move, L2 of what its slices could (fitted: what keeps it busy moves
// 0.85 of that); latency where none is busy.
void find_bound(const TimedLaunch& launch, TimeEstimate& e) {
  constexpr double kBusy = 0.6, kL2OfPeak = 0.85;
  const Limits& l = launch.limits;
  const double working =
      std::min(1.0, static_cast<double>(launch.blocks) / static_cast<double>(launch.device.multiprocessors));
  const auto share = [&](BoundBy b) {
    const double moved = static_cast<double>(e.dram_read_bytes + e.dram_write_bytes) / l.dram_peak_gbs.value * 1e-3;
    const double busy =
        b == BoundBy::dram ? moved : e.part_us[static_cast<std::size_t>(b)] * (b == BoundBy::l2 ? kL2OfPeak : 1);
    return busy / e.us * (b == BoundBy::issue || b == BoundBy::shared ? working : 1);
  };
  BoundBy most = BoundBy::issue;
  for (const BoundBy b : {BoundBy::shared, BoundBy::l2, BoundBy::dram, BoundBy::atomics, BoundBy::host})
    if (share(b) > share(most)) most = b;
  e.bound_by = 2 * l.launch_us.value > e.us ? BoundBy::launch : share(most) >= kBusy ? most : BoundBy::latency;
  e.share = e.bound_by == BoundBy::launch ? l.launch_us.value / e.us : e.bound_by == BoundBy::latency ? 1 : share(most);
}

}  // namespace

KernelFacts::KernelFacts(const Decoded& program, const Limits& limits)
    : costs(find_costs(program, limits)),
      swaps(find_swaps(program)),
      deciding(find_deciding_loads(program)),
      waits(waits_for_words(program)) {
  for (std::vector<bool>* some : {&swaps, &deciding})
    if (std::find(some->begin(), some->end(), true) == some->end()) some->clear();
}

Watched blocks_to_watch(const Device& device, const BlockNeeds& needs, uint64_t blocks) {
  return watch(blocks, device.multiprocessors, kWaves * std::max(1u, occupancy(device, needs).blocks));
}

std::size_t words_of_a_warp(const Watched& watched, uint32_t warps) {
  return std::max<std::size_t>(64, kWords / std::max<uint64_t>(1, watched.numbers.size() * warps));
}

TimeEstimate estimate_time(const TimedLaunch& launch, const TimeTrace& trace) {
  TimeEstimate e;
  const Limits& l = launch.limits;
  const Occupancy o = occupancy(launch.device, launch.needs);
  e.registers = launch.needs.registers;
  e.registers_known = launch.registers_known;
  e.resident_blocks = o.blocks;
  if (o.blocks == 0) {
    e.none = "a multiprocessor cannot hold one of its blocks";
    return e;
  }
  const std::vector<Multiprocessor> all = candidates(trace);
  if (all.empty()) {
    e.none = "no block has run to its end";
    return e;
  }
  Blocks blocks;
  for (const auto& [number, block] : trace.blocks()) blocks.push_back(&block);
  const Counters& c = launch.counters;
  const double sms = std::min<double>(launch.device.multiprocessors, static_cast<double>(launch.blocks));
  const Touched t = touched(launch, blocks);
  std::optional<Touched> of_one;
  const Touched& its = all[0].blocks.size() == blocks.size() ? t : of_one.emplace(touched(launch, all[0].blocks));
  if (t.contended) {
    e.none = "its blocks repeat a compare-and-swap of one word until it succeeds";
    return e;
  }
  if (t.unsettled) {
    e.none = "when its loops end depends on what other blocks store meanwhile";
    return e;
  }
  const auto launched = static_cast<double>(launch.blocks), watched = static_cast<double>(blocks.size());
  const double of_host = ratio_of(static_cast<double>(t.of_host), static_cast<double>(t.all));
  const DistinctSectors f = distinct_sectors(t, launch.regions);
  // Sectors that all multiprocessors would touch if they had none in common.
  const double apart =
      static_cast<double>(its.all - its.of_host) / static_cast<double>(all[0].blocks.size()) * launched;
  const double own = apart > 0 ? std::min(1.0, f.distinct / apart) : 1;

  Share share;
  share.resident = o.blocks;
  share.l1_bytes = l1_beside_shared(launch, o.blocks);
  share.multiprocessors = sms;
  const double loaded_apart =
      static_cast<double>(its.loaded) / static_cast<double>(all[0].blocks.size()) * launched * (1 - of_host);
  share.others = loaded_apart > 0 ? 1 - std::min(1.0, f.loaded / loaded_apart) : 0;
  const unsigned warps_of_block = (launch.needs.threads + 31) / 32;
  const double warps = std::min<double>(o.warps, std::ceil(launched / sms) * warps_of_block);
  const double local = static_cast<double>(local_lines(all)) * 128 * warps * sms;
  const double l2_bytes = kHeld * l.l2_bytes.value, of_l2 = std::min(l2_bytes, l2_bytes / (sms * own));
  const uint64_t enough = 4 * 128 * (t.lines + static_cast<uint64_t>(local / sms / 128)) + 16 * 128;
  share.l2_bytes = l2_bytes >= f.distinct * 32 + local ? enough : std::min(static_cast<uint64_t>(of_l2), enough);
  share.spilled = written_local(local, l.l2_bytes.value);
  share.host = launch.host;
  share.fetched = f.loaded > 0 ? f.fetched / f.loaded : 1;
  // Where a sector's words are stored once, their bytes tell which part of it is: an eighth is the least.
  const bool only_stores = c.global_atomic_sectors + c.global_reduction_sectors == 0;
  const double filled = ratio_of(static_cast<double>(c.global_store_bytes_requested), 32 * f.stored);
  const double partial = only_stores ? std::clamp((1 - filled) * 8 / 7, 0.0, 1.0) : 0;
  const WriteBack back = write_back({.stored = 32 * f.stored,
                                     .stored_lines = 32 * f.stored_lines,
                                     .loaded = 32 * std::max(0.0, f.fetched - f.changed),
                                     .readers = 1 / std::max(1 - share.others, 0.01),
                                     .partial = 32 * f.stored * partial,
                                     .partial_sectors = f.stored_of_line},
                                    l.l2_bytes.value);
  const double stores = static_cast<double>(c.global_store_sectors);
  share.write_back = std::clamp(ratio_of(back.written, 32 * stores), 0.0, 1.0);

  const Costs& costs = launch.kernel.costs;
  // Each candidate's time. Where blocks wait for others to end, those that are done early make room: then the mean
  // counts.
  const double mean = ratio_of(static_cast<double>(c.instructions), launched);
  double watched_mean = 0;
  for (const BlockTrace* block : blocks)
    for (const uint64_t n : block->instructions) watched_mean += static_cast<double>(n) / watched;
  Replay r;
  double cycles = -1;
  for (const Multiprocessor& m : all) {
    const Replay mine = replay(launch.program, costs, l, share, m.blocks);
    const auto number = static_cast<double>(m.blocks.size());
    const auto of_all = static_cast<double>(m.of_all);
    // The part that traces had no room for goes at the pace of their second half.
    const double left = std::max(0.0, static_cast<double>(m.instructions) - static_cast<double>(mine.instructions));
    const double cut = 1 + ratio_of(left * mine.pace, mine.cycles);
    double its_cycles = (mine.cycles + (of_all - number) * mine.steady) * cut;
    if (of_all > o.blocks)
      its_cycles =
          std::max(its_cycles * ratio_of(mean * number, static_cast<double>(m.instructions)), mine.longest * cut);
    else
      its_cycles *= std::max(1.0, ratio_of(mean, watched_mean));
    if (its_cycles <= cycles) continue;
    cycles = its_cycles;
    r = mine;
  }
  // The factor of busy times: a multiprocessor's part of the whole launch, over what was replayed.
  const double scale = ratio_of(static_cast<double>(c.instructions) / sms, static_cast<double>(r.instructions));
  const double us_of_cycle = 1e-3 / l.clock_ghz.value;
  const auto part = [&](BoundBy b) -> double& { return e.part_us[static_cast<std::size_t>(b)]; };
  const auto busy = [&](Resource resource) { return r.busy[static_cast<std::size_t>(resource)] * scale * us_of_cycle; };
  part(BoundBy::launch) = l.launch_us.value;
  part(BoundBy::issue) = busy(Resource::issue);
  part(BoundBy::shared) = busy(Resource::shared);
  part(BoundBy::l2) = busy(Resource::l2);
  part(BoundBy::dram) = busy(Resource::dram);
  const double hottest = std::max(t.hottest * launched / watched, t.hottest_of_block);
  part(BoundBy::atomics) = std::max(busy(Resource::atomics), hottest * us_of_cycle);
  part(BoundBy::host) = busy(Resource::host);
  part(BoundBy::latency) = cycles * us_of_cycle;
  // Stores and reductions go on when the warp that did them has ended: what they keep busy can last longer.
  double longest = 0;
  for (const auto& [name, bound] : kBounds)
    if (bound != BoundBy::launch) longest = std::max(longest, part(bound));
  e.us = longest + l.launch_us.value;
  e.low_us = e.us / kUncertain;
  e.high_us = e.us * kUncertain;

  e.waits = r.waits;
  e.occupancy = r.resident_warps / (launch.device.threads_per_multiprocessor / 32.0);

  const double loads = static_cast<double>(c.global_load_sectors);
  const double l1 = ratio_of(static_cast<double>(r.l1_hits), static_cast<double>(r.l1_sectors));
  const double l2 = ratio_of(static_cast<double>(r.l2_hits), static_cast<double>(r.l2_sectors));
  e.l1_hit_sectors = static_cast<uint64_t>(loads * l1);
  e.l2_hit_sectors = static_cast<uint64_t>(loads * (1 - l1) * l2);
  const bool fits = f.distinct * 32 <= l2_bytes;
  const double code = launch.program.known_code_bytes ? launch.program.known_code_bytes : 16 * costs.slots;
  // Constants come through caches of their own and are read once: all blocks read the same ones, as a rule.
  const double constants = kConstantLine * static_cast<double>(t.constants.size());
  const double moved_by_nobody = kIdleBytes + std::ceil(code / kCodePiece) * kCodePiece + constants;
  e.dram_read_bytes = static_cast<uint64_t>(moved_by_nobody + back.filled +
                                            32 * share.fetched * (fits ? f.loaded : loads * (1 - l1) * (1 - l2)));
  const double stored_local = static_cast<double>(r.stored_local) * scale * sms;
  e.dram_write_bytes = static_cast<uint64_t>(back.written + back.before + 32 * stored_local * share.spilled);
  find_bound(launch, e);

  // The roofline: what has to move, and nothing waits.
  const double all_sms = launch.device.multiprocessors, clock = l.clock_ghz.value * 1e3;
  const double waves =
      static_cast<double>(c.shared_load_wavefronts + c.shared_store_wavefronts + c.shared_atomic_wavefronts);
  const double moved = static_cast<double>(c.global_load_sectors + c.global_store_sectors) * 32;
  e.roofline_us = l.launch_us.value + std::max({f.distinct * 32 / l.dram_read_gbs.value / 1e3,
                                                moved / l.l2_gbs.value / 1e3, (waves + moved / 128) / all_sms / clock,
                                                static_cast<double>(c.instructions) / l.issue.value / all_sms / clock});
  return e;
}

}  // namespace coalesce::machine
