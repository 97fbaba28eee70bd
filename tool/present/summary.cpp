#include "tool/present/summary.h"

#include <fmt/format.h>

#include <ostream>

#include "tool/figures/advice.h"

namespace coalesce::tool {
namespace {

using machine::Counters;

Cell number(uint64_t value) { return {value ? compact(value) : std::string(), Style::plain}; }

// "8.0/4.0": what a request takes, and what it could take at best.
Cell against(uint64_t taken, uint64_t ideal, uint64_t requests) {
  if (requests == 0) return {};
  return {fmt::format("{:.1f}/{:.1f}", ratio(taken, requests).value_or(0), ratio(ideal, requests).value_or(0)),
          taken > ideal + ideal / 10 ? Style::bad : Style::plain};
}

}  // namespace

// Requests are spare: sectors and sectors per request say as much.
std::vector<Column> counter_columns() {
  return {{.group = "global loads", .title = "reqs", .optional = true, .spare = 2},
          {.group = "global loads", .title = "sects", .optional = true},
          {.group = "global loads", .title = "per/best", .optional = true},
          {.group = "global stores", .title = "reqs", .optional = true, .spare = 3},
          {.group = "global stores", .title = "sects", .optional = true},
          {.group = "global stores", .title = "per/best", .optional = true},
          {.group = "atomic", .title = "passes", .optional = true},
          {.group = "local", .title = "sects", .optional = true},
          {.group = "shared", .title = "waves", .optional = true},
          {.group = "shared", .title = "confl", .optional = true},
          {.group = "diverg", .title = "branch", .optional = true},
          {.group = "lanes", .title = "on", .optional = true, .spare = 1},
          {.group = "moved/", .title = "least", .optional = true}};
}

std::vector<Cell> counter_cells(const Counters& c, bool whole_kernel) {
  const uint64_t atomics = c.global_atomic_sectors + c.global_reduction_sectors;
  const bool lanes = whole_kernel && c.instructions, waste = whole_kernel && c.compulsory_bytes;
  const double mean = ratio(c.thread_instructions, c.instructions).value_or(0);
  const double times = ratio(moved_bytes(c), c.compulsory_bytes).value_or(0);
  const uint64_t conflicts = bank_conflicts(c);
  return {
      number(c.global_load_requests),
      number(c.global_load_sectors),
      against(c.global_load_sectors, ideal_sectors(c.global_load_requests, c.global_load_bytes_requested),
              c.global_load_requests),
      number(c.global_store_requests),
      number(c.global_store_sectors),
      against(c.global_store_sectors, ideal_sectors(c.global_store_requests, c.global_store_bytes_requested),
              c.global_store_requests),
      number(atomics),
      number(c.local_load_sectors + c.local_store_sectors),
      number(shared_wavefronts(c)),
      // Zero conflicts are worth a zero where there was shared memory to conflict on.
      {shared_requests(c) ? compact(conflicts) : std::string(), conflicts ? Style::bad : Style::plain},
      {c.branches ? compact(c.divergent_branches) : std::string(), Style::plain},
      {lanes ? fixed(mean, 1) : std::string(), Style::plain},
      {waste ? fixed(times, times < 100 ? 2 : 0) : std::string(), waste && times > 1.1 ? Style::bad : Style::plain}};
}

void print_legend(std::ostream& out, bool colour) {
  for (const char* line :
       {"sects: sectors of 32 bytes; per/best: sectors a request, and the fewest that hold its bytes;",
        "waves: passes of the shared memory's banks, confl: those due to conflicts; lanes on: of 32, mean;",
        "moved/least: bytes moved over those touched at all (2 where all is updated in place)"}) {
    out << styled(line, Style::dim, colour) << '\n';
  }
}

void print_summary(std::ostream& out, const Record& record, bool colour) {
  const std::vector<KernelTotal> kernels = totals(record);
  out << fmt::format("{} on {} ({}, not timed; per kernel, all launches added up)\n",
                     record.program.substr(record.program.rfind('/') + 1), record.device.name, record.device.counted());
  if (kernels.empty()) {
    out << record.none << '\n';
    return;
  }
  std::vector<Column> columns = {{.title = "kernel", .left = true}, {.title = "runs"}};
  for (Column& column : counter_columns()) columns.push_back(std::move(column));
  Table table(columns);
  for (const KernelTotal& kernel : kernels) {
    std::vector<Cell> cells = {{record.kernels[kernel.kernel].short_name, kernel.ended() ? Style::plain : Style::bad},
                               {compact(kernel.launches)}};
    for (Cell& cell : counter_cells(kernel.counters, kernel.ended())) cells.push_back(std::move(cell));
    table.row(std::move(cells));
  }
  table.print(out, colour);
  print_legend(out, colour);

  bool first = true;
  for (const KernelTotal& kernel : kernels) {
    const std::string& name = record.kernels[kernel.kernel].short_name;
    const auto say = [&](const std::string& text, const std::string& place) {
      if (first) out << '\n';
      first = false;
      out << styled(name, Style::bold, colour) << ": " << text << (place.empty() ? "" : ": " + place) << '\n';
    };
    if (!kernel.fault.empty()) {
      say("ended with " + kernel.fault + "; its counters are of what ran", "");
    } else if (kernel.interrupted) {
      say("interrupted by a signal; its counters are of what ran", "");
    }
    if (!kernel.ended()) continue;  // what would have come is not known
    if (const Advice advice = advise(kernel); !advice.text.empty()) say(advice.text, advice.place);
  }
}

void print_lines(std::ostream& out, const Record& record, bool colour) {
  for (const KernelTotal& kernel : totals(record)) {
    out << '\n' << styled(record.kernels[kernel.kernel].full, Style::bold, colour) << '\n';
    if (kernel.lines.empty()) {
      out << "  no line touched memory or branched\n";
      continue;
    }
    std::vector<Column> columns = {{.title = "line", .left = true}};
    for (Column& column : counter_columns()) columns.push_back(std::move(column));
    Table table(columns);
    bool source = true;
    for (const Line& line : kernel.lines) {
      source &= !line.file.empty();
      std::vector<Cell> cells = {{place_of(line)}};
      for (Cell& cell : counter_cells(line.counters, false)) cells.push_back(std::move(cell));
      table.row(std::move(cells));
    }
    table.print(out, colour);
    if (!source) out << "  (build with -lineinfo to see source lines in place of PTX lines)\n";
  }
}

}  // namespace coalesce::tool
