#include "tool/present/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/present/table.h"

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

std::string comparing_json(const Comparing& comparing) {
  Json rows = Json::array();
  for (const Difference& row : comparing.rows) {
    rows.push_back({{"launch", row.launch},
                    {"kernel", row.kernel},
                    {"counter", kCounterRows[row.row].name},
                    {comparing.baseline ? "before" : "counted", row.counted},
                    {comparing.baseline ? "after" : "measured", row.measured}});
  }
  const Json whole = {{"schema", "coalesce.compare/1"},
                      {"launches", comparing.launches},
                      {"equal_launches", comparing.equal_launches},
                      {"counters", std::move(rows)},
                      {"unmatched", comparing.unmatched}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace coalesce::tool
