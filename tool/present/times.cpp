#include "tool/present/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "machine/time/limits.h"
#include "tool/figures/hardware.h"
#include "tool/present/html_table.h"
#include "tool/present/html_text.h"

namespace coalesce::tool {
namespace {

using machine::BoundBy;
using machine::TimeEstimate;

// The launches of one kernel.
struct KernelTime {
  std::size_t launches = 0;
  double us = 0, low = 0, high = 0, moved = 0, busy = 0;
  double measured = 0;                // us, on a GPU
  std::size_t measured_launches = 0;  // of the estimated ones
  std::map<BoundBy, double> us_of;    // by what bounds them
  std::map<std::string, std::size_t> none;
};

std::string time_text(double us) {
  return us < 1000  ? fmt::format("{:.3g} us", us)
         : us < 1e6 ? fmt::format("{:.3g} ms", us / 1e3)
                    : fmt::format("{:.3g} s", us / 1e6);
}

const char* bound_text(BoundBy b) {
  switch (b) {
    case BoundBy::dram:
      return "DRAM";
    case BoundBy::l2:
      return "L2";
    case BoundBy::shared:
      return "shared memory";
    default:
      return machine::name_of(machine::kBounds, b);
  }
}

// Short launches of known kernels on an H100, 3 to 31 us long: 2.5 to 3.1 us more.
constexpr const char* kBetweenEvents =
    "measured: between two events, 2.5 to 3.1 us more than Nsight Compute's duration";

// The words behind the device's name.
std::string source_note(const record::DeviceName& device) {
  const machine::Limits* limits = machine::find_limits(device.key);
  return limits && !machine::measured(*limits) ? " as documents describe it" : "";
}

using KernelTimes = std::map<std::size_t, KernelTime>;

KernelTimes times_of(const Record& record, const Record* measured) {
  KernelTimes kernels;
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const Launch& launch = record.launches[i];
    if (!launch.time) continue;
    const TimeEstimate& e = *launch.time;
    KernelTime& k = kernels[launch.kernel];
    if (!e.none.empty()) {
      ++k.none[e.none];
      continue;
    }
    ++k.launches;
    k.us += e.us;
    k.low += e.low_us;
    k.high += e.high_us;
    k.moved += static_cast<double>(moved_bytes(launch.counters));
    k.busy += e.share * e.us;
    k.us_of[e.bound_by] += e.us;
    const Launch* const same = measured ? same_launch(record, i, *measured) : nullptr;
    if (!same || same->cold.empty()) continue;
    k.measured += 1e6 * median(same->cold);
    ++k.measured_launches;
  }
  return kernels;
}

std::vector<Column> columns() {
  return {{.title = "kernel", .left = true, .cut = true},
          {.title = "runs", .optional = true, .spare = 2},
          {.title = "time"},
          {.title = "from"},
          {.title = "to"},
          {.title = "measured", .optional = true},
          {.title = "GB/s", .optional = true, .spare = 1},
          {.title = "share", .optional = true},
          {.title = "bound by", .left = true}};
}

std::vector<std::vector<Cell>> rows_of(const Record& record, const KernelTimes& kernels) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& [kernel, k] : kernels) {
    if (k.launches == 0) continue;
    const auto most = std::max_element(k.us_of.begin(), k.us_of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const bool limit = most->first != BoundBy::latency && most->first != BoundBy::launch;
    rows.push_back({{record.kernels[kernel].short_name},
                    {k.launches > 1 ? compact(k.launches) : std::string()},
                    {time_text(k.us)},
                    {time_text(k.low)},
                    {time_text(k.high)},
                    {k.measured_launches == k.launches ? time_text(k.measured) : std::string()},
                    {k.moved > 0 ? fmt::format("{:.0f}", k.moved / k.us / 1e3) : std::string()},
                    {limit ? fmt::format("{:.0f}%", 100 * k.busy / k.us) : std::string()},
                    {bound_text(most->first)}});
  }
  return rows;
}

std::vector<std::string> reasons(const Record& record, const KernelTimes& kernels) {
  std::vector<std::string> out;
  for (const auto& [kernel, k] : kernels)
    for (const auto& [why, launches] : k.none)
      out.push_back(fmt::format("{}: no estimate of {}, because {}", record.kernels[kernel].short_name,
                                plural(launches, "launch"), why));
  return out;
}

}  // namespace

const Launch* same_launch(const Record& record, std::size_t i, const Record& measured) {
  if (i >= measured.launches.size()) return nullptr;
  const Launch& same = measured.launches[i];
  const std::string& name = record.kernels[record.launches[i].kernel].short_name;
  return measured.kernels[same.kernel].short_name == name ? &same : nullptr;
}

void print_times(std::ostream& out, const Record& record, const SummaryStyle& style, const Record* measured) {
  const KernelTimes kernels = times_of(record, measured);
  if (kernels.empty()) return;
  out << fmt::format("\nEstimated, {}{}, cold L2; {}:\n", record.device.name, source_note(record.device),
                     measured ? "measured on " + measured->device.name : "not measured");
  Table table(columns());
  for (std::vector<Cell>& row : rows_of(record, kernels)) table.row(std::move(row));
  if (!table.empty()) table.print(out, style.colour, style.width);
  if (measured) out << kBetweenEvents << '\n';
  for (const std::string& reason : reasons(record, kernels)) out << reason << '\n';
}

std::string times_html(const Record& record, const Record* measured) {
  const KernelTimes kernels = times_of(record, measured);
  if (kernels.empty()) return {};
  std::vector<HtmlColumn> titles;
  for (const Column& c : columns()) titles.push_back({.title = c.title, .hint = "", .number = !c.left});
  HtmlTable table(std::move(titles));
  for (const std::vector<Cell>& row : rows_of(record, kernels)) {
    std::vector<HtmlCell> cells;
    for (const Cell& cell : row) cells.push_back(html_cell(cell));
    table.row(std::move(cells));
  }
  std::string html = table.empty() ? std::string() : scroll_html("times of kernels", table.html());
  for (const std::string& reason : reasons(record, kernels)) html += "<p>" + escape(reason) + ".</p>\n";
  const std::string where =
      source_note(record.device) +
      (measured ? "; measured on " + measured->device.name + "; " + kBetweenEvents : std::string("; not measured"));
  return figure_html("estimates", "Times of kernels, all launches added up",
                     {"estimated", record.device.name + ", from a cold L2 on" + where}, html);
}

std::vector<std::string> estimate_fields() {
  return {"estimated_us",
          "estimated_low_us",
          "estimated_high_us",
          "estimated_bound_by",
          "estimated_occupancy",
          "estimated_l1_hit_sectors",
          "estimated_l2_hit_sectors",
          "estimated_dram_read_bytes",
          "estimated_dram_write_bytes"};
}

std::vector<std::string> estimate_values(const TimeEstimate* e) {
  if (!e || !e->none.empty()) return std::vector<std::string>(estimate_fields().size());
  return {fmt::format("{:.6g}", e->us),        fmt::format("{:.6g}", e->low_us),
          fmt::format("{:.6g}", e->high_us),   machine::name_of(machine::kBounds, e->bound_by),
          fmt::format("{:.4g}", e->occupancy), std::to_string(e->l1_hit_sectors),
          std::to_string(e->l2_hit_sectors),   std::to_string(e->dram_read_bytes),
          std::to_string(e->dram_write_bytes)};
}

}  // namespace coalesce::tool
