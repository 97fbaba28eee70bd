#include "tool/present/html_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tool/figures/hardware.h"
#include "tool/present/export.h"
#include "tool/present/html_table.h"
#include "tool/present/html_text.h"
#include "tool/present/lab_gpu.h"

namespace coalesce::tool {
namespace {

using machine::kCounterRows;

// A time with a bar; what points at it shows the repetitions' spread.
HtmlCell time_cell(const std::vector<double>& seconds) {
  if (seconds.empty()) return {};
  const double us = median(seconds) * 1e6;
  return {fmt::format("<span title=\"&#177; {:.3f} us, {} repetitions\">{:.2f}</span>", spread(seconds) * 1e6,
                      seconds.size(), us),
          us};
}
HtmlCell plain_time(double seconds) {
  return seconds == 0 ? HtmlCell{} : HtmlCell{fmt::format("{:.1f}", seconds * 1e6), seconds * 1e6};
}
HtmlCell share_cell(double part, double whole) {
  return {part == 0 || whole == 0 ? "" : fmt::format("{:.1f} %", 100 * part / whole)};
}

std::string times_html(const Experiment& e) {
  HtmlTable table(
      {{.title = "rung", .hint = "", .number = false},
       {.title = "cold, us", .hint = "median, the L2 cache emptied before each repetition", .bar = "bs"},
       {.title = "warm, us", .hint = "median, the arrays just read", .bar = "bv"},
       {.title = "GB/s", .hint = "the bytes an infinite cache would still have to move, over the cold time"},
       {.title = "of read", .hint = "share of what our own kernel reads on this GPU"},
       {.title = "of copy", .hint = "share of what our own kernel copies on this GPU"},
       {.title = "cycles", .hint = "clock cycles a step"},
       {.title = "estimated, us", .hint = "without the GPU, from a cold L2 on"},
       {.title = "the whole, us", .hint = "the host's clock, from the first copy to the last wait", .bar = "bs"},
       {.title = "to device, us", .hint = "in calls that copy to the device"},
       {.title = "to host, us", .hint = "in calls that copy to the host"}});
  for (const Rung& rung : e.rungs) {
    const Hardware h = rung.hardware.value_or(Hardware{});
    const double rate = bandwidth(rung);
    table.row({text_cell(rung.name),
               time_cell(h.cold),
               time_cell(h.warm),
               {rate == 0 ? "" : fmt::format("{:.1f}", rate * 1e-9)},
               share_cell(rate, e.limits.read),
               share_cell(rate, e.limits.copy),
               {h.cycles == 0 ? "" : fmt::format("{:.1f}", h.cycles)},
               plain_time(rung.estimated_seconds.value_or(0)),
               plain_time(h.span),
               plain_time(h.h2d_seconds),
               plain_time(h.d2h_seconds)});
  }
  return scroll_html(e.name + ": times", table.html());
}

std::string hardware_html(const Experiment& e) {
  HtmlTable table({{.title = "rung", .hint = "", .number = false},
                   {.title = "counter", .hint = "", .number = false},
                   {.title = "counted", .hint = "by the machine"},
                   {.title = "measured", .hint = "by the hardware"},
                   {.title = "equal", .hint = "", .number = false}});
  for (const Rung& rung : e.rungs) {
    if (!rung.hardware) continue;
    for (const std::size_t row : kMemoryCounters) {
      const uint64_t counted = rung.counters.*kCounterRows[row].field;
      const uint64_t measured = rung.hardware->counters.*kCounterRows[row].field;
      if (!(rung.hardware->known >> row & 1) || (!counted && !measured)) continue;
      table.row({text_cell(rung.name), text_cell(std::string(kCounterRows[row].name)), count_cell(counted),
                 count_cell(measured),
                 text_cell(counted == measured ? "yes" : "no", counted == measured ? "good" : "bad")});
    }
  }
  return table.empty() ? "" : scroll_html(e.name + ": counted and measured", table.html());
}

std::string estimates_html(const Experiment& e, const std::string& id) {
  HtmlTable table({{.title = "rung", .hint = "", .number = false},
                   {.title = "estimated, us", .hint = "from a cold L2 on", .bar = "bs"}});
  for (const Rung& rung : e.rungs)
    if (rung.estimated_seconds) table.row({text_cell(rung.name), plain_time(*rung.estimated_seconds)});
  if (table.empty()) return "";
  return figure_html(id + "---estimates", "Time", {"estimated", e.device.name},
                     scroll_html(e.name + ": estimates", table.html()));
}

}  // namespace

std::string measured_html(const Experiment& e, const std::string& id) {
  if (e.gpu.empty()) return estimates_html(e, id);
  std::string out = "<h3>On the GPU</h3>\n" +
                    figure_html(id + "---times", "Time and bandwidth", {"timed", "on an " + e.gpu}, times_html(e));
  if (e.limits.read > 0) out += "<p>" + escape(limits_text(e.limits)) + ".</p>\n";
  if (const std::string counters = hardware_html(e); !counters.empty())
    out += figure_html(id + "---hardware", "Counted and measured", {"measured", "by the counters of an " + e.gpu},
                       counters);
  for (const std::string& note : e.notes) out += "<p>" + escape(note) + "</p>\n";
  return out;
}

std::string measured_html(const Record& record) {
  std::map<std::size_t, Rung> kernels;
  for (const Launch& launch : record.launches) {
    Rung& rung = kernels[launch.kernel];
    ++rung.launches;
    rung.name = record.kernels[launch.kernel].short_name;
    rung.counters += launch.counters;
  }
  if (kernels.empty()) return "<p>" + escape(record.none) + "</p>\n";
  std::vector<HtmlColumn> columns{
      {.title = "kernel", .hint = "", .number = false},
      {.title = "launches", .hint = ""},
      {.title = "cold, us", .hint = "median, the L2 cache emptied before each repetition", .bar = "bs"},
      {.title = "warm, us", .hint = "median, the arrays just read", .bar = "bv"}};
  for (const std::size_t row : kMemoryCounters)
    columns.push_back({.title = std::string(kCounterRows[row].name), .hint = std::string(kCounterRows[row].meaning)});
  HtmlTable table(columns);
  for (const auto& [kernel, rung] : kernels) {
    const Hardware h = hardware_of(record, rung.name);
    std::vector<HtmlCell> cells{text_cell(rung.name), count_cell(rung.launches), time_cell(h.cold), time_cell(h.warm)};
    for (const std::size_t row : kMemoryCounters) {
      const uint64_t value = h.counters.*kCounterRows[row].field;
      cells.push_back(count_cell(value, !(h.known >> row & 1) || value == 0));
    }
    table.row(std::move(cells));
  }
  std::string out = figure_html("kernels", "Kernels, all launches added up",
                                {"measured", "on an " + record.device.name}, scroll_html("kernels", table.html()));
  for (const std::string& note : record.notes) out += "<p>" + escape(note) + "</p>\n";
  return out;
}

nlohmann::ordered_json measured_json(const Rung& rung) {
  const Hardware h = rung.hardware.value_or(Hardware{});
  // Names that the chart shows as they are.
  return {{"cold_microseconds", h.seconds() * 1e6},
          {"warm_microseconds", median(h.warm) * 1e6},
          {"gigabytes_per_second", bandwidth(rung) * 1e-9},
          {"counters", known_counters_json(h.counters, h.known)}};
}

}  // namespace coalesce::tool
