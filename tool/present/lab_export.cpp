// `coalesce lab` for other programs: JSON and CSV, every figure exact.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/present/export.h"
#include "tool/present/lab.h"
#include "tool/present/lab_gpu.h"
#include "tool/present/table.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::kCounterRows;

const char* outcome(Rung::Result result) {
  static const char* const kTexts[] = {"unknown", "ok", "wrong"};
  return kTexts[static_cast<int>(result)];
}

// Seconds, and with them what follows: bytes a second over the cold median.
// `h`: that of the rung.
Json hardware_json(const Rung& rung, const Hardware& h) {
  Json object = Json::object();
  const auto times = [&](const char* name, const std::vector<double>& seconds) {
    if (!seconds.empty())
      object[name] = {{"median", median(seconds)}, {"spread", spread(seconds)}, {"repetitions", seconds}};
  };
  times("cold_seconds", h.cold);
  times("warm_seconds", h.warm);
  if (const double rate = bandwidth(rung); rate != 0) object["effective_bytes_per_second"] = rate;
  if (h.cycles != 0) object["cycles"] = h.cycles;
  if (h.span != 0) {
    object["span_seconds"] = h.span;
    object["h2d_seconds"] = h.h2d_seconds;
    object["d2h_seconds"] = h.d2h_seconds;
  }
  if (h.known) object["counters"] = known_counters_json(h.counters, h.known);
  return object;
}

Json rung_json(const Rung& rung) {
  Json object = {{"name", rung.name},         {"result", outcome(rung.result)},
                 {"changed", rung.changed},   {"expected", rung.expected},
                 {"launches", rung.launches}, {"grid", rung.grid},
                 {"block", rung.block},       {"dynamic_shared_bytes", rung.shared_bytes}};
  if (!rung.fault.empty()) object["fault"] = rung.fault;
  object["counters"] = counters_json(rung.counters, true);
  if (rung.copies) {
    const Copies& c = *rung.copies;
    object["copies"] = {{"h2d", {{"calls", c.h2d_calls}, {"bytes", c.h2d_bytes}}},
                        {"d2h", {{"calls", c.d2h_calls}, {"bytes", c.d2h_bytes}}},
                        {"d2d", {{"calls", c.d2d_calls}, {"bytes", c.d2d_bytes}}}};
  }
  if (rung.estimated_seconds) object["estimated_seconds"] = *rung.estimated_seconds;
  if (rung.hardware) object["gpu"] = hardware_json(rung, *rung.hardware);
  if (!rung.steps.empty()) {
    Json steps = Json::array();
    for (const Step& s : rung.steps) {
      steps.push_back({{"step", s.name},
                       {"active_warps", s.active_warps},
                       {"divergent_warps", s.divergent_warps},
                       {"conflict_degree", s.conflict_degree},
                       {"counters", counters_json(s.counters, true)}});
    }
    object["steps"] = std::move(steps);
  }
  return object;
}

Json claim_json(const Claim& c) {
  Json object = {{"text", c.text}, {"document", c.document}, {"device", c.device}};
  object["figure"] = c.figure ? Json(*c.figure) : Json();
  object["unit"] = c.unit;
  object["value"] = c.value ? Json(*c.value) : Json();
  object["value_expression"] = c.value_expression;
  object["holds_expression"] = c.holds_expression;
  object["verdict"] = verdict_text(c.verdict);
  if (c.measured) object["measured"] = true;
  if (c.estimated) object["estimated"] = true;
  object["reason"] = c.reason;
  object["note"] = c.note;
  return object;
}

Json experiment_json(const Experiment& e) {
  Json object = {{"name", e.name},
                 {"title", e.title},
                 {"device", device_json(e.device)},
                 {"sizes", e.sizes},
                 {"exit_code", e.exit_code}};
  if (!e.gpu.empty()) {
    object["gpu"] = {{"name", e.gpu},
                     {"read_bytes_per_second", e.limits.read},
                     {"copy_bytes_per_second", e.limits.copy},
                     {"launch_following_seconds", e.limits.launch_following},
                     {"launch_waited_seconds", e.limits.launch_waited},
                     {"notes", e.notes}};
  }
  for (const char* list : {"rungs", "comparisons", "claims"}) object[list] = Json::array();
  for (const Rung& rung : e.rungs) object["rungs"].push_back(rung_json(rung));
  for (const Comparison& c : e.comparisons) {
    object["comparisons"].push_back(
        {{"rung", c.rung}, {"verb", c.verb}, {"times_fewer", c.times}, {"noun", c.noun}, {"than", c.than}});
  }
  for (const Claim& claim : e.claims) object["claims"].push_back(claim_json(claim));
  return object;
}

}  // namespace

std::string lab_json(const std::vector<Experiment>& experiments) {
  std::string text = "{\"schema\":\"coalesce.lab/1\",\"experiments\":[";
  const char* separator = "\n";
  for (const Experiment& e : experiments) {
    // Names and comments may hold any bytes; JSON is UTF-8.
    text += separator + experiment_json(e).dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

void write_lab_csv(std::ostream& out, const std::vector<Experiment>& experiments) {
  std::vector<std::string> fields = {"experiment",          "rung", "result", "launches", "grid", "block",
                                     "dynamic_shared_bytes"};
  for (const auto& row : kCounterRows) fields.emplace_back(row.name);
  for (const char* path : {"h2d", "d2h", "d2d"}) {
    fields.push_back(std::string(path) + "_calls");
    fields.push_back(std::string(path) + "_bytes");
  }
  const bool estimated = std::any_of(experiments.begin(), experiments.end(), [](const Experiment& e) {
    return std::any_of(e.rungs.begin(), e.rungs.end(), [](const Rung& r) { return r.estimated_seconds.has_value(); });
  });
  if (estimated) fields.emplace_back("estimated_us");
  out << csv_record(fields);
  const auto shape = [](const std::array<uint32_t, 3>& s) { return fmt::format("{}x{}x{}", s[0], s[1], s[2]); };
  for (const Experiment& e : experiments) {
    for (const Rung& rung : e.rungs) {
      fields = {e.name,
                rung.name,
                outcome(rung.result),
                std::to_string(rung.launches),
                shape(rung.grid),
                shape(rung.block),
                std::to_string(rung.shared_bytes)};
      for (const auto& row : kCounterRows) fields.push_back(std::to_string(rung.counters.*row.field));
      // Nothing in these where copies were not counted apart.
      const Copies c = rung.copies.value_or(Copies{});
      for (const uint64_t value : {c.h2d_calls, c.h2d_bytes, c.d2h_calls, c.d2h_bytes, c.d2d_calls, c.d2d_bytes})
        fields.push_back(rung.copies ? std::to_string(value) : "");
      if (estimated)
        fields.push_back(rung.estimated_seconds ? fmt::format("{:.6g}", *rung.estimated_seconds * 1e6) : "");
      out << csv_record(fields);
    }
  }
}

}  // namespace coalesce::tool
