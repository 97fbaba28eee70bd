#include "tool/present/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tool/figures/advice.h"
#include "tool/present/export.h"
#include "tool/present/html_gpu.h"
#include "tool/present/html_text.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::Counters;
using machine::kCounterRows;

bool touches_global(const Counters& c) { return moved_bytes(c) != 0; }

HtmlCell bar_cell(uint64_t value, bool applies) {
  return applies ? HtmlCell{grouped(value), static_cast<double>(value)} : HtmlCell{};
}

HtmlCell ratio_cell(uint64_t numerator, uint64_t denominator) {
  const auto value = ratio(numerator, denominator);
  return {value ? figure(*value) : std::string()};
}

std::string shape(const std::array<uint32_t, 3>& s) {
  std::string text = grouped(s[0]);
  if (s[1] > 1 || s[2] > 1) text += "\u00d7" + grouped(s[1]);
  if (s[2] > 1) text += "\u00d7" + grouped(s[2]);
  return text;
}

std::string linked(const std::string& text, const std::string& link) {
  return link.empty() ? escape(text) : fmt::format("<a href=\"{}\">{}</a>", escape(link), escape(text));
}

HtmlCell result_cell(const Rung& rung) {
  if (!rung.fault.empty()) return text_cell("\u2717 " + rung.fault, "bad");
  switch (rung.result) {
    case Rung::Result::right:
      return {"\u2713 right", 0, "good"};
    case Rung::Result::wrong:
      return {"\u2717 wrong", 0, "bad"};
    case Rung::Result::unknown:
      return {};
  }
  return {};
}

HtmlCell verdict_cell(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return {"\u2713 holds", 0, "good"};
    case Verdict::does_not_hold:
      return {"\u2717 does not hold", 0, "bad"};
    case Verdict::cannot_be_judged:
      return {"\u2013 cannot be judged here", 0, "open"};
  }
  return {};
}

// Whole numbers are shown whole; others are cut, with all their digits for who points at them.
HtmlCell claim_cell(const std::optional<double>& value, const std::string& unit) {
  if (!value) return {};
  const bool whole = *value == std::floor(*value);
  std::string text = figure(*value, 6);
  if (!whole) text = fmt::format("<span title=\"{}\">{}</span>", figure(*value, 17), text);
  if (!unit.empty()) text += " <span class=\"unit\">" + escape(unit) + "</span>";
  return {text, 0, "fig"};
}

// Every counter that any rung has, rungs side by side.
std::string counters_html(const std::vector<Rung>& rungs, const std::string& label) {
  std::vector<HtmlColumn> columns = {{.title = "counter", .hint = "", .number = false}};
  for (const Rung& rung : rungs) columns.push_back({.title = rung.name, .hint = ""});
  HtmlTable table(columns);
  for (const auto& row : kCounterRows) {
    const bool any = std::any_of(rungs.begin(), rungs.end(), [&](const Rung& r) { return r.counters.*row.field != 0; });
    if (!any) continue;
    std::vector<HtmlCell> cells = {{fmt::format("<span title=\"{}\">{}</span>", escape(row.meaning), row.name)}};
    for (const Rung& rung : rungs) cells.push_back(count_cell(rung.counters.*row.field));
    table.row(std::move(cells));
  }
  for (const Derived& derived : kDerived) {
    std::vector<HtmlCell> cells = {
        {fmt::format("<span title=\"{}\">{}</span>", escape(derived.meaning), derived.name)}};
    bool any = false;
    for (const Rung& rung : rungs) {
      Launch launch;
      launch.counters = rung.counters;
      launch.grid = rung.grid;
      launch.block = rung.block;
      // What is per launch cannot be had from a sum over several.
      const auto value = rung.launches == 1 ? derived.value(launch) : std::nullopt;
      any |= value && *value != 0;
      cells.push_back({value ? figure(*value, 4) + (derived.unit.empty() ? "" : " " + std::string(derived.unit)) : ""});
    }
    if (any) table.row(std::move(cells));
  }
  return scroll_html(label, table.html());
}

std::string steps_html(const Rung& rung) {
  HtmlTable table(
      {{.title = "step", .hint = "", .number = false},
       {.title = "active warps", .hint = "warps that wrote a sum in this step"},
       {.title = "divergent warps", .hint = "warps whose lanes parted at a branch of this step", .bar = "bc"},
       {.title = "waves/request", .hint = "wavefronts a shared request takes on average: 2 is a 2-way conflict"},
       {.title = "waves", .hint = "passes over the banks of shared memory", .bar = "bv"},
       {.title = "conflicts", .hint = "of these, passes due to bank conflicts", .bar = "bc"},
       {.title = "instr", .hint = "warp instructions (of PTX)"}});
  for (const Step& step : rung.steps) {
    const uint64_t requests = shared_requests(step.counters);
    table.row({text_cell(step.name),
               count_cell(step.active_warps),
               bar_cell(step.divergent_warps, true),
               {step.conflict_degree > 0 ? figure(step.conflict_degree) : ""},
               bar_cell(shared_wavefronts(step.counters), requests != 0),
               bar_cell(bank_conflicts(step.counters), requests != 0),
               count_cell(step.counters.instructions)});
  }
  return scroll_html(rung.name + ", step by step", table.html());
}

