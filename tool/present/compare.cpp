#include "tool/present/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/present/export.h"
#include "tool/present/table.h"
#include "tool/present/times.h"

namespace coalesce::tool {

using Json = nlohmann::ordered_json;
using machine::kCounterRows;

namespace {

// "+12.5 %"; of nothing: "new".
std::string change(uint64_t before, uint64_t after) {
  if (before == 0) return "new";
  const double share = 100 * (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(before);
  return fmt::format("{:+.{}f} %", share, std::abs(share) < 99.95 ? 1 : 0);
}

// The changes of a baseline's counters.
void print_baseline(std::ostream& out, const Comparing& comparing, bool all, bool colour) {
  Table table({{.title = "kernel", .left = true},
               {.title = "launch"},
               {.title = "counter", .left = true},
               {.title = "before"},
               {.title = "after"},
               {.title = "change"}});
  for (const Difference& row : comparing.rows) {
    const bool equal = row.counted == row.measured;
    if (equal && !all) continue;
    table.row(
        {{shorten(row.kernel)},
         {std::to_string(row.launch)},
         {std::string(kCounterRows[row.row].name)},
         {grouped(row.counted)},
         {grouped(row.measured)},
         {equal ? "" : change(row.counted, row.measured), row.measured > row.counted ? Style::bad : Style::good}});
  }
  if (!table.empty()) table.print(out, colour);
  for (const std::string& text : comparing.unmatched) out << text << '\n';
  out << fmt::format("{} of {} launches are as before, {} of {} counters that are not 0\n", comparing.equal_launches,
                     comparing.launches, comparing.equal, comparing.rows.size());
}

}  // namespace

void print_comparing(std::ostream& out, const Comparing& comparing, bool all, bool colour) {
  if (comparing.baseline) return print_baseline(out, comparing, all, colour);
  Table table({{.title = "kernel", .left = true},
               {.title = "launch"},
               {.title = "counter", .left = true},
               {.title = "counted"},
               {.title = "measured"},
               {.title = "equal"}});
  for (const Difference& row : comparing.rows) {
    const bool equal = row.counted == row.measured;
    if (equal && !all) continue;
    table.row({{shorten(row.kernel)},
               {std::to_string(row.launch)},
               {std::string(kCounterRows[row.row].name)},
               {grouped(row.counted)},
               {grouped(row.measured)},
               equal ? Cell{"yes", Style::good} : Cell{"no", Style::bad}});
  }
  if (!table.empty()) table.print(out, colour);
  for (const std::string& text : comparing.unmatched) out << text << '\n';
  out << fmt::format("{} of {} launches agree in all counters, {} of {} counters that are not 0 are equal\n",
                     comparing.equal_launches, comparing.launches, comparing.equal, comparing.rows.size());
}

namespace {

Json rows_json(const Comparing& comparing) {
  Json rows = Json::array();
  for (const Difference& row : comparing.rows) {
    rows.push_back({{"launch", row.launch},
                    {"kernel", row.kernel},
                    {"counter", kCounterRows[row.row].name},
                    {comparing.baseline ? "before" : "counted", row.counted},
                    {comparing.baseline ? "after" : "measured", row.measured}});
  }
  return {{"schema", "coalesce.compare/1"},
          {"launches", comparing.launches},
          {"equal_launches", comparing.equal_launches},
          {"counters", std::move(rows)},
          {"unmatched", comparing.unmatched}};
}

std::string compare_text(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace

std::string comparing_json(const Comparing& comparing) { return compare_text(rows_json(comparing)); }

std::string both_json(const Comparing& comparing, const Record& counted, const Record& measured) {
  Json whole = rows_json(comparing), times = Json::array();
  for (std::size_t i = 0; i < counted.launches.size(); ++i) {
    const Launch& launch = counted.launches[i];
    const Launch* const beside = same_launch(counted, i, measured);
    const bool timed = beside && !beside->cold.empty();
    if (!launch.time && !timed) continue;
    times.push_back({{"launch", i}, {"kernel", counted.kernels[launch.kernel].full}});
    if (launch.time) times.back()["estimated"] = estimate_json(*launch.time, counted.device.key);
    if (timed) times.back()["measured"] = times_json(*beside);
  }
  if (!times.empty()) {
    whole["device"] = device_json(counted.device);
    whole["measured_on"] = measured.device.name;
    whole["times"] = std::move(times);
  }
  return compare_text(whole);
}

}  // namespace coalesce::tool
