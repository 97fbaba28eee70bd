#include "tool/present/compare.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/present/table.h"

namespace coalesce::tool {

using Json = nlohmann::ordered_json;
using machine::kCounterRows;

void print_comparing(std::ostream& out, const Comparing& comparing, bool all, bool colour) {
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
                    {"counted", row.counted},
                    {"measured", row.measured}});
  }
  const Json whole = {{"schema", "coalesce.compare/1"},
                      {"launches", comparing.launches},
                      {"equal_launches", comparing.equal_launches},
                      {"counters", std::move(rows)},
                      {"unmatched", comparing.unmatched}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace coalesce::tool