std::string copies_html(const std::vector<Rung>& rungs) {
  HtmlTable table({{.title = "rung", .hint = "", .number = false},
                   {.title = "calls to device", .hint = ""},
                   {.title = "bytes to device", .hint = ""},
                   {.title = "calls to host", .hint = ""},
                   {.title = "bytes to host", .hint = ""},
                   {.title = "calls within", .hint = ""},
                   {.title = "bytes within", .hint = ""}});
  for (const Rung& rung : rungs) {
    if (!rung.copies) continue;
    const Copies& c = *rung.copies;
    table.row({text_cell(rung.name), count_cell(c.h2d_calls, true), count_cell(c.h2d_bytes, true),
               count_cell(c.d2h_calls, true), count_cell(c.d2h_bytes, true), count_cell(c.d2d_calls, true),
               count_cell(c.d2d_bytes, true)});
  }
  return table.empty() ? "" : scroll_html("copies", table.html());
}

// Comments in the sources mark code with backquotes.
std::string prose(const std::string& text) {
  std::string out;
  bool code = false;
  for (std::size_t i = 0; i < text.size();) {
    const auto quote = text.find('`', i);
    const bool closed = quote != std::string::npos && (code || text.find('`', quote + 1) != std::string::npos);
    out += escape(std::string_view(text).substr(i, closed ? quote - i : std::string::npos));
    if (!closed) break;
    out += code ? "</code>" : "<code>";
    code = !code;
    i = quote + 1;
  }
  return out;
}

KernelTotal total_of(const Rung& rung) {
  KernelTotal total;
  total.launches = rung.launches;
  total.counters = rung.counters;
  total.lines = rung.lines;
  total.fault = rung.fault;
  return total;
}

std::string rung_html(const Rung& rung, const std::string& id, bool open, const std::filesystem::path& beside,
                      const Origin& origin, Sources& sources) {
  const Advice advice = advise(total_of(rung));
  std::string facts;
  if (rung.launches) {
    facts = fmt::format("{} {}, grid {}, block {}", grouped(rung.launches), rung.launches == 1 ? "launch" : "launches",
                        shape(rung.grid), shape(rung.block));
    if (rung.shared_bytes) facts += fmt::format(", {} bytes of dynamic shared memory", grouped(rung.shared_bytes));
  }
  std::string out = fmt::format(
      "<details class=\"rung\" id=\"{}\"{}><summary><h4>{}</h4> <span class=\"facts\">{}</span></summary>\n", id,
      open ? " open" : "", escape(rung.name), facts);
  if (!rung.fault.empty()) {
    out += fmt::format("<p class=\"bad\">Ended with {}; its counters are of what ran.</p>\n", escape(rung.fault));
  }
  if (!rung.changed.empty()) out += "<p>" + prose(rung.changed) + "</p>\n";
  if (!rung.expected.empty()) out += "<p><b>What that should do:</b> " + prose(rung.expected) + "</p>\n";
  if (!advice.text.empty()) {
    out += fmt::format("<p class=\"advice\"><b>Most wasted:</b> {}{}.</p>\n", escape(advice.text),
                       advice.place.empty() ? "" : " (" + escape(advice.place) + ")");
  }
  if (!rung.steps.empty())
    out += figure_html(id + "---steps", rung.name + ", step by step, over the launches taken apart for it", origin,
                       steps_html(rung));
  out += figure_html(id + "---source", rung.name + ", line by line", origin,
                     source_html(rung.lines, rung.name + " line by line", beside, sources));
  return out + "</details>\n";
}

const char* result_text(Rung::Result result) {
  return result == Rung::Result::right ? "right" : result == Rung::Result::wrong ? "wrong" : "unknown";
}

}  // namespace

Origin counted_on(const DeviceName& device) {
  return {device.counted(), fmt::format("by the machine as {} (compute capability {}.{}), no GPU",
                                        device.name.empty() ? "a GPU" : device.name, device.compute_capability[0],
                                        device.compute_capability[1])};
}

