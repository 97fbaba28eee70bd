#include "tool/check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <tuple>

#include "tool/error.h"
#include "tool/export.h"
#include "tool/run.h"
#include "tool/terminal.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::Diagnostic;
using machine::Hazard;

// What a finding is called: its hazard, or the fault that ended the launch.
std::string kind_of(const Diagnostic& d) {
  return d.hazard != Hazard::none ? machine::name_of(machine::kHazards, d.hazard)
                                  : machine::name_of(machine::kFaults, d.fault);
}

// The pair of source lines, in either order; of PTX where the program does not say.
auto lines_of(const Diagnostic& d) {
  const auto line = [](const machine::SourcePlace& p, uint32_t ptx_line) {
    return p.file.empty() ? std::make_pair(std::string(), ptx_line) : std::make_pair(p.file, p.line);
  };
  auto a = line(d.place, d.ptx_line), b = d.other ? line(d.other->place, d.other->ptx_line) : a;
  if (b < a) std::swap(a, b);
  return std::make_tuple(d.kernel, d.hazard, d.fault, a, b);
}

void print(std::ostream& out, const Findings& found, const Record& record, bool colour) {
  for (const Diagnostic& d : found.hazards) out << machine::render(d, colour);
  for (const Diagnostic& d : found.notes) out << machine::render(d, colour);
  std::set<std::size_t> kernels;
  for (const Launch& launch : record.launches) kernels.insert(launch.kernel);
  const std::string looked_at = plural(record.launches.size(), "launch") + " of " + plural(kernels.size(), "kernel");
  if (record.launches.empty())
    out << styled("nothing was checked", Style::bad, colour) << ": no kernel was launched\n";
  else if (found.hazards.empty())
    out << styled("no hazards", Style::good, colour) << " in " << looked_at << '\n';
  else
    out << styled(plural(found.hazards.size(), "hazard"), Style::bad, colour) << " in " << looked_at << '\n';
}

}  // namespace

Findings findings(const Record& record) {
  Findings all;
  std::map<decltype(lines_of(Diagnostic())), std::size_t> known;
  for (const Json& value : record.diagnostics) {
    Diagnostic d = record::diagnostic_of(value);
    if (record.interrupted() && d.fault == machine::Fault::budget) continue;  // that is what the signal left
    if (d.hazard == Hazard::leak || (d.hazard == Hazard::none && d.severity == machine::Severity::warning)) {
      all.notes.push_back(std::move(d));
      continue;
    }
    const auto [at, fresh] = known.try_emplace(lines_of(d), all.hazards.size());
    if (fresh)
      all.hazards.push_back(std::move(d));
    else
      all.hazards[at->second].count += d.count;
  }
  return all;
}

Json findings_json(const Findings& found, const Record& record, int exit_code) {
  const auto line = [](const machine::SourcePlace& p) { return p.file.empty() ? Json(nullptr) : Json(p.line); };
  Json list = Json::array(), notes = Json::array();
  for (const Diagnostic& d : found.hazards) {
    Json j = {{"kind", kind_of(d)},    {"message", d.message},   {"kernel", demangle(d.kernel)}, {"file", d.place.file},
              {"line", line(d.place)}, {"ptx_line", d.ptx_line}, {"ptx_text", d.ptx_text},       {"access", d.what},
              {"block", d.block},      {"thread", d.thread},     {"memory", d.address},          {"count", d.count}};
    if (d.other)
      j["other"] = {{"access", d.other->what},       {"file", d.other->place.file}, {"line", line(d.other->place)},
                    {"ptx_line", d.other->ptx_line}, {"block", d.other->block},     {"thread", d.other->thread}};
    j["notes"] = d.notes;
    list.push_back(std::move(j));
  }
  for (const Diagnostic& d : found.notes) notes.push_back(d.message);
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

int check(const CheckOptions& options) {
  const machine::Device& device = find_device(options.machine.device);
  if (options.program.empty())
    throw Error(Exit::usage, "which program?", "coalesce check [OPTIONS] PROGRAM|FILE.cu [ARGUMENTS...]");
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);
  const Layout layout = find_layout();
  std::unique_ptr<Cache> cache;
  std::vector<std::string> words = options.program;
  words[0] = runnable(words[0], options.machine.compile, device, layout, cache);
  MachineOptions machine = options.machine;
  machine.check = true;
  machine.engine = machine::Engine::interpreter;
  machine.threads = 1;
  Execution execution = execute(words, machine, layout, options.quiet, options.json == "-", false);
  execution.record.program = options.program[0];
  const Findings found = findings(execution.record);
  int code = exit_code(execution);
  if (!found.hazards.empty() && !execution.record.interrupted()) code = static_cast<int>(Exit::hazard);
  // Without a launch nothing was looked at: no success.
  if (execution.record.launches.empty() && code == 0) code = static_cast<int>(Exit::environment);
  if (!options.quiet) {
    const bool colour = use_colour(options.machine.colour, STDERR_FILENO);
    print(std::cerr, found, execution.record, colour);
    print_warnings(execution, colour);
  }
  if (json) json->write(findings_json(found, execution.record, code).dump(1) + '\n');
  return code;
}

}  // namespace coalesce::tool
