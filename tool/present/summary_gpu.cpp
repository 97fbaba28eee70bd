// Prints the table of `coalesce run --on gpu`: one row per kernel, its launches added up.
#include <fmt/format.h>

#include <map>
#include <ostream>

#include "tool/figures/hardware.h"
#include "tool/present/lab_gpu.h"
#include "tool/present/summary.h"

namespace coalesce::tool {
namespace {

struct Sum {
  uint64_t launches = 0, known = kAllCounters;
  double cold = 0, warm = 0, seconds = 0;
  machine::Counters counters;
};

std::string microseconds(double seconds) { return seconds == 0 ? "" : fmt::format("{:.2f}", seconds * 1e6); }

}  // namespace

void print_gpu_summary(std::ostream& out, const Record& record, bool colour) {
  out << fmt::format("{} on {} (measured; per kernel, all launches added up)\n",
                     record.program.substr(record.program.rfind('/') + 1), record.device.name);
  if (record.launches.empty()) {
    out << record.none << '\n';
    return;
  }
  std::map<std::size_t, Sum> kernels;
  for (const Launch& launch : record.launches) {
    Sum& sum = kernels[launch.kernel];
    ++sum.launches;
    sum.known &= launch.known;
    sum.cold += median(launch.cold);
    sum.warm += median(launch.warm);
    sum.seconds += launch.seconds;
    sum.counters += launch.counters;
  }
  Table table({{.title = "kernel", .left = true},
               {.title = "runs"},
               {.title = "us", .optional = true},
               {.group = "us", .title = "cold", .optional = true},
               {.group = "us", .title = "warm", .optional = true},
               {.group = "global loads", .title = "reqs", .optional = true},
               {.group = "global loads", .title = "sects", .optional = true},
               {.group = "global stores", .title = "reqs", .optional = true},
               {.group = "global stores", .title = "sects", .optional = true},
               {.group = "atomic", .title = "passes", .optional = true},
               {.group = "local", .title = "sects", .optional = true},
               {.group = "shared", .title = "waves", .optional = true}});
  for (const auto& [kernel, sum] : kernels) {
    const machine::Counters& c = sum.counters;
    const auto number = [&](uint64_t value) { return Cell{value ? compact(value) : std::string(), Style::plain}; };
    table.row({{record.kernels[kernel].short_name},
               {compact(sum.launches)},
               {microseconds(sum.seconds)},
               {microseconds(sum.cold)},
               {microseconds(sum.warm)},
               number(c.global_load_requests),
               number(c.global_load_sectors),
               number(c.global_store_requests),
               number(c.global_store_sectors),
               number(c.global_atomic_sectors + c.global_reduction_sectors),
               number(c.local_load_sectors + c.local_store_sectors),
               number(shared_wavefronts(c))});
  }
  table.print(out, colour);
}

}  // namespace coalesce::tool
