// How the worst finding is found.
//
// Every rule says for one place (a source line, or the whole kernel) how many passes were wasted there. To compare a
// bank conflict with a wasted sector, waste is in units of what one warp instruction costs when it wastes nothing: one
// wavefront of shared memory, one issue slot, or four sectors (the 128 bytes that 32 lanes of 4 bytes need). The
// weights rank findings; they are no prediction of time. A rule speaks up only where a tenth of what it judges is
// wasted: less is noise at edges.
#include "tool/figures/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace coalesce::tool {
namespace {

using machine::Counters;

constexpr double kSectorsPerPass = 4;
constexpr double kWorthSaying = 0.1;

struct Finding {
  double waste = 0;  // in passes
  double spent = 0;  // in passes, waste included
};

struct Rule {
  bool per_line;  // judged at each line; otherwise for the kernel as a whole
  Finding (*judge)(const Counters&);
  std::string (*say)(const Counters&);
  // Rules for the whole kernel: which line to show, by what is largest there; null: the figure has no line.
  uint64_t (*blame)(const Counters&);
};

double real(uint64_t value) { return static_cast<double>(value); }

double each(uint64_t value, uint64_t requests) { return ratio(value, requests).value_or(0); }

Finding sectors(uint64_t moved, uint64_t ideal) {
  return {real(above(moved, ideal)) / kSectorsPerPass, real(moved) / kSectorsPerPass};
}

uint64_t atomic_sectors(const Counters& c) { return c.global_atomic_sectors + c.global_reduction_sectors; }
uint64_t atomic_lines(const Counters& c) { return c.global_atomic_lines + c.global_reduction_lines; }
uint64_t atomic_requests(const Counters& c) { return c.global_atomic_requests + c.global_reduction_requests; }

const Rule kRules[] = {
    {true,
     [](const Counters& c) {
       return sectors(c.global_load_sectors, ideal_sectors(c.global_load_requests, c.global_load_bytes_requested));
     },
     [](const Counters& c) {
       return fmt::format(
           "loads {:.1f} sectors a request where {:.1f} would do", each(c.global_load_sectors, c.global_load_requests),
           each(ideal_sectors(c.global_load_requests, c.global_load_bytes_requested), c.global_load_requests));
     },
     nullptr},
    {true,
     [](const Counters& c) {
       return sectors(c.global_store_sectors, ideal_sectors(c.global_store_requests, c.global_store_bytes_requested));
     },
     [](const Counters& c) {
       return fmt::format(
           "stores {:.1f} sectors a request where {:.1f} would do",
           each(c.global_store_sectors, c.global_store_requests),
           each(ideal_sectors(c.global_store_requests, c.global_store_bytes_requested), c.global_store_requests));
     },
     nullptr},
    {true, [](const Counters& c) { return Finding{real(bank_conflicts(c)), real(shared_wavefronts(c))}; },
     [](const Counters& c) {
       return fmt::format("bank conflicts: {:.1f} wavefronts a request where {:.1f} would do",
                          each(shared_wavefronts(c), shared_requests(c)),
                          each(shared_wavefronts_ideal(c), shared_requests(c)));
     },
     nullptr},
    // An atomic passes over a line's sectors at most four times unless several lanes want one word.
    {true, [](const Counters& c) { return sectors(atomic_sectors(c), 4 * atomic_lines(c)); },
     [](const Counters& c) {
       return fmt::format("lanes of a warp update the same word: {:.1f} passes an atomic",
                          each(atomic_sectors(c), atomic_requests(c)));
     },
     nullptr},
    {true, [](const Counters& c) { return sectors(c.local_load_sectors + c.local_store_sectors, 0); },
     [](const Counters& c) {
       return fmt::format(
           "a local array does not stay in registers: {:.1f} sectors a request",
           each(c.local_load_sectors + c.local_store_sectors, c.local_load_requests + c.local_store_requests));
     },
     nullptr},
    // Lanes switched off count against divergence only where branches part: a short last warp is no finding.
    {false,
     [](const Counters& c) {
       if (c.divergent_branches == 0) return Finding{};
       return Finding{real(above(32 * c.instructions, c.thread_instructions)) / 32, real(c.instructions)};
     },
     [](const Counters& c) {
       return fmt::format("branches part the warps: {:.1f} of 32 lanes work on average",
                          each(c.thread_instructions, c.instructions));
     },
     [](const Counters& c) { return c.divergent_branches; }},
    {false,
     // What is updated in place has to be both read and written, though it is touched in one place. How much that is
     // nobody counts; it cannot be more than was read, nor more than was written.
     [](const Counters& c) {
       const uint64_t in_place = std::min(c.global_load_sectors, c.global_store_sectors);
       return c.compulsory_bytes ? sectors(moved_bytes(c) / 32, c.compulsory_bytes / 32 + in_place) : Finding{};
     },
     [](const Counters& c) {
       return fmt::format("moves {:.1f} times the bytes it touches: keep them in registers or shared memory",
                          each(moved_bytes(c), c.compulsory_bytes));
     },
     [](const Counters& c) { return c.global_load_sectors + c.global_store_sectors; }},
};

}  // namespace

std::string place_of(const Line& line) {
  if (!line.file.empty()) return fmt::format("{}:{}", line.file.substr(line.file.rfind('/') + 1), line.line);
  return line.ptx_line ? fmt::format("PTX line {}", line.ptx_line) : std::string();
}

Advice advise(const KernelTotal& total) {
  Advice worst;
  const auto consider = [&](const Rule& rule, const Counters& counters, const Line* line) {
    const Finding finding = rule.judge(counters);
    if (finding.waste <= worst.waste || finding.waste < kWorthSaying * finding.spent) return;
    worst = {rule.say(counters), line ? place_of(*line) : std::string(), finding.waste};
  };
  for (const Rule& rule : kRules) {
    if (rule.per_line && !total.lines.empty()) {
      for (const Line& line : total.lines) consider(rule, line.counters, &line);
    } else {
      const Line* blamed = nullptr;
      for (const Line& line : total.lines) {
        if (rule.blame && rule.blame(line.counters) > (blamed ? rule.blame(blamed->counters) : 0)) blamed = &line;
      }
      consider(rule, total.counters, blamed);
    }
  }
  return worst;
}

}  // namespace coalesce::tool
