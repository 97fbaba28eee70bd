#include "tool/present/lab_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using machine::Counters;
using machine::kCounterRows;

std::string in_microseconds(double seconds) {
  const double us = seconds * 1e6;
  return us == 0 ? "" : fixed(us, us < 100 ? 2 : 1);
}
std::string gigabytes(double bytes_per_second) {
  return bytes_per_second == 0 ? "" : fmt::format("{:.1f}", bytes_per_second * 1e-9);
}
std::string percent(double part, double whole) {
  return part == 0 || whole == 0 ? "" : fmt::format("{:.1f}", 100 * part / whole);
}

Table copies_times(const Experiment& e) {
  Table table({{.title = "rung", .left = true},
               {.group = "the whole", .title = "us"},
               {.group = "host to device", .title = "us"},
               {.group = "host to device", .title = "GB/s"},
               {.group = "device to host", .title = "us"},
               {.group = "device to host", .title = "GB/s"}});
  for (const Rung& rung : e.rungs) {
    const Hardware h = rung.hardware.value_or(Hardware{});
    const Copies c = rung.copies.value_or(Copies{});
    const auto rate = [](uint64_t bytes, double seconds) {
      return seconds == 0 ? 0 : static_cast<double>(bytes) / seconds;
    };
    table.row({{rung.name},
               {in_microseconds(h.span)},
               {in_microseconds(h.h2d_seconds)},
               {gigabytes(rate(c.h2d_bytes, h.h2d_seconds))},
               {in_microseconds(h.d2h_seconds)},
               {gigabytes(rate(c.d2h_bytes, h.d2h_seconds))}});
  }
  return table;
}

bool has_counters(const Experiment& e) {
  return std::any_of(e.rungs.begin(), e.rungs.end(), [](const Rung& r) { return r.hardware && r.hardware->known; });
}

std::string agreement_text(std::size_t equal, std::size_t total) {
  return fmt::format("Hardware read {} counters of memory that are not 0; {} of them are what was counted", total,
                     equal);
}

constexpr const char* kTimesLegend =
    "cold: the L2 cache emptied before each repetition; warm: the arrays just read; ±: half the distance of the "
    "quartiles;\nGB/s: the bytes an infinite cache would still move, over the cold time; %: of what our own kernels "
    "read "
    "and copied";

}  // namespace

Table times_table(const Experiment& e) {
  if (std::any_of(e.rungs.begin(), e.rungs.end(), [](const Rung& r) { return r.copies.has_value(); }))
    return copies_times(e);
  Table table({{.title = "rung", .left = true},
               {.group = "cold", .title = "us"},
               {.group = "cold", .title = "±"},
               {.group = "warm", .title = "us"},
               {.group = "warm", .title = "±"},
               {.group = "effective", .title = "GB/s", .optional = true},
               {.group = "effective", .title = "% of read", .optional = true},
               {.group = "effective", .title = "% of copy", .optional = true},
               {.title = "cycles", .optional = true},
               {.group = "estimated", .title = "us", .optional = true}});
  for (const Rung& rung : e.rungs) {
    const Hardware h = rung.hardware.value_or(Hardware{});
    const double rate = bandwidth(rung);
    table.row({{rung.name},
               {in_microseconds(h.seconds())},
               {in_microseconds(spread(h.cold))},
               {in_microseconds(median(h.warm))},
               {in_microseconds(spread(h.warm))},
               {gigabytes(rate)},
               {percent(rate, e.limits.read)},
               {percent(rate, e.limits.copy)},
               {h.cycles ? fmt::format("{:.1f}", h.cycles) : ""},
               {in_microseconds(rung.estimated_seconds.value_or(0))}});
  }
  return table;
}

Table estimates_table(const Experiment& e) {
  Table table({{.title = "rung", .left = true}, {.group = "estimated, " + e.device.name, .title = "us"}});
  for (const Rung& rung : e.rungs)
    if (rung.estimated_seconds) table.row({{rung.name}, {in_microseconds(*rung.estimated_seconds)}});
  return table;
}

Table hardware_table(const Experiment& e, std::size_t& equal, std::size_t& total) {
  Table table({{.title = "rung", .left = true},
               {.title = "counter", .left = true},
               {.title = "counted"},
               {.title = "measured"},
               {.title = "equal"}});
  for (const Rung& rung : e.rungs) {
    if (!rung.hardware) continue;
    for (const std::size_t row : kMemoryCounters) {
      if (!(rung.hardware->known >> row & 1)) continue;
      const uint64_t counted = rung.counters.*kCounterRows[row].field;
      const uint64_t measured = rung.hardware->counters.*kCounterRows[row].field;
      if (!counted && !measured) continue;
      ++total, equal += counted == measured;
      if (counted == measured && !e.every_counter) continue;
      table.row({{rung.name},
                 {std::string(kCounterRows[row].name)},
                 {grouped(counted)},
                 {grouped(measured)},
                 counted == measured ? Cell{"yes", Style::good} : Cell{"no", Style::bad}});
    }
  }
  return table;
}

std::string limits_text(const Limits& l) {
  return fmt::format(
      "This GPU reads {:.0f} GB/s and copies {:.0f} GB/s at best; an empty launch follows the last in "
      "{:.1f} us and is waited for {:.1f} us",
      l.read * 1e-9, l.copy * 1e-9, l.launch_following * 1e6, l.launch_waited * 1e6);
}

void print_measured(std::ostream& out, const Experiment& e, bool colour) {
  out << '\n';
  times_table(e).print(out, colour);
  out << styled(kTimesLegend, Style::dim, colour) << '\n' << styled(limits_text(e.limits), Style::dim, colour) << '\n';
  if (!has_counters(e)) return;
  out << '\n';
  std::size_t equal = 0, total = 0;
  const Table table = hardware_table(e, equal, total);
  if (!table.empty()) table.print(out, colour);
  out << agreement_text(equal, total) << '\n';
}

void print_measured_markdown(std::ostream& out, const Experiment& e) {
  times_table(e).print_markdown(out);
  out << '\n';
  if (!has_counters(e)) return;
  std::size_t equal = 0, total = 0;
  const Table table = hardware_table(e, equal, total);
  if (!table.empty()) table.print_markdown(out);
  out << '\n' << agreement_text(equal, total) << "\n\n";
}

}  // namespace coalesce::tool
