// The report of `coalesce lab`.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tool/present/html_chart.h"
#include "tool/present/html_page.h"
#include "tool/present/report.h"
#include "tool/present/report_page.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string chip(const char* classes, const char* mark, std::size_t n, const char* text) {
  return fmt::format("<span class=\"chip {}\">{} {} {}</span> ", classes, mark, n, text);
}

std::string verdict_chips(const std::vector<ClaimRow>& claims) {
  std::size_t counts[3] = {};
  for (const ClaimRow& row : claims) ++counts[static_cast<int>(row.claim->verdict)];
  std::string out;
  if (counts[0]) out += chip("good", "\u2713", counts[0], counts[0] == 1 ? "claim holds" : "claims hold");
  if (counts[1]) out += chip("bad", "\u2717", counts[1], counts[1] == 1 ? "does not" : "do not");
  if (counts[2]) out += chip("open", "\u2013", counts[2], "cannot be judged here");
  return out;
}

// "44 of 59 claims hold, 7 do not; 8 cannot be judged without a GPU."
std::string claims_verdict_html(std::size_t experiments, const std::vector<ClaimRow>& claims) {
  std::size_t counts[3] = {};
  for (const ClaimRow& row : claims) ++counts[static_cast<int>(row.claim->verdict)];
  if (claims.empty()) return "";
  std::string text = fmt::format("Of {} about {}, {} {} and {} {} not", plural(claims.size(), "claim"),
                                 plural(experiments, "experiment"), counts[0], counts[0] == 1 ? "holds" : "hold",
                                 counts[1], counts[1] == 1 ? "does" : "do");
  if (counts[2]) text += fmt::format("; {} cannot be judged here", counts[2]);
  return "<p class=\"verdict\">" + text + ".</p>\n";
}

// The chart in words.
std::string change_html(const Rung& before, const Rung& after, const ChartMeasure& measure) {
  const uint64_t was = measure.all(before), is = measure.all(after);
  const std::string name = "<b>" + escape(after.name) + "</b>", than = escape(before.name);
  if (was == is) return name + " has as many as " + than + '.';
  if (is == 0) return name + " has none.";
  const bool fewer = is < was;
  return fmt::format("{} has <b class=\"x\">{:.2f}</b> times {} {}.", name,
                     fewer ? ratio(was, is).value_or(0) : ratio(is, was).value_or(0),
                     fewer ? "fewer than" : "as many as", than);
}

// An experiment on the overview: what it shows, its rungs before and after, in words.
std::string lesson_html(const Experiment& e, const std::string& id, std::size_t number,
                        const std::vector<ClaimRow>& claims) {
  std::string out = fmt::format(
      "<li class=\"card\"><h3><span class=\"rank\">{}</span> <a href=\"#{}\">{}</a> <span "
      "class=\"what\">{}</span></h3>\n"
      "<p>{}.</p>\n",
      number, id, escape(e.name), verdict_chips(claims), escape(e.title));
  const auto rung_called = [&](const std::string& name) {
    const auto found = std::find_if(e.rungs.begin(), e.rungs.end(), [&](const Rung& r) { return r.name == name; });
    return found == e.rungs.end() ? nullptr : &*found;
  };
  const Rung* before = rung_called(e.chart.before);
  const Rung* after = rung_called(e.chart.after);
  const ChartMeasure* measure = find_measure(e.chart.measure);
  if (before && after && measure) {
    out += figure_html(id + "---before-after", std::string(measure->title), counted_on(e.device),
                       chart_html({before, after}, *measure)) +
           "<p>" + change_html(*before, *after, *measure) + "</p>\n";
  }
  if (e.interrupted) out += "<p class=\"bad\">Interrupted: counted is what ran.</p>\n";
  if (!e.interrupted && e.exit_code) out += fmt::format("<p class=\"bad\">It ended with {}.</p>\n", e.exit_code);
  return out + "</li>\n";
}

}  // namespace

void write_report(std::ostream& out, const std::vector<Experiment>& experiments) {
  const DeviceName device = experiments.empty() ? DeviceName{} : experiments.front().device;
  Json data = report_json("lab", device, "lab");
  Ids ids = report_ids();
  HtmlSources sources;
  std::vector<Section> sections(1);
  std::vector<ClaimRow> claims;
  std::string lessons;
  for (const Experiment& experiment : experiments) {
    const std::string id = ids.make(experiment.name);
    std::vector<ClaimRow> own;
    for (const Claim& claim : experiment.claims) own.push_back({&claim, experiment.name, "#" + id});
    claims.insert(claims.end(), own.begin(), own.end());
    std::string sizes;
    for (const std::string& word : experiment.sizes) sizes += (sizes.empty() ? "" : " ") + word;
    lessons += lesson_html(experiment, id, sections.size(), own);
    std::string html;
    if (experiment.interrupted) {
      html += "<p class=\"bad\">Interrupted: what follows is of what ran.</p>\n";
    } else if (experiment.exit_code) {
      html += fmt::format("<p class=\"bad\">The experiment ended with {}.</p>\n", experiment.exit_code);
    }
    html += fmt::format("<p>{}.{}</p>\n", escape(experiment.title),
                        sizes.empty() ? "" : " Run with <code>" + escape(sizes) + "</code>.") +
            page_html(experiment, id, sources, most_wasted_cycles(experiment.rungs));
    sections.push_back({id, experiment.name, experiment.name, html});
    data["pages"].push_back(page_json(experiment, id));
  }
  std::string overview = claims_verdict_html(experiments.size(), claims);
  if (!lessons.empty()) overview += "<ol class=\"cards lessons\">\n" + lessons + "</ol>\n";
  std::vector<ClaimRow> failed;
  for (const ClaimRow& row : claims) {
    if (row.claim->verdict == Verdict::does_not_hold) failed.push_back(row);
  }
  if (!claims.empty()) overview += "<h3 id=\"claims\">Claims</h3>\n";
  if (!failed.empty())
    overview += figure_html("failed-claims", "Claims that do not hold", counted_on(device),
                            claims_html(failed, true, "claims that do not hold"));
  if (!claims.empty())
    overview += fmt::format("<details><summary><b>All {} claims</b></summary>\n{}</details>\n", claims.size(),
                            figure_html("all-claims", "What the documents claim, and what was counted",
                                        counted_on(device), claims_html(claims, true, "all claims")));
  sections[0] = {"overview", "overview", "The lab", overview};
  add_aids(sections);
  const std::string what =
      experiments.size() == 1 ? experiments[0].name : fmt::format("{} experiments", experiments.size());
  write_page(out, "Coalesce lab: " + what, device_text(device, experiments.empty() ? "" : experiments.front().gpu),
             sections, data);
}

}  // namespace coalesce::tool
