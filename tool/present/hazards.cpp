#include "tool/present/hazards.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "tool/present/export.h"
#include "tool/present/remedy.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::Diagnostic;

// Notes of a finding: its diagnostic's, behind the remedy.
std::vector<std::string> notes_of(const Diagnostic& d) {
  std::vector<std::string> all = d.notes;
  if (std::string remedy = remedy_of(d); !remedy.empty()) all.insert(all.begin(), std::move(remedy));
  return all;
}

// With what merging has left out.
Diagnostic shown(const Hazards::Finding& f) {
  Diagnostic d = f.d;
  d.notes = notes_of(d);
  if (f.kernels.size() > 1) {
    std::string text = "the same in";
    for (std::size_t k = 1; k < f.kernels.size() && k <= 3; ++k) text += (k == 1 ? " " : ", ") + demangle(f.kernels[k]);
    if (f.kernels.size() > 4) text += fmt::format(" and {} more kernels", f.kernels.size() - 4);
    d.notes.push_back(std::move(text));
  }
  if (d.place.file.empty() && f.places > 1)
    d.notes.push_back(
        fmt::format("at {} pairs of PTX lines; a program compiled with -lineinfo tells them apart", f.places));
  return d;
}

void print_some(std::ostream& out, const std::vector<Hazards::Finding>& all, std::size_t most, bool colour) {
  for (std::size_t k = 0; k < std::min(all.size(), most); ++k) out << machine::render(shown(all[k]), colour);
}

Json place_json(const machine::SourcePlace& p) { return p.file.empty() ? Json(nullptr) : Json(p.line); }

Json finding_json(const Hazards::Finding& f) {
  const Diagnostic& d = f.d;
  Json kernels = Json::array(), stacks = Json::array();
  for (const std::string& kernel : f.kernels) kernels.push_back(demangle(kernel));
  for (const machine::Trace& t : d.traces) stacks.push_back({{"of", t.title}, {"calls", t.frames}});
  Json j = {{"kind", kind_of(d)},
            {"message", d.message},
            {"kernel", demangle(d.kernel)},
            {"kernels", kernels},
            {"file", d.place.file},
            {"line", place_json(d.place)},
            {"ptx_line", d.ptx_line},
            {"ptx_text", d.ptx_text},
            {"access", d.what},
            {"by", d.who},
            {"block", d.block},
            {"thread", d.thread},
            {"memory", d.address},
            {"count", d.count}};
  if (d.other)
    j["other"] = {{"access", d.other->what},       {"by", d.other->who},
                  {"file", d.other->place.file},   {"line", place_json(d.other->place)},
                  {"ptx_line", d.other->ptx_line}, {"block", d.other->block},
                  {"thread", d.other->thread}};
  j["stacks"] = std::move(stacks);
  j["notes"] = notes_of(d);
  return j;
}

Json list_json(const std::vector<Hazards::Finding>& all) {
  Json list = Json::array();
  for (const Hazards::Finding& f : all) list.push_back(finding_json(f));
  return list;
}

}  // namespace

bool is_complete(const Hazards& hazards, const Record& record) {
  return record.complete && record.damage.empty() && hazards.not_checked.empty() && !record.launches.empty();
}

void print_hazards(std::ostream& out, const Hazards& hazards, const Record& record, bool colour) {
  print_some(out, hazards.found, kShownFindings, colour);
  if (hazards.found.size() > kShownFindings)
    out << fmt::format("and {} more hazards; --json FILE writes all\n", hazards.found.size() - kShownFindings);
  print_some(out, hazards.warnings, kShownFindings, colour);
  if (hazards.warnings.size() > kShownFindings)
    out << fmt::format("and {} more warnings\n", hazards.warnings.size() - kShownFindings);
  for (std::size_t k = 0; k < hazards.not_checked.size(); ++k) {
    Diagnostic d = hazards.not_checked[k];
    d.message = "not checked: " + d.message;
    d.severity = machine::Severity::warning;
    if (k < kShownFindings) out << machine::render(d, colour);
  }
  for (const Diagnostic& d : hazards.notes) out << machine::render(d, colour);

  std::set<std::size_t> kernels;
  for (const Launch& launch : record.launches) kernels.insert(launch.kernel);
  std::string looked_at = plural(record.launches.size(), "launch") + " of " + plural(kernels.size(), "kernel");
  if (!hazards.warnings.empty()) looked_at += ", " + plural(hazards.warnings.size(), "warning");
  if (hazards.suppressed > 0) looked_at += fmt::format(", {} suppressed", hazards.suppressed);
  if (!hazards.found.empty())
    out << styled(plural(hazards.found.size(), "hazard"), Style::bad, colour) << " in " << looked_at << '\n';
  else if (record.launches.empty())
    out << styled("nothing was checked", Style::bad, colour) << ": no kernel was launched\n";
  else if (!hazards.not_checked.empty())
    out << styled("not all was checked", Style::bad, colour) << "; no hazards in the rest of " << looked_at << '\n';
  else
    out << styled("no hazards", Style::good, colour) << " in " << looked_at << '\n';
}

Json hazards_json(const Hazards& hazards, const Record& record, int exit_code) {
  Json not_checked = Json::array(), notes = Json::array();
  for (const Diagnostic& d : hazards.not_checked)
    not_checked.push_back({{"message", d.message},
                           {"kernel", demangle(d.kernel)},
                           {"file", d.place.file},
                           {"line", place_json(d.place)},
                           {"ptx_text", d.ptx_text}});
  for (const Diagnostic& d : hazards.notes) notes.push_back(d.message);
  std::set<std::size_t> kernels;
  for (const Launch& launch : record.launches) kernels.insert(launch.kernel);
  return {{"schema", "coalesce.check/2"},
          {"device", device_json(record.device)},
          {"program", record.program},
          {"exit_code", exit_code},
          {"complete", is_complete(hazards, record)},
          {"launches", record.launches.size()},
          {"kernels", kernels.size()},
          {"findings", list_json(hazards.found)},
          {"warnings", list_json(hazards.warnings)},
          {"not_checked", not_checked},
          {"suppressed", hazards.suppressed},
          {"notes", notes}};
}

Json unfinished_json(const std::string& program) {
  Record record;
  record.program = program;
  Json json = hazards_json({}, record, 0);
  json["exit_code"] = nullptr;
  return json;
}

}  // namespace coalesce::tool
