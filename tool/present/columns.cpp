// The columns that counters are shown in.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tool/present/summary.h"

namespace coalesce::tool {
namespace {

using machine::Counters;

Cell number(uint64_t value) {
  return {value ? compact(value) : std::string(), Style::plain, value ? std::to_string(value) : std::string()};
}
Cell moved(uint64_t sectors) {
  if (sectors == 0) return {};
  return {bytes_text(32 * sectors), Style::plain, std::to_string(32 * sectors)};
}

// "8.0x": times what the same bytes need.
Cell excess(uint64_t taken, uint64_t least) {
  if (taken == 0) return {};
  const double times = ratio(taken, least).value_or(1);
  return {fmt::format("{:.1f}x", times), taken > least + least / 10 ? Style::bad : Style::plain,
          fmt::format("{:.6g}", times)};
}

// "8.0/4.0": what a request takes, and what it could take at best.
Cell against(uint64_t taken, uint64_t ideal, uint64_t requests) {
  if (requests == 0) return {};
  return {fmt::format("{:.1f}/{:.1f}", ratio(taken, requests).value_or(0), ratio(ideal, requests).value_or(0)),
          taken > ideal + ideal / 10 ? Style::bad : Style::plain};
}

uint64_t least_loads(const Counters& c) { return ideal_sectors(c.global_load_requests, c.global_load_bytes_requested); }
uint64_t least_stores(const Counters& c) {
  return ideal_sectors(c.global_store_requests, c.global_store_bytes_requested);
}
uint64_t atomic_passes(const Counters& c) { return c.global_atomic_sectors + c.global_reduction_sectors; }
uint64_t local_sectors(const Counters& c) { return c.local_load_sectors + c.local_store_sectors; }

Cell mean_lanes(const Counters& c) {
  const double mean = ratio(c.thread_instructions, c.instructions).value_or(0);
  return {fixed(mean, mean == 32 ? 0 : 1), Style::plain, fmt::format("{:.6g}", mean)};
}

// The meanings of column titles. Titles that speak for themselves have no row.
struct Meaning {
  const char* title;  // the end of "group title"
  const char* text;
};
constexpr Meaning kMeanings[] = {
    {" moved", "moved: whole sectors of 32 bytes"},
    {" excess", "excess: times what the same bytes need"},
    {"shared memory passes", "passes: over the banks of shared memory"},
    {"atomics passes", "passes of atomics: over sectors"},
    {" sects", "sects: sectors of 32 bytes"},
    {" per/best", "per/best: sectors a request, and the fewest that hold its bytes"},
    {" waves", "waves: passes over the banks of shared memory"},
    {" confl", "confl: those due to conflicts"},
    {"lanes on", "lanes on: of 32, mean"},
    {"moved/ least", "moved/least: bytes moved over those touched at all (2 where all is updated in place)"},
};

}  // namespace

std::vector<Column> moved_columns() {
  return {{.group = "loads", .title = "moved", .optional = true},
          {.group = "loads", .title = "excess", .optional = true},
          {.group = "stores", .title = "moved", .optional = true},
          {.group = "stores", .title = "excess", .optional = true},
          {.group = "atomics", .title = "passes", .optional = true, .spare = 2},
          {.group = "local", .title = "moved", .optional = true, .spare = 3},
          {.group = "shared memory", .title = "passes", .optional = true},
          {.group = "shared memory", .title = "excess", .optional = true},
          {.group = "lanes", .title = "on", .optional = true, .spare = 1}};
}

std::vector<Cell> moved_cells(const Counters& c, bool whole_kernel) {
  return {moved(c.global_load_sectors),
          excess(c.global_load_sectors, least_loads(c)),
          moved(c.global_store_sectors),
          excess(c.global_store_sectors, least_stores(c)),
          number(atomic_passes(c)),
          moved(local_sectors(c)),
          number(shared_wavefronts(c)),
          excess(shared_wavefronts(c), shared_wavefronts_ideal(c)),
          whole_kernel && c.instructions ? mean_lanes(c) : Cell{}};
}

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
  const bool lanes = whole_kernel && c.instructions, waste = whole_kernel && c.compulsory_bytes;
  const double mean = ratio(c.thread_instructions, c.instructions).value_or(0);
  const double times = ratio(moved_bytes(c), c.compulsory_bytes).value_or(0);
  const uint64_t conflicts = bank_conflicts(c);
  return {
      number(c.global_load_requests),
      number(c.global_load_sectors),
      against(c.global_load_sectors, least_loads(c), c.global_load_requests),
      number(c.global_store_requests),
      number(c.global_store_sectors),
      against(c.global_store_sectors, least_stores(c), c.global_store_requests),
      number(atomic_passes(c)),
      number(local_sectors(c)),
      number(shared_wavefronts(c)),
      // Zero conflicts are worth a zero where there was shared memory to conflict on.
      {shared_requests(c) ? compact(conflicts) : std::string(), conflicts ? Style::bad : Style::plain},
      {c.branches ? compact(c.divergent_branches) : std::string(), Style::plain},
      {lanes ? fixed(mean, 1) : std::string(), Style::plain},
      {waste ? fixed(times, times < 100 ? 2 : 0) : std::string(), waste && times > 1.1 ? Style::bad : Style::plain}};
}

std::string meaning_of(const Column& column) {
  const std::string title = column.group + ' ' + column.title;
  for (const Meaning& meaning : kMeanings) {
    const std::string text = meaning.text;
    if (title.ends_with(meaning.title)) return text.substr(text.find(": ") + 2);
  }
  return "";
}

void print_legend(std::ostream& out, const Table& table, const SummaryStyle& style) {
  std::string text;
  const std::vector<std::string> titles = table.titles(style.width);
  for (const Meaning& meaning : kMeanings) {
    const auto shown = [&](const std::string& title) { return title.ends_with(meaning.title); };
    if (std::none_of(titles.begin(), titles.end(), shown)) continue;
    text += (text.empty() ? "" : "; ") + std::string(meaning.text);
  }
  if (text.empty()) return;
  for (const std::string& line : wrapped(text, style.width, 0)) out << styled(line, Style::dim, style.colour) << '\n';
}

}  // namespace coalesce::tool
