#include "tool/present/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "tool/figures/sources.h"

namespace coalesce::tool {
namespace {

// "transpose.cu:9" as ":9" where the table's heading names the file already.
std::string short_place(const Line& line, const std::string& program) {
  const std::string place = place_of(line);
  return !line.file.empty() && place.starts_with(program + ':') ? place.substr(program.size()) : place;
}

std::string program_name(const Record& record) { return record.program.substr(record.program.rfind('/') + 1); }

// The processes that launched, if there are several.
void print_processes(std::ostream& out, const Record& record, const SummaryStyle& style) {
  constexpr std::size_t kMost = 12;
  if (record.processes.size() < 2) return;
  const record::Process& first = record.processes[0];
  if (std::all_of(record.processes.begin(), record.processes.end(), [&](const record::Process& p) {
        return p.rank && p.launches == first.launches && p.command == first.command;
      })) {
    const std::string what = fmt::format("{} of {} ranks, {} each: {}", record.processes.size(), record.ranks,
                                         plural(first.launches, "launch"), first.command);
    out << what.substr(0, std::max<std::size_t>(style.width, 40)) << '\n';
    return;
  }
  for (std::size_t i = 0; i < std::min(record.processes.size(), kMost); ++i) {
    const record::Process& p = record.processes[i];
    const std::string who = p.rank ? fmt::format("rank {}", *p.rank) : fmt::format("process {}", p.pid);
    const std::string what = fmt::format("{}, {}: ", who, plural(p.launches, "launch"));
    const std::size_t room = style.width > what.size() ? style.width - what.size() : 0;
    out << what << (p.command.size() <= room ? p.command : p.command.substr(0, room)) << '\n';
  }
  if (record.processes.size() > kMost) out << fmt::format("and {} more processes\n", record.processes.size() - kMost);
}

// The work of each of several devices, and what it asked the others for.
void print_devices(std::ostream& out, const Record& record) {
  if (record.devices < 2) return;
  struct Work {
    uint64_t launches = 0, moved = 0, of_peers = 0;
  };
  std::map<unsigned, Work> devices;
  for (const Launch& launch : record.launches) {
    Work& work = devices[launch.device];
    ++work.launches;
    work.moved += moved_bytes(launch.counters);
    work.of_peers += launch.peer_bytes;
  }
  for (const auto& [device, work] : devices)
    out << fmt::format("device {} of {}: {}, {} moved{}\n", device, record.devices, plural(work.launches, "launch"),
                       bytes_text(work.moved),
                       work.of_peers != 0 ? ", " + bytes_text(work.of_peers) + " touched of other devices" : "");
  if (record.copies.contains("p2p") && record.copies["p2p"]["calls"] != 0)
    out << fmt::format("copies between devices: {}, {}\n", record.copies["p2p"]["calls"].get<uint64_t>(),
                       bytes_text(record.copies["p2p"]["bytes"].get<uint64_t>()));
}

}  // namespace

std::string as_device(const DeviceName& device) {
  const bool vowel = device.name.starts_with("NV") ||  // spoken letter by letter
                     (!device.name.empty() && std::string_view("AEIOU").find(device.name[0]) != std::string_view::npos);
  return fmt::format("{} as {} {} counts", device.counted(), vowel ? "an" : "a", device.name);
}

void print_findings(std::ostream& out, const std::string& kernel, const std::vector<Finding>& findings,
                    const SummaryStyle& style) {
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(findings.size(), kShown); ++i) {
    const Finding& f = findings[i];
    const std::string place = place_of(f.line), head = kernel + (place.empty() ? "" : ", " + place) + ':';
    const std::vector<std::string> lines = wrapped(head + ' ' + sentences(f), style.width, 2);
    out << styled(lines[0].substr(0, head.size()), Style::bold, style.colour)
        << lines[0].substr(std::min(head.size(), lines[0].size())) << '\n';
    for (std::size_t k = 1; k < lines.size(); ++k) out << lines[k] << '\n';
  }
  if (findings.size() > kShown)
    out << styled(fmt::format("{}: {} more, smaller", kernel, plural(findings.size() - kShown, "finding")), Style::dim,
                  style.colour)
        << '\n';
}

