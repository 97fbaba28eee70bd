#include "tool/present/hazards.h"

#include <fmt/format.h>

#include <ostream>
#include <set>

#include "tool/present/export.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::Diagnostic;
using machine::Hazard;

// A finding's name: its hazard, or the fault that ended the launch.
std::string kind_of(const Diagnostic& d) {
  return d.hazard != Hazard::none ? machine::name_of(machine::kHazards, d.hazard)
                                  : machine::name_of(machine::kFaults, d.fault);
}

}  // namespace

void print_hazards(std::ostream& out, const Hazards& hazards, const Record& record, bool colour) {
  for (const Diagnostic& d : hazards.found) out << machine::render(d, colour);
  for (const Diagnostic& d : hazards.notes) out << machine::render(d, colour);
  std::set<std::size_t> kernels;
  for (const Launch& launch : record.launches) kernels.insert(launch.kernel);
  const std::string looked_at = plural(record.launches.size(), "launch") + " of " + plural(kernels.size(), "kernel");
  if (record.launches.empty())
    out << styled("nothing was checked", Style::bad, colour) << ": no kernel was launched\n";
  else if (hazards.found.empty())
    out << styled("no hazards", Style::good, colour) << " in " << looked_at << '\n';
  else
    out << styled(plural(hazards.found.size(), "hazard"), Style::bad, colour) << " in " << looked_at << '\n';
}

Json hazards_json(const Hazards& hazards, const Record& record, int exit_code) {
  const auto line = [](const machine::SourcePlace& p) { return p.file.empty() ? Json(nullptr) : Json(p.line); };
  Json list = Json::array(), notes = Json::array();
  for (const Diagnostic& d : hazards.found) {
    Json j = {{"kind", kind_of(d)},    {"message", d.message},   {"kernel", demangle(d.kernel)}, {"file", d.place.file},
              {"line", line(d.place)}, {"ptx_line", d.ptx_line}, {"ptx_text", d.ptx_text},       {"access", d.what},
              {"block", d.block},      {"thread", d.thread},     {"memory", d.address},          {"count", d.count}};
    if (d.other)
      j["other"] = {{"access", d.other->what},       {"file", d.other->place.file}, {"line", line(d.other->place)},
                    {"ptx_line", d.other->ptx_line}, {"block", d.other->block},     {"thread", d.other->thread}};
    j["notes"] = d.notes;
    list.push_back(std::move(j));
  }
  for (const Diagnostic& d : hazards.notes) notes.push_back(d.message);
  std::set<std::size_t> kernels;
  for (const Launch& launch : record.launches) kernels.insert(launch.kernel);
  return {{"schema", "coalesce.check/1"},
          {"device", device_json(record.device)},
          {"program", record.program},
          {"exit_code", exit_code},
          {"complete", record.complete},
          {"launches", record.launches.size()},
          {"kernels", kernels.size()},
          {"findings", list},
          {"notes", notes}};
}

}  // namespace coalesce::tool
