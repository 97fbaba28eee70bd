// The report of `coalesce run`.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "tool/figures/hardware.h"
#include "tool/present/html_gpu.h"
#include "tool/present/html_parts.h"
#include "tool/present/report.h"
#include "tool/present/report_page.h"
#include "tool/present/terminal.h"
#include "tool/present/times.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;

// A run's diagnostics as the machine wrote them.
std::string diagnostics_html(const std::vector<Json>& diagnostics) {
  constexpr std::size_t kShown = 50;
  std::string out;
  const auto text = [](const Json& d, const char* key) {
    const auto found = d.find(key);
    return found != d.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (std::size_t i = 0; i < std::min(diagnostics.size(), kShown); ++i) {
    const Json& d = diagnostics[i];
    if (!d.is_object()) continue;
    const std::string file = text(d, "file"), severity = text(d, "severity");
    const auto line = d.find("line");
    std::string place = file.substr(file.rfind('/') + 1);
    if (!place.empty() && line != d.end() && line->is_number_unsigned())
      place += fmt::format(":{}", line->get<uint64_t>());
    out +=
        fmt::format("<li class=\"{}\"><b>{}</b> {} {}</li>\n", severity == "error" ? "bad" : "open", escape(severity),
                    escape(text(d, "message")), place.empty() ? "" : "<code>" + escape(place) + "</code>");
  }
  if (out.empty()) return "";
  if (diagnostics.size() > kShown) out += fmt::format("<li>and {} more</li>\n", diagnostics.size() - kShown);
  return "<h3>What the machine found wrong</h3>\n<ul class=\"words\">" + out + "</ul>\n";
}

double traffic(const machine::Counters& c) {
  return static_cast<double>(moved_bytes(c)) / 128 + static_cast<double>(shared_wavefronts(c));
}

// A GPU's own record: no source lines, no bytes asked for, hence nothing to judge; one page.
void write_measured_report(std::ostream& out, const Record& record, const std::string& program) {
  std::vector<Section> sections{{"overview", "overview", program, measured_html(record)}};
  add_aids(sections);
  write_page(out, program + " \u2013 Coalesce", device_text(record.device, ""), sections,
             report_json("run", record.device, program));
}

Rung rung_of(const Record& record, const KernelTotal& total, const Record* measured) {
  const Kernel& kernel = record.kernels[total.kernel];
  Rung rung;
  rung.name = kernel.short_name;
  rung.counters = total.counters;
  rung.launches = total.launches;
  rung.fault = total.fault.empty() && total.interrupted ? "interrupted" : total.fault;
  const auto first = std::find_if(record.launches.begin(), record.launches.end(),
                                  [&](const Launch& launch) { return launch.kernel == total.kernel; });
  rung.grid = first->grid;
  rung.block = first->block;
  rung.shared_bytes = first->dynamic_shared_bytes;
  rung.lines = total.lines;
  if (measured) rung.hardware = hardware_of(*measured, kernel.short_name);
  return rung;
}

// Kernels that did not run to their end.
std::string stopped_html(const Record& record, const std::vector<KernelTotal>& kernels) {
  std::string out;
  for (const KernelTotal& total : kernels) {
    if (total.ended()) continue;
    out += "<p class=\"bad\"><b>" + escape(record.kernels[total.kernel].short_name) + ":</b> " +
           escape(total.fault.empty() ? "interrupted by a signal" : "ended with " + total.fault) +
           "; its counters are of what ran.</p>\n";
  }
  return out;
}

// One sentence: whether there is something to save, and where most of it is.
std::string verdict_html(const std::vector<KernelTotal>& kernels, const std::vector<RankedFinding>& findings) {
  const auto ended = static_cast<std::size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const KernelTotal& k) { return k.ended(); }));
  if (ended == 0) return "";
  if (findings.empty()) {
    const bool all = ended == kernels.size();
    return fmt::format("<p class=\"verdict good\">Nothing to save{}.</p>\n",
                       kernels.size() == 1 ? ""
                       : all               ? fmt::format(" in any of {} kernels", ended)
                                           : fmt::format(" in the {} kernels that ended", ended));
  }
  const Finding& worst = findings[0].finding;
  std::set<std::string> wasteful;
  for (const RankedFinding& f : findings) wasteful.insert(f.kernel);
  std::string place = place_of(worst.line);
  if (!findings[0].kernel.empty()) place = findings[0].kernel + (place.empty() ? "" : ", ") + place;
  const std::string where = escape(place.empty() ? "the whole kernel" : place);
  std::string text = kernels.size() == 1
                         ? fmt::format("{} to improve", plural(findings.size(), "place"))
                         : fmt::format("{} of {} kernels can be improved", wasteful.size(), kernels.size());
  text += fmt::format(
      "; the largest saving is at {}",
      findings[0].link.empty() ? where : fmt::format("<a href=\"{}\">{}</a>", escape(findings[0].link), where));
  if (!worst.saves.empty()) text += ": up to " + escape(worst.saves);
  return "<p class=\"verdict\">" + text + ".</p>\n";
}

}  // namespace

