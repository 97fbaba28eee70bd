#include "tool/figures/ncu.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace coalesce::tool {
namespace {

using machine::kCounterRows;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

// "16,777,216" or "3.00": ncu groups digits as the locale does. Nothing: not read ("", "n/a", "(!) n/a").
std::optional<uint64_t> count_of(const std::string& metric, const std::string& text) {
  if (text.empty() || text.ends_with("n/a")) return {};
  std::string digits;
  for (const char c : text) {
    if (c != ',' && c != '\'' && c != ' ') digits += c;
  }
  const bool plain = digits.find_first_not_of("0123456789.") == std::string::npos && digits.find('.') != 0;
  const double value = plain ? std::strtod(digits.c_str(), nullptr) : -1;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value < 0 || value > kExact || value != std::floor(value))
    fail("metric " + metric + " is '" + text + "', no count");
  return static_cast<uint64_t>(value);
}

// "(128, 1, 1)"
std::array<uint32_t, 3> triple(const char* column, const std::string& text) {
  std::array<uint32_t, 3> result{};
  std::size_t at = 0;
  for (uint32_t& value : result) {
    while (at < text.size() && !std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc()) fail(std::string(column) + " is '" + text + "', no three numbers");
    at = static_cast<std::size_t>(end - text.data());
  }
  return result;
}

void set(ComparedLaunch& launch, const std::string& metric, const std::string& text, const std::string& unit) {
  const auto row = std::find_if(std::begin(kCounterRows), std::end(kCounterRows),
                                [&](const auto& r) { return !r.nsight.empty() && r.nsight == metric; });
  const auto more = std::find_if(std::begin(machine::kFurtherMetrics), std::end(machine::kFurtherMetrics),
                                 [&](const auto& r) { return r.nsight == metric; });
  const bool own = row != std::end(kCounterRows);
  if (!own && more == std::end(machine::kFurtherMetrics)) return;
  if (!unit.empty() && std::isupper(static_cast<unsigned char>(unit[0])))  // "Ksector": rounded
    fail("metric " + metric + " is in " + unit + "; ncu --print-units base gives whole numbers");
  const auto value = count_of(metric, text);
  if (!value) return;
  launch.counters.*(own ? row->field : more->field) += *value;
  if (own) launch.known |= uint64_t{1} << (row - std::begin(kCounterRows));
}

}  // namespace

std::vector<std::vector<std::string>> csv_records(const std::string& text, bool* complete) {
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
  if (complete) *complete = !quoted;
  return records;
}

std::optional<std::vector<ComparedLaunch>> read_ncu(const std::string& text) {
  // The table begins at its heading; a quote in the program's own output before it must not swallow it.
  const auto start = text.find("\"ID\",");
  if (start == std::string::npos) return {};
  bool complete = false;
  const auto records = csv_records(text.substr(start), &complete);
  if (!complete || text.back() == ',') fail("the table ends within a row: it was cut short");
  const std::vector<std::string>& heading = records[0];
  const auto column = [&](const char* title) -> std::optional<std::size_t> {
    const auto found = std::find(heading.begin(), heading.end(), title);
    if (found == heading.end()) return {};
    return static_cast<std::size_t>(found - heading.begin());
  };
  const auto id = column("ID"), kernel = column("Kernel Name"), grid = column("Grid Size"),
             block = column("Block Size"), metric = column("Metric Name"), value = column("Metric Value"),
             unit = column("Metric Unit");
  if (!id || !kernel || !grid || !block) return {};
  const bool row_per_metric = metric && value;
  std::vector<std::string> units(heading.size());
  std::vector<ComparedLaunch> launches;
  std::map<std::string, std::size_t> by_id;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::vector<std::string>& fields = records[i];
    const bool words = fields.size() == 1 && fields[0].find_first_not_of("0123456789") != std::string::npos;
    if (words) continue;  // what ncu or the program says after the table
    if (fields.size() != heading.size())
      fail("row " + std::to_string(i) + " of the table has " + std::to_string(fields.size()) +
           " columns, its heading " + std::to_string(heading.size()) + ": it was cut short, or is not one table");
    if (fields[*id].empty()) {
      units = fields;
      continue;
    }
    const auto [place, fresh] = by_id.try_emplace(fields[*id], launches.size());
    if (fresh) {
      ComparedLaunch launch;
      launch.kernel = fields[*kernel];
      launch.grid = triple("Grid Size", fields[*grid]), launch.block = triple("Block Size", fields[*block]);
      launches.push_back(std::move(launch));
    } else if (!row_per_metric) {
      fail("launch " + fields[*id] + " stands there twice: these are two reports");
    }
    ComparedLaunch& launch = launches[place->second];
    if (row_per_metric) {
      set(launch, fields[*metric], fields[*value], unit ? fields[*unit] : std::string());
    } else {
      for (std::size_t c = 0; c < heading.size(); ++c) set(launch, heading[c], fields[c], units[c]);
    }
  }
  return launches;
}

}  // namespace coalesce::tool
