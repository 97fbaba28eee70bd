#include "tool/ncu.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

namespace coalesce::tool {
namespace {

using machine::kCounterRows;

// "16,777,216" or "1.5": ncu groups digits as the locale does. Nothing: no number.
std::optional<double> number(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c != ',' && c != '\'' && c != ' ') digits += c;
  }
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end) return {};
  return value;
}

// "(128, 1, 1)"
std::array<uint32_t, 3> triple(const std::string& text) {
  std::array<uint32_t, 3> result{};
  std::size_t at = 0;
  for (uint32_t& value : result) {
    while (at < text.size() && !std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
      value = value * 10 + static_cast<uint32_t>(text[at++] - '0');
  }
  return result;
}

void set(ComparedLaunch& launch, const std::string& metric, const std::string& text) {
  const auto row = std::find_if(std::begin(kCounterRows), std::end(kCounterRows),
                                [&](const auto& r) { return !r.nsight.empty() && r.nsight == metric; });
  const auto value = number(text);
  if (row == std::end(kCounterRows) || !value) return;
  launch.counters.*(row->field) = static_cast<uint64_t>(*value + 0.5);
  launch.known |= uint64_t{1} << (row - std::begin(kCounterRows));
}

}  // namespace

std::vector<std::vector<std::string>> csv_records(const std::string& text) {
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        fields.back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      records.push_back(std::move(fields));
      fields.assign(1, "");
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  if (fields.size() > 1 || !fields[0].empty()) records.push_back(std::move(fields));
  return records;
}

std::optional<std::vector<ComparedLaunch>> read_ncu(const std::string& text) {
  // The table begins at its heading; a quote in the program's own output before it must not swallow it.
  const auto start = text.find("\"ID\",");
  if (start == std::string::npos) return {};
  const auto records = csv_records(text.substr(start));
  const std::vector<std::string>& heading = records[0];
  const auto column = [&](const char* title) -> std::optional<std::size_t> {
    const auto found = std::find(heading.begin(), heading.end(), title);
    if (found == heading.end()) return {};
    return static_cast<std::size_t>(found - heading.begin());
  };
  const auto id = column("ID"), kernel = column("Kernel Name"), grid = column("Grid Size"),
             block = column("Block Size"), metric = column("Metric Name"), value = column("Metric Value");
  if (!id || !kernel || !grid || !block) return {};
  std::vector<ComparedLaunch> launches;
  std::map<std::string, std::size_t> by_id;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::vector<std::string>& fields = records[i];
    if (fields.size() != heading.size() || fields[*id].empty()) continue;  // the row of units, or ncu's last words
    const auto [place, fresh] = by_id.try_emplace(fields[*id], launches.size());
    if (fresh) {
      ComparedLaunch launch;
      launch.kernel = fields[*kernel], launch.grid = triple(fields[*grid]), launch.block = triple(fields[*block]);
      launches.push_back(std::move(launch));
    }
    ComparedLaunch& launch = launches[place->second];
    if (metric && value) {
      set(launch, fields[*metric], fields[*value]);
    } else {
      for (std::size_t c = 0; c < heading.size(); ++c) set(launch, heading[c], fields[c]);
    }
  }
  return launches;
}

}  // namespace coalesce::tool