void print_summary(std::ostream& out, const Record& record, const SummaryStyle& style) {
  const std::vector<KernelTotal> kernels = totals(record);
  const std::string program = program_name(record);
  const std::string heading = program + ", " + as_device(record.device) + "; launches of a kernel added up";
  for (const std::string& line : wrapped(heading, style.width, 2)) out << line << '\n';
  print_processes(out, record, style);
  print_devices(out, record);
  if (kernels.empty()) {
    out << record.none << '\n';
    return;
  }
  std::vector<std::vector<Finding>> findings;
  for (const KernelTotal& kernel : kernels) findings.push_back(find_waste(kernel));
  const bool several = std::any_of(kernels.begin(), kernels.end(), [](const auto& k) { return k.launches > 1; });
  std::vector<Column> columns = {{.title = "kernel", .left = true, .cut = true},
                                 {.title = "runs", .optional = true, .spare = 4}};
  for (Column& column : style.wide ? counter_columns() : moved_columns()) columns.push_back(std::move(column));
  columns.push_back({.group = "worst rank", .title = "rank", .optional = true});
  columns.push_back({.group = "worst rank", .title = "moved", .optional = true});
  columns.push_back({.group = "worst", .title = "line", .left = true, .optional = true});
  Table table(columns);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelTotal& kernel = kernels[i];
    std::vector<Cell> cells = {{record.kernels[kernel.kernel].short_name, kernel.ended() ? Style::plain : Style::bad},
                               {several || style.wide ? compact(kernel.launches) : std::string()}};
    for (Cell& cell :
         style.wide ? counter_cells(kernel.counters, kernel.ended()) : moved_cells(kernel.counters, kernel.ended()))
      cells.push_back(std::move(cell));
    const auto [process, bytes] = kernel.worst();
    const auto& rank = record.processes[process].rank;
    const bool of_ranks = record.ranks != 0 && bytes != 0 && rank.has_value();
    cells.push_back({of_ranks ? std::to_string(*rank) : std::string()});
    cells.push_back({of_ranks ? bytes_text(bytes) : std::string()});
    const bool worst = !style.wide && !findings[i].empty();
    const std::string place = worst ? short_place(findings[i][0].line, program) : "";
    cells.push_back({worst ? place + (place.empty() ? "" : " ") + findings[i][0].kind : ""});
    table.row(std::move(cells));
  }
  table.print(out, style.colour, style.width);
  print_legend(out, table, style);

  bool first = true;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string& name = record.kernels[kernels[i].kernel].short_name;
    const std::string stopped = !kernels[i].fault.empty() ? "ended with " + kernels[i].fault
                                : kernels[i].interrupted  ? "interrupted by a signal"
                                                          : "";
    if (stopped.empty() && findings[i].empty()) continue;
    if (first) out << '\n';
    first = false;
    if (!stopped.empty())
      out << styled(name + ':', Style::bold, style.colour) << ' ' << stopped << "; its counters are of what ran\n";
    print_findings(out, name, findings[i], style);
  }
  if (first) out << "Nothing to save.\n";
}

void print_lines(std::ostream& out, const Record& record, const SummaryStyle& style) {
  Sources sources;
  const std::string program = program_name(record);
  for (const KernelTotal& kernel : totals(record)) {
    out << '\n' << styled(record.kernels[kernel.kernel].full, Style::bold, style.colour) << '\n';
    // The text of a line that is too long stands on a line of its own, its figures below it.
    std::vector<Column> columns = {{.title = "line", .left = true}};
    for (Column& column : style.wide ? counter_columns() : moved_columns()) columns.push_back(std::move(column));
    Table table(columns);
    bool source = true;
    for (const Line& line : kernel.lines) {
      std::vector<Cell> figures = style.wide ? counter_cells(line.counters, false) : moved_cells(line.counters, false);
      if (std::all_of(figures.begin(), figures.end(), [](const Cell& cell) { return cell.text.empty(); })) continue;
      source &= !line.file.empty();
      const std::vector<std::string>* text = sources.lines(line.file, style.beside);
      std::string code = text && line.line >= 1 && line.line <= text->size() ? (*text)[line.line - 1] : "";
      code.erase(0, code.find_first_not_of(" \t"));
      std::vector<Cell> cells = {{short_place(line, program) + (code.empty() ? "" : "  " + code)}};
      for (Cell& cell : figures) cells.push_back(std::move(cell));
      table.row(std::move(cells));
    }
    if (table.empty()) {
      out << "  no line touched memory or branched\n";
      continue;
    }
    table.print(out, style.colour, style.width);
    if (!source) out << "  (build with -lineinfo to see source lines in place of PTX lines)\n";
  }
}

}  // namespace coalesce::tool
