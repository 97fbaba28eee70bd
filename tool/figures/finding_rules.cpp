#include "tool/figures/finding_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tool/figures/banks.h"
#include "tool/figures/findings.h"

namespace coalesce::tool {
namespace {

using machine::BoundBy;
using machine::Counters;

constexpr double kPerSector = 0.5, kPerWavefront = 1, kPerInstruction = 0.25;  // cycles: findings.h

double real(uint64_t value) { return static_cast<double>(value); }
double each(uint64_t value, uint64_t requests) { return ratio(value, requests).value_or(0); }

Cycles sector_cycles(uint64_t moved, uint64_t least) {
  return {real(above(moved, least)) * kPerSector, real(moved) * kPerSector};
}

std::string saved_bytes(uint64_t moved, uint64_t least) {
  return bytes_text(32 * above(moved, least)) + " of " + bytes_text(32 * moved);
}
std::string saved_count(uint64_t spent, uint64_t least, const char* noun) {
  return count_text(above(spent, least)) + " of " + count_text(spent) + ' ' + noun;
}

// Loads or stores of global memory, at one line.
struct Access {
  uint64_t requests, sectors, bytes;
  uint64_t least() const { return ideal_sectors(requests, bytes); }
  double taken() const { return each(sectors, requests); }
  double wanted() const { return each(least(), requests); }
};
Access loads(const Counters& c) {
  return {c.global_load_requests, c.global_load_sectors, c.global_load_bytes_requested};
}
Access stores(const Counters& c) {
  return {c.global_store_requests, c.global_store_sectors, c.global_store_bytes_requested};
}

std::string too_many_sectors(const char* verb, const Access& a) {
  return fmt::format("{} {:.1f} times the bytes that they need ({:.1f} sectors a request, {:.1f} would do)", verb,
                     each(a.sectors, a.least()), a.taken(), a.wanted());
}

// One sector more than the bytes need is what a warp's consecutive bytes cost that begin within a sector.
bool misaligned(const Access& a) { return a.sectors - a.least() <= a.requests && a.wanted() >= 2; }
// A sector for each of the 32 lanes.
bool lone(const Access& a) { return a.taken() > 31; }

std::string spread(const Access& a) {
  if (lone(a)) return "each lane touches a sector of its own: neighbouring lanes are 32 bytes or more apart";
  if (misaligned(a)) return "the bytes of a warp do not begin at a multiple of 32";
  return fmt::format("the lanes of a warp are spread over {:.1f} sectors", a.taken());
}
std::string bring_together(const Access& a) {
  if (lone(a))
    return "let threadIdx.x be the index that is next in memory (swap the indices), or turn a tile over in shared "
           "memory";
  if (misaligned(a)) return "begin arrays and rows at multiples of 32 bytes (cudaMallocPitch pads rows)";
  return "let neighbouring lanes access neighbouring elements: an array for each member in place of an array of "
         "structures, or one vector load a lane";
}

uint64_t atomic_sectors(const Counters& c) { return c.global_atomic_sectors + c.global_reduction_sectors; }
uint64_t atomic_lines(const Counters& c) { return c.global_atomic_lines + c.global_reduction_lines; }
uint64_t atomic_requests(const Counters& c) { return c.global_atomic_requests + c.global_reduction_requests; }
uint64_t local_sectors(const Counters& c) { return c.local_load_sectors + c.local_store_sectors; }

std::string meeting_lanes(const Judged& c) {
  if (const uint32_t stride = bank_stride(c))
    return stride == 32 ? "all 32 lanes meet in one bank, as down a column of rows of 32 words"
                        : fmt::format("{} lanes meet in a bank, as with a stride of {} words", stride, stride);
  if (c.shared_atomic_requests != 0) return "lanes update the same word, or words of the same bank";
  return "lanes meet in some banks, without a regular stride";
}
std::string separate_lanes(const Judged& c) {
  if (const uint32_t stride = bank_stride(c)) {
    const auto pad = bank_picture({.stride = stride}).free_pad;
    if (pad)
      return fmt::format("leave {} unused after every {} words", *pad == 1 ? "one word" : fmt::format("{} words", *pad),
                         stride);
  }
  if (c.shared_atomic_requests != 0) return "give each warp a copy of its own, and add the copies up at the end";
  return "let the lanes of a warp access consecutive words";
}

// Data that are updated in place must be read and written, though they are touched in one place: at most as much as
// was read, and at most as much as was written.
uint64_t least_moved(const Counters& c) {
  return c.compulsory_bytes / 32 + std::min(c.global_load_sectors, c.global_store_sectors);
}
// The part of a warp's lanes that the launch left without a thread.
double empty_part(const Judged& c) { return c.warps == 0 ? 0 : 1 - real(c.threads) / 32 / real(c.warps); }
// Warp instructions that whole warps would not need.
uint64_t empty_lanes(const Judged& c) {
  const uint64_t idle = above(32 * c.instructions, c.thread_instructions) / 32;
  return std::min(idle, static_cast<uint64_t>(empty_part(c) * real(c.instructions)));
}
uint64_t idle_lanes(const Judged& c) {
  return c.divergent_branches == 0 ? 0 : above(32 * c.instructions, c.thread_instructions) / 32 - empty_lanes(c);
}
// Moved sectors without those that other rules call wasted, and without those that whole warps would not ask for.
uint64_t asked_sectors(const Judged& c) {
  uint64_t other = wasted_sectors(c);
  for (const Access& a : {loads(c), stores(c)}) {
    const auto whole = static_cast<uint64_t>(std::ceil((1 - empty_part(c)) * real(a.requests)));
    other += a.least() - ideal_sectors(whole, a.bytes);
  }
  return above(moved_bytes(c) / 32, other);
}

using C = const Judged&;
constexpr std::array kMemory{BoundBy::l2, BoundBy::dram}, kShared{BoundBy::shared, BoundBy::shared},
    kAtomics{BoundBy::atomics, BoundBy::l2}, kIssue{BoundBy::issue, BoundBy::issue};
const FindingRule kRules[] = {
    {"loads", true, [](C c) { return sector_cycles(loads(c).sectors, loads(c).least()); },
     [](C c) { return too_many_sectors("loads move", loads(c)); }, [](C c) { return spread(loads(c)); },
     [](C c) { return bring_together(loads(c)); }, [](C c) { return saved_bytes(loads(c).sectors, loads(c).least()); },
     nullptr, kMemory},
    {"stores", true, [](C c) { return sector_cycles(stores(c).sectors, stores(c).least()); },
     [](C c) { return too_many_sectors("stores move", stores(c)); }, [](C c) { return spread(stores(c)); },
     [](C c) { return bring_together(stores(c)); },
     [](C c) { return saved_bytes(stores(c).sectors, stores(c).least()); }, nullptr, kMemory},
    {"banks", true,
     [](C c) { return Cycles{real(bank_conflicts(c)) * kPerWavefront, real(shared_wavefronts(c)) * kPerWavefront}; },
     [](C c) {
       return fmt::format("bank conflicts take {:.1f} passes a request where {:.1f} would do",
                          each(shared_wavefronts(c), shared_requests(c)),
                          each(shared_wavefronts_ideal(c), shared_requests(c)));
     },
     meeting_lanes, separate_lanes,
     [](C c) { return saved_count(shared_wavefronts(c), shared_wavefronts_ideal(c), "passes"); }, nullptr, kShared},
    // An atomic passes over a line's four sectors at most once each, unless several lanes update one word.
    {"atomics", true, [](C c) { return sector_cycles(atomic_sectors(c), 4 * atomic_lines(c)); },
     [](C c) {
       return fmt::format("atomics take {:.1f} passes a request", each(atomic_sectors(c), atomic_requests(c)));
     },
     [](C) { return std::string("lanes of a warp update the same word, one after the other"); },
     [](C) {
       return std::string("combine within the warp first (a shuffle, or __reduce_add_sync), then let one lane update");
     },
     [](C c) { return saved_count(atomic_sectors(c), 4 * atomic_lines(c), "passes"); }, nullptr, kAtomics},
    {"local", true, [](C c) { return sector_cycles(local_sectors(c), 0); },
     [](C c) { return "local memory moves " + bytes_text(32 * local_sectors(c)); },
     [](C) { return std::string("an array of the thread, or spilled registers, did not stay in registers"); },
     [](C) {
       return std::string("index such an array by constants only (unroll its loop), or keep fewer values alive");
     },
     [](C c) { return bytes_text(32 * local_sectors(c)); }, nullptr, kMemory},
    // Idle lanes count against divergence only where branches part: a short last warp is no finding.
    {"branches", false,
     [](C c) { return Cycles{real(idle_lanes(c)) * kPerInstruction, real(c.instructions) * kPerInstruction}; },
     [](C c) { return fmt::format("{:.1f} of 32 lanes work on average", each(c.thread_instructions, c.instructions)); },
     [](C) { return std::string("branches send lanes of one warp different ways"); },
     [](C) { return std::string("branch by the warp's index, or move the work together first"); },
     [](C c) { return saved_count(c.instructions, c.instructions - idle_lanes(c), "warp instructions"); },
     [](C c) { return c.divergent_branches; }, kIssue},
    {"few threads", false,
     [](C c) { return Cycles{real(empty_lanes(c)) * kPerInstruction, real(c.instructions) * kPerInstruction}; },
     [](C c) { return fmt::format("warps have {:.1f} threads on average, where 32 fit", each(c.threads, c.warps)); },
     [](C) { return std::string("the size of the blocks is no multiple of 32"); },
     [](C) {
       return std::string(
           "launch blocks of 128 or 256 threads, and let each take elements of its own: blockIdx.x * blockDim.x + "
           "threadIdx.x");
     },
     [](C c) { return saved_count(c.instructions, c.instructions - empty_lanes(c), "warp instructions"); },
     [](C c) { return c.instructions; }, kIssue},
    {"reads again", false,
     [](C c) { return c.compulsory_bytes ? sector_cycles(asked_sectors(c), least_moved(c)) : Cycles{}; },
     [](C c) {
       return fmt::format("asks for {:.1f} times the bytes it touches",
                          each(32 * asked_sectors(c), c.compulsory_bytes));
     },
     [](C) { return std::string("the same bytes are moved again and again"); },
     [](C) { return std::string("keep them in registers or shared memory"); },
     [](C c) { return saved_bytes(asked_sectors(c), least_moved(c)); },
     [](C c) { return c.global_load_sectors + c.global_store_sectors + atomic_sectors(c); }, kMemory},
};

}  // namespace

double spent_cycles(const Counters& c) {
  double cycles = real(c.instructions) * kPerInstruction;
  for (const FindingRule& rule : kRules) {
    if (rule.per_line) cycles += rule.judge({c}).spent;
  }
  return cycles;
}

uint32_t bank_stride(const Counters& c) {
  const uint64_t all = shared_wavefronts(c), least = shared_wavefronts_ideal(c);
  if (c.shared_atomic_requests != 0 || least == 0 || all % least != 0) return 0;
  const uint64_t degree = all / least;
  return degree >= 2 && degree <= 32 && std::has_single_bit(degree) ? static_cast<uint32_t>(degree) : 0;
}

std::span<const FindingRule> finding_rules() { return kRules; }

}  // namespace coalesce::tool