std::string ladder_html(const std::vector<Rung>& rungs, const std::vector<std::string>& links, const std::string& label,
                        const std::string& each) {
  HtmlTable table(
      {{.title = each, .hint = "", .number = false},
       {.title = "sectors", .hint = "32-byte sectors of global memory moved by loads, stores and atomics", .bar = "bs"},
       {.title = "wasted",
        .hint = "of the loads' and stores' sectors, those beyond the fewest that hold the bytes asked for",
        .bar = "bw"},
       {.title = "wavefronts", .hint = "passes over the 32 banks of shared memory", .bar = "bv"},
       {.title = "conflicts", .hint = "of these, passes due to bank conflicts", .bar = "bc"},
       {.title = "local",
        .hint = "sectors of local memory: arrays and spills that did not stay in registers",
        .bar = "bw"},
       {.title = "divergent", .hint = "branches whose lanes went both ways"},
       {.title = "lanes on", .hint = "of 32, mean over the warp instructions executed"},
       {.title = "moved/least",
        .hint = "bytes moved over those touched at all; 2 where all of them are updated in place"},
       {.title = "result", .hint = "what the experiment's own check said", .number = false}});
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Rung& rung = rungs[i];
    const Counters& c = rung.counters;
    const bool shared = shared_requests(c) != 0;
    const uint64_t local = c.local_load_sectors + c.local_store_sectors;
    table.row({{linked(rung.name, i < links.size() ? links[i] : "")},
               bar_cell(moved_bytes(c) / 32, touches_global(c)),
               bar_cell(wasted_sectors(c), touches_global(c)),
               bar_cell(shared_wavefronts(c), shared),
               bar_cell(bank_conflicts(c), shared),
               bar_cell(local, local != 0),
               count_cell(c.divergent_branches, c.branches == 0),
               ratio_cell(c.thread_instructions, c.instructions),
               ratio_cell(moved_bytes(c), c.compulsory_bytes),
               result_cell(rung)});
  }
  return scroll_html(label, table.html());
}

std::string claims_html(const std::vector<ClaimRow>& claims, bool named, const std::string& label) {
  HtmlTable table({{.title = named ? "experiment" : "", .hint = "", .number = false},
                   {.title = "claim", .hint = "", .number = false},
                   {.title = "document", .hint = "and the device it speaks of", .number = false},
                   {.title = "it says", .hint = "the document's figure, from its device"},
                   {.title = "counted here", .hint = "by the machine; of times, measured by the GPU"},
                   {.title = "verdict", .hint = "", .number = false},
                   {.title = "remarks", .hint = "", .number = false}});
  for (const ClaimRow& row : claims) {
    const Claim& claim = *row.claim;
    std::string source = escape(claim.document);
    if (!claim.device.empty()) source += " <span class=\"dim\">" + escape(claim.device) + "</span>";
    std::string remarks = prose(claim.reason);
    if (!claim.note.empty()) remarks += (remarks.empty() ? "" : "<br>") + prose(claim.note);
    table.row({{named ? linked(row.experiment, row.link) : ""},
               {prose(claim.text), 0, "long"},
               {source},
               claim_cell(claim.figure, claim.unit),
               claim_cell(claim.value, claim.unit),
               verdict_cell(claim.verdict),
               {remarks, 0, "long"}});
  }
  return scroll_html(label, table.html());
}

std::string page_html(const Experiment& experiment, const std::string& id, Sources& sources) {
  const Origin origin = counted_on(experiment.device);
  std::string out;
  // Ids that text gives have no two dashes in a row: rungs have two before them, figures three.
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
    out += fmt::format("<div class=\"chart\" data-page=\"{}\"></div>\n", id);
  }
  out += measured_html(experiment, id);
  if (!experiment.comparisons.empty()) {
    out += "<h3>In words</h3>\n<ul class=\"words\">\n";
    for (const Comparison& c : experiment.comparisons) {
      out += fmt::format("<li><b>{}</b> {} <b class=\"x\">{}</b> times fewer {} than {}</li>\n", escape(c.rung),
                         escape(c.verb), figure(c.times), escape(c.noun), escape(c.than));
    }
    out += "</ul>\n";
  }
  if (!experiment.claims.empty()) {
    std::vector<ClaimRow> rows;
    for (const Claim& claim : experiment.claims) rows.push_back({&claim, "", ""});
    out += "<h3>Claims</h3>\n" + figure_html(id + "---claims", "What the documents claim", origin,
                                             claims_html(rows, false, experiment.name + ": claims"));
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
      const double waste = advise(total_of(experiment.rungs[i])).waste;
      if (waste > most) open = i, most = waste;
    }
    for (std::size_t i = 0; i < experiment.rungs.size(); ++i) {
      out += rung_html(experiment.rungs[i], ids[i], i == open, experiment.source.parent_path(), origin, sources);
    }
    out += fmt::format("<details><summary><h4>Every counter</h4></summary>\n{}</details>\n",
                       figure_html(id + "---counters", "Every counter", origin,
                                   counters_html(experiment.rungs, experiment.name + ": every counter")));
  }
  if (!experiment.output.empty()) {
    constexpr std::size_t kShown = 16384;
    out += "<details><summary><h4>What the program printed</h4></summary>\n" +
           scroll_html("output", "<pre>" + escape(experiment.output.substr(0, kShown)) +
                                     (experiment.output.size() > kShown ? "\n\u2026" : "") + "</pre>") +
           "</details>\n";
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
                      {"verdict", verdict_text(c.verdict)},
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