void write_report(std::ostream& out, const Record& record, const std::filesystem::path& source,
                  const Record* measured) {
  const std::string program = record.program.substr(record.program.rfind('/') + 1);
  if (record.on_gpu) return write_measured_report(out, record, program);
  Json data = report_json("run", record.device, program);
  data["complete"] = record.complete;
  const std::vector<KernelTotal> kernels = totals(record);
  std::vector<std::size_t> order(kernels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double pa = traffic(kernels[a].counters), pb = traffic(kernels[b].counters);
    return pa != pb ? pa > pb : a < b;
  });
  std::vector<bool> has_page(kernels.size());
  for (std::size_t i = 0; i < std::min(order.size(), kReportPages); ++i) has_page[order[i]] = true;

  Ids ids = report_ids();
  std::vector<Rung> rungs;
  for (const KernelTotal& total : kernels) rungs.push_back(rung_of(record, total, measured));
  const double most_waste = most_wasted_cycles(rungs);

  HtmlSources sources;
  std::vector<Section> sections(1);
  std::vector<std::string> links(kernels.size()), rung_ids(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!has_page[i]) continue;
    const Kernel& kernel = record.kernels[kernels[i].kernel];
    const std::string id = ids.make(kernel.short_name);
    Experiment page;
    page.name = kernel.short_name;
    page.title = kernel.full;
    page.source = source;
    page.device = record.device;
    page.rungs = {rungs[i]};
    if (measured) page.gpu = measured->device.name;
    if (measured) page.notes = measured->notes;
    sections.push_back(
        {id, kernel.short_name, kernel.short_name,
         "<p><code>" + escape(kernel.full) + "</code></p>\n" + page_html(page, id, sources, most_waste)});
    data["pages"].push_back(page_json(page, id));
    links[i] = "#" + id;
    rung_ids[i] = only_rung_id(id, rungs[i]);
  }
  std::string overview;
  if (!record.complete) {
    overview +=
        "<p class=\"bad\">The program ended before its CUDA runtime could close the record: launches may be "
        "missing.</p>\n";
  }
  overview += diagnostics_html(record.diagnostics);
  if (rungs.empty()) {
    overview += "<p class=\"verdict\">" + escape(record.none) + "</p>\n";
  } else {
    const std::vector<RankedFinding> findings = ranked_findings(rungs, rung_ids);
    overview += stopped_html(record, kernels) + verdict_html(kernels, findings) +
                cards_html(findings, source.parent_path(), sources) +
                figure_html("kernels", "Kernels, all launches added up", counted_on(record.device),
                            ladder_html(rungs, links, "kernels", "kernel")) +
                times_html(record, measured);
  }
  if (kernels.size() > kReportPages) {
    overview += fmt::format("<p>Only the {} kernels that moved most have a page of their own.</p>\n", kReportPages);
  }
  sections[0] = {"overview", "overview", program, overview};
  add_aids(sections);
  write_page(out, program + " \u2013 Coalesce", device_text(record.device, measured ? measured->device.name : ""),
             sections, data);
}

}  // namespace coalesce::tool
