#include "tool/present/html_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "tool/figures/findings.h"
#include "tool/present/export.h"
#include "tool/present/html_chart.h"
#include "tool/present/html_gpu.h"
#include "tool/present/html_parts.h"
#include "tool/present/html_text.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;

const char* result_text(Rung::Result result) {
  return result == Rung::Result::right ? "right" : result == Rung::Result::wrong ? "wrong" : "unknown";
}

}  // namespace

std::string comparison_html(const Comparison& c) {
  return fmt::format("<b>{}</b> {} <b class=\"x\">{:.2f}</b> times fewer {} than {}", escape(c.rung), escape(c.verb),
                     c.times, escape(c.noun), escape(c.than));
}

Origin counted_on(const DeviceName& device) {
  return {device.counted(), fmt::format("by the machine as {} (compute capability {}.{}), no GPU",
                                        device.name.empty() ? "a GPU" : device.name, device.compute_capability[0],
                                        device.compute_capability[1])};
}

std::string only_rung_id(const std::string& page, const Rung& rung) { return page + "--" + Ids().make(rung.name); }

std::string page_html(const Experiment& experiment, const std::string& id, HtmlSources& sources, double most_waste) {
  const Origin origin = counted_on(experiment.device);
  std::string out;
  // Ids that text gives have no two dashes in a row: rungs have two before them, figures and lines three.
  std::vector<std::string> ids, links;
  Ids unique;
  for (const Rung& rung : experiment.rungs) {
    ids.push_back(id + "--" + unique.make(rung.name));
    links.push_back("#" + ids.back());
  }
  const bool one = experiment.rungs.size() == 1;
  if (experiment.rungs.empty()) out += "<p>No kernel was launched.</p>\n";
  if (!experiment.rungs.empty()) {
    out += figure_html(id + "---ladder", one ? "In all" : "The rungs", origin,
                       ladder_html(experiment.rungs, links, experiment.name + ": the rungs", one ? "kernel" : "rung"));
    if (const ChartMeasure* measure = one ? nullptr : telling_measure(experiment.rungs)) {
      std::vector<const Rung*> all;
      for (const Rung& rung : experiment.rungs) all.push_back(&rung);
      out += fmt::format("<div class=\"chart\" data-page=\"{}\">{}</div>\n", id,
                         figure_html(id + "---chart", experiment.name + ": " + std::string(measure->title), origin,
                                     chart_html(all, *measure)));
    }
  }
  out += measured_html(experiment, id);
  if (!experiment.comparisons.empty()) {
    out += "<h3>In words</h3>\n<ul class=\"words\">\n";
    for (const Comparison& c : experiment.comparisons) out += "<li>" + comparison_html(c) + "</li>\n";
    out += "</ul>\n";
  }
  if (const std::string copies = copies_html(experiment.rungs); !copies.empty()) {
    out += "<h3>Copies</h3>\n" + figure_html(id + "---copies", "Copies between host and device", origin, copies);
  }
  if (!experiment.rungs.empty()) {
    out += "<h3>The source</h3>\n";
    // Open where there is most to see.
    std::size_t open = 0;
    double most = -1;
    for (std::size_t i = 0; i < experiment.rungs.size(); ++i) {
      const std::vector<Finding> findings = find_waste(total_of(experiment.rungs[i]));
      const double waste = findings.empty() ? 0 : findings[0].waste;
      if (waste > most) open = i, most = waste;
    }
    for (std::size_t i = 0; i < experiment.rungs.size(); ++i) {
      out += rung_html(experiment.rungs[i], ids[i], i == open, experiment.source.parent_path(), origin, sources,
                       most_waste);
    }
    out += fmt::format("<details><summary><b>Every counter</b></summary>\n{}</details>\n",
                       figure_html(id + "---counters", "Every counter", origin,
                                   counters_html(experiment.rungs, experiment.name + ": every counter")));
  }
  if (!experiment.output.empty()) {
    constexpr std::size_t kShown = 16384;
    out += "<details><summary><b>What the program printed</b></summary>\n" +
           scroll_html("output", "<pre>" + escape(experiment.output.substr(0, kShown)) +
                                     (experiment.output.size() > kShown ? "\n\u2026" : "") + "</pre>") +
           "</details>\n";
  }
  if (!experiment.claims.empty()) {
    std::vector<ClaimRow> rows;
    for (const Claim& claim : experiment.claims) rows.push_back({&claim, "", ""});
    out += "<h3>Claims</h3>\n" + figure_html(id + "---claims", "What the documents claim", origin,
                                             claims_html(rows, false, experiment.name + ": claims"));
  }
  return out;
}

Json page_json(const Experiment& experiment, const std::string& id) {
  Json rungs = Json::array(), claims = Json::array(), comparisons = Json::array();
  for (const Rung& rung : experiment.rungs) {
    Json lines = Json::array(), steps = Json::array();
    for (const Line& line : rung.lines) {
      lines.push_back(
          {line.file.substr(line.file.rfind('/') + 1), line.line, line.ptx_line, counters_json(line.counters, false)});
    }
    for (const Step& step : rung.steps) {
      steps.push_back({{"step", step.name},
                       {"active_warps", step.active_warps},
                       {"divergent_warps", step.divergent_warps},
                       {"conflict_degree", step.conflict_degree},
                       {"counters", counters_json(step.counters, false)}});
    }
    Json one = {{"name", rung.name},
                {"result", result_text(rung.result)},
                {"fault", rung.fault},
                {"launches", rung.launches},
                {"grid", rung.grid},
                {"block", rung.block},
                {"shared_bytes", rung.shared_bytes},
                {"counters", counters_json(rung.counters, true)},
                {"moved_sectors", moved_bytes(rung.counters) / 32},
                {"wasted_sectors", wasted_sectors(rung.counters)},
                {"shared_wavefronts", shared_wavefronts(rung.counters)},
                {"bank_conflicts", bank_conflicts(rung.counters)},
                {"lines", std::move(lines)}};
    if (rung.hardware) one["gpu"] = measured_json(rung);
    if (!steps.empty()) one["steps"] = std::move(steps);
    rungs.push_back(std::move(one));
  }
  for (const Claim& c : experiment.claims) {
    claims.push_back({{"text", c.text},
                      {"document", c.document},
                      {"device", c.device},
                      {"figure", c.figure ? Json(*c.figure) : Json()},
                      {"unit", c.unit},
                      {"counted", c.value ? Json(*c.value) : Json()},
                      {"verdict", verdict_text(c)},
                      {"reason", c.reason}});
  }
  for (const Comparison& c : experiment.comparisons) {
    comparisons.push_back({{"rung", c.rung}, {"times", c.times}, {"noun", c.noun}, {"than", c.than}});
  }
  return {{"id", id},
          {"name", experiment.name},
          {"title", experiment.title},
          {"sizes", experiment.sizes},
          {"gpu", experiment.gpu},
          {"rungs", std::move(rungs)},
          {"comparisons", std::move(comparisons)},
          {"claims", std::move(claims)}};
}

}  // namespace coalesce::tool
