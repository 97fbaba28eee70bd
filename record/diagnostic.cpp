#include "record/record.h"

namespace coalesce::record {
namespace {

using Json = nlohmann::ordered_json;

std::array<uint32_t, 3> triple(const Json& value) { return value.get<std::array<uint32_t, 3>>(); }

std::vector<machine::SourcePlace> places(const Json& value) {
  std::vector<machine::SourcePlace> all;
  if (const auto list = value.find("inlined_at"); list != value.end())
    for (const Json& each : *list) all.push_back({each.at(0).get<std::string>(), each.at(1).get<uint32_t>(), 0});
  return all;
}

machine::SourcePlace place(const Json& value) {
  return {value.at("file").get<std::string>(), value.at("line").get<uint32_t>(), value.value("column", 0u)};
}

}  // namespace

machine::Diagnostic diagnostic_of(const Json& value) {
  machine::Diagnostic d;
  d.severity = value.at("severity") == "error" ? machine::Severity::error : machine::Severity::warning;
  machine::find_named(machine::kFaults, value.at("fault").get<std::string>(), d.fault);
  d.message = value.at("message").get<std::string>();
  d.place = place(value);
  d.ptx_line = value.at("ptx_line").get<uint32_t>();
  d.ptx_text = value.at("ptx_text").get<std::string>();
  d.kernel = value.at("kernel").get<std::string>();
  d.block = triple(value.at("block"));
  d.warp = value.at("warp").get<uint32_t>();
  d.lanes = value.at("lanes").get<uint32_t>();
  d.thread = triple(value.at("thread"));
  d.notes = value.at("notes").get<std::vector<std::string>>();
  machine::find_named(machine::kHazards, value.value("hazard", std::string()), d.hazard);
  d.what = value.value("access", std::string());
  d.address = value.value("address", std::string());
  d.count = value.value("count", uint64_t{1});
  if (const auto other = value.find("other"); other != value.end())
    d.other = machine::Party{other->at("access").get<std::string>(),
                             place(*other),
                             other->at("ptx_line").get<uint32_t>(),
                             triple(other->at("block")),
                             triple(other->at("thread")),
                             places(*other),
                             other->value("who", std::string())};
  d.inlined_at = places(value);
  d.who = value.value("who", std::string());
  if (const auto traces = value.find("traces"); traces != value.end())
    for (const Json& each : *traces)
      d.traces.push_back({each.at("title").get<std::string>(), each.at("frames").get<std::vector<std::string>>()});
  return d;
}

}  // namespace coalesce::record
