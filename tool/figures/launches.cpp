#include "tool/figures/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tool/figures/error.h"
#include "tool/figures/hardware.h"
#include "tool/figures/ncu.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::kCounterRows;

uint64_t whole(const Json& value, const std::string& what) {
  if (!value.is_number_unsigned()) throw std::runtime_error(what + " is " + value.dump() + ", no count");
  return value.get<uint64_t>();
}

std::array<uint32_t, 3> triple(const Json& launch, const char* key) {
  std::array<uint32_t, 3> result{};
  if (launch.at(key).size() != result.size()) throw std::runtime_error(std::string(key) + " is no three numbers");
  for (std::size_t i = 0; i < result.size(); ++i) {
    const uint64_t value = whole(launch.at(key).at(i), key);
    if (value > std::numeric_limits<uint32_t>::max()) throw std::runtime_error(std::string(key) + " is too large");
    result[i] = static_cast<uint32_t>(value);
  }
  return result;
}

std::vector<ComparedLaunch> from_json(const Json& run) {
  std::vector<ComparedLaunch> launches;
  for (const Json& each : run.at("launches")) {
    ComparedLaunch launch;
    launch.kernel = each.at("kernel").get<std::string>();
    launch.grid = triple(each, "grid");
    launch.block = triple(each, "block");
    const Json& counters = each.at("counters");
    for (std::size_t row = 0; row < machine::kCounterCount; ++row) {
      const auto found = counters.find(std::string(kCounterRows[row].name));
      if (found == counters.end()) continue;
      launch.counters.*kCounterRows[row].field = whole(*found, std::string(kCounterRows[row].name));
      launch.known |= uint64_t{1} << row;
    }
    launch.stopped = each.contains("interrupted") || each.contains("fault");
    launches.push_back(std::move(launch));
  }
  return launches;
}

// "void sum<(int)4>(const int *, int)" and "sum<4>(int const*, int)" are written differently by different demanglers:
// the bare name is what they agree on.
std::string bare(const std::string& kernel) { return without_template_arguments(shorten(kernel)); }

std::string at(std::size_t number, const std::string& kernel) { return fmt::format("{} (launch {})", kernel, number); }

}  // namespace

std::vector<ComparedLaunch> read_launches(const std::string& text, const std::string& name) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && text[start] == '{') {
    try {
      const Json run = Json::parse(text);
      const std::string schema = run.value("schema", "");
      if (schema == "coalesce.run/1") return from_json(run);
      if (schema.starts_with("coalesce."))
        throw Error(Exit::usage, name + " is a " + schema + ", and what is compared is a coalesce.run/1",
                    "coalesce run --json FILE writes one");
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(Exit::usage, name + " is no export of a run: " + error.what(), "coalesce run --json FILE writes one");
    }
    throw Error(Exit::usage, name + " is no export of a run", "coalesce run --json FILE writes one");
  }
  try {
    if (auto launches = read_ncu(text)) return *launches;
  } catch (const std::exception& error) {
    throw Error(Exit::usage, name + " cannot be read as Nsight Compute's CSV: " + error.what());
  }
  throw Error(Exit::usage, name + " is neither an export of a run nor CSV of Nsight Compute",
              "coalesce run --json FILE, or ncu --csv --page raw --metrics $(coalesce counters --ncu) PROGRAM");
}

std::vector<ComparedLaunch> launches_of(const Record& record) {
  std::vector<ComparedLaunch> launches;
  for (const Launch& launch : record.launches)
    launches.push_back({record.kernels[launch.kernel].full, launch.grid, launch.block, launch.counters, launch.known,
                        launch.interrupted || !launch.fault.empty()});
  return launches;
}

bool is_counted(const std::string& text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text[start] != '{') return false;
  return Json::parse(text, nullptr, false).value("on", "") != "gpu";
}

Comparing compare_launches(const std::vector<ComparedLaunch>& counted, const std::vector<ComparedLaunch>& measured,
                           bool baseline) {
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < measured.size(); ++i) places[bare(measured[i].kernel)].push_back(i);
  std::map<std::string, std::size_t> next;
  Comparing result;
  result.baseline = baseline;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const std::string name = bare(counted[i].kernel);
    const std::size_t k = next[name]++;
    if (k >= places[name].size()) {
      result.unmatched.push_back((baseline ? "only before: " : "only counted: ") + at(i, counted[i].kernel));
      continue;
    }
    const ComparedLaunch& other = measured[places[name][k]];
    if (other.grid != counted[i].grid || other.block != counted[i].block) {
      result.unmatched.push_back("of another shape: " + at(i, counted[i].kernel));
      result.increased = true;
      continue;
    }
    if (other.stopped || counted[i].stopped) {
      result.unmatched.push_back("stopped before its end: " + at(i, counted[i].kernel));
      result.increased = true;
      continue;
    }
    bool equal = true;
    for (const std::size_t row : kMemoryCounters) {
      if (!(counted[i].known & other.known & uint64_t{1} << row)) continue;
      result.common = true;
      const uint64_t a = counted[i].counters.*kCounterRows[row].field, b = other.counters.*kCounterRows[row].field;
      if (!a && !b) continue;
      result.rows.push_back({i, counted[i].kernel, row, a, b});
      result.equal += a == b;
      result.increased |= b > a;
      equal &= a == b;
    }
    ++result.launches;
    result.equal_launches += equal;
  }
  for (const auto& [name, indices] : places) {
    for (std::size_t k = next[name]; k < indices.size(); ++k) {
      result.unmatched.push_back((baseline ? "only after: " : "only measured: ") +
                                 at(indices[k], measured[indices[k]].kernel));
      result.increased = true;
    }
  }
  return result;
}

std::string ncu_metrics() {
  std::string names;
  for (const std::size_t row : kMemoryCounters) {
    if (!kCounterRows[row].nsight.empty()) names += (names.empty() ? "" : ",") + std::string(kCounterRows[row].nsight);
  }
  for (const auto& more : machine::kFurtherMetrics) names += "," + std::string(more.nsight);
  return names;
}

}  // namespace coalesce::tool
