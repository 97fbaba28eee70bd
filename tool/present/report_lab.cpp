// The report of `coalesce lab`.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tool/present/html_page.h"
#include "tool/present/report.h"
#include "tool/present/report_page.h"

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

}  // namespace

void write_report(std::ostream& out, const std::vector<Experiment>& experiments) {
  const DeviceName device = experiments.empty() ? DeviceName{} : experiments.front().device;
  Json data = report_json("lab", device, "lab");
  Ids ids = report_ids();
  Sources sources;
  std::vector<Section> sections(1);
  std::vector<ClaimRow> claims;
  std::string ladders;
  HtmlTable summary({{.title = "experiment", .hint = "", .number = false},
                     {.title = "what it shows", .hint = "", .number = false},
                     {.title = "rungs", .hint = ""},
                     {.title = "claims", .hint = "what the documents claim of it"},
                     {.title = "hold", .hint = ""},
                     {.title = "do not", .hint = ""},
                     {.title = "open", .hint = "cannot be judged here, most of them because they are about time"}});
  for (const Experiment& experiment : experiments) {
    const std::string id = ids.make(experiment.name);
    std::vector<ClaimRow> own;
    for (const Claim& claim : experiment.claims) own.push_back({&claim, experiment.name, "#" + id});
    claims.insert(claims.end(), own.begin(), own.end());
    const auto verdicts = [&](Verdict verdict) {
      return count_cell(static_cast<uint64_t>(
          std::count_if(own.begin(), own.end(), [&](const ClaimRow& row) { return row.claim->verdict == verdict; })));
    };
    summary.row({{fmt::format("<a href=\"#{}\">{}</a>", id, escape(experiment.name))},
                 text_cell(experiment.title, "long"),
                 count_cell(experiment.rungs.size()),
                 count_cell(own.size()),
                 verdicts(Verdict::holds),
                 verdicts(Verdict::does_not_hold),
                 verdicts(Verdict::cannot_be_judged)});
    std::string sizes;
    for (const std::string& word : experiment.sizes) sizes += (sizes.empty() ? "" : " ") + word;
    const std::vector<std::string> links(experiment.rungs.size(), "#" + id);
    ladders += fmt::format("<h3><a href=\"#{}\">{}</a></h3>\n<p>{}.{}</p>\n<p>{}</p>\n", id, escape(experiment.name),
                           escape(experiment.title), sizes.empty() ? "" : " <code>" + escape(sizes) + "</code>",
                           verdict_chips(own));
    if (!experiment.rungs.empty()) {
      ladders += figure_html(id + "---overview", experiment.name, counted_on(experiment.device),
                             ladder_html(experiment.rungs, links, experiment.name, "rung"));
    }
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
  std::string overview = "<p class=\"chips\">" + verdict_chips(claims) + "</p>\n";
  if (experiments.size() > 1) {
    overview +=
        figure_html("experiments", "Experiments", counted_on(device), scroll_html("experiments", summary.html()));
  }
  overview += ladders;
  if (!claims.empty()) {
    overview += "<h3 id=\"claims\">All claims</h3>\n" +
                figure_html("all-claims", "What the documents claim, and what was counted", counted_on(device),
                            claims_html(claims, true, "all claims"));
  }
  sections[0] = {"overview", "overview", "Overview", overview};
  add_aids(sections);
  const std::string what =
      experiments.size() == 1 ? experiments[0].name : fmt::format("{} experiments", experiments.size());
  write_page(out, "Coalesce lab: " + what, device_text(device, experiments.empty() ? "" : experiments.front().gpu),
             sections, data);
}

}  // namespace coalesce::tool
