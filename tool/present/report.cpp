#include "tool/present/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cache/hash.h"
#include "tool/figures/hardware.h"
#include "tool/figures/metrics.h"
#include "tool/present/html_assets.h"
#include "tool/present/html_gpu.h"
#include "tool/present/html_page.h"
#include "tool/present/html_pictures.h"
#include "tool/present/html_text.h"

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Section {
  std::string id, name, title, html;
  bool aid = false;  // not about what was run
};

const BankQuestion kFirstBanks{.stride = 8, .width = 4, .pad = 0, .lanes = 32, .kind = SharedAccess::load};
const SectorQuestion kFirstSectors{.stride = 2, .offset = 0, .width = 4};

// Ids that pages must not take.
constexpr const char* kOwnIds[] = {"overview", "banks",  "sectors", "words",       "main",
                                   "data",     "claims", "kernels", "experiments", "all-claims"};

// The picture is answered by the rule itself, not by a run.
Origin by_rule() { return {"counted", "by the machine's rule, one warp instruction"}; }

Section banks_section() {
  return {
      "banks", "bank picture", "Which banks the lanes meet on",
      "<p>Shared memory has 32 banks of 4 bytes. Lane <var>l</var> accesses element <var>l</var> \u00d7 (stride + "
      "padding), as down a column "
      "of a tile whose rows end in so many unused elements. Each row is one pass over the banks (a wavefront): lanes "
      "that want different words of one bank need a pass each, lanes that want the same word share it.</p>\n"
      "<form class=\"ask\" data-picture=\"banks\"></form>\n" +
          figure_html("banks---figure",
                      fmt::format("Stride {}, {} bytes a lane, no padding", kFirstBanks.stride, kFirstBanks.width),
                      by_rule(),
                      "<p class=\"answer\" aria-live=\"polite\">" + bank_summary(kFirstBanks) + "</p>" +
                          scroll_html("the 32 banks", bank_svg(kFirstBanks)) +
                          "<p class=\"key\"><span class=\"kf\">first pass</span> <span class=\"kc\">a further pass: "
                          "a bank conflict</span> <span class=\"ke\">bank idle</span></p>"),
      true};
}

Section sectors_section() {
  return {
      "sectors", "sector picture", "Which sectors the lanes share",
      "<p>Global memory is moved in sectors of 32 bytes, four to a line of 128. Lane <var>l</var> accesses element "
      "offset + <var>l</var> \u00d7 stride of an array that starts on a line. A sector is moved whole, however few of "
      "its bytes are wanted.</p>\n<form class=\"ask\" data-picture=\"sectors\"></form>\n" +
          figure_html(
              "sectors---figure",
              fmt::format("Stride {}, offset {}, {} bytes a lane", kFirstSectors.stride, kFirstSectors.offset,
                          kFirstSectors.width),
              by_rule(),
              "<p class=\"answer\" aria-live=\"polite\">" + sector_summary(kFirstSectors) + "</p>" +
                  scroll_html("the lines touched", sector_svg(kFirstSectors)) +
                  "<p class=\"key\"><span class=\"kf\">asked for by a lane</span> <span class=\"kw\">moved, not "
                  "asked for</span> <span class=\"ke\">not moved</span></p>"),
      true};
}

Section words_section() {
  HtmlTable table({{.title = "counter", .hint = "", .number = false},
                   {.title = "unit", .hint = "", .number = false},
                   {.title = "meaning", .hint = "", .number = false},
                   {.title = "nvprof", .hint = "", .number = false},
                   {.title = "Nsight Compute", .hint = "", .number = false}});
  for (const auto& row : machine::kCounterRows) {
    table.row({{std::string(row.name)},
               {std::string(unit_name(row.unit))},
               text_cell(std::string(row.meaning)),
               {std::string(row.nvprof)},
               {std::string(row.nsight)}});
  }
  return {
      "words", "words", "What the words mean",
      "<p><b>Counted</b> figures are exact integers from the machine's run of the program: the same on every computer "
      "and every time. The machine has no clock, so nothing in this report is <b>timed</b>; where a document's claim "
      "is about time, its figure was timed by the document's authors on the device named beside it.</p>\n"
      "<ul><li>A <b>request</b> is one warp instruction that accesses memory.</li>\n"
      "<li>A <b>sector</b> is 32 aligned bytes of global or local memory; <b>wasted</b> are sectors beyond the fewest "
      "that hold the distinct bytes asked for (at least one a request).</li>\n"
      "<li>A <b>wavefront</b> is one pass over the 32 banks of shared memory; <b>conflicts</b> are those above what "
      "the "
      "same bytes need without conflicts.</li>\n"
      "<li><b>Parted</b>: branches after which lanes of one warp went both ways.</li>\n"
      "<li><b>Moved/least</b>: bytes of global memory moved, over 32 for each sector touched at all.</li></ul>\n" +
          scroll_html("counters", table.html()),
      true};
}

// A Content-Security-Policy that lets nothing be fetched and no script run but ours.
std::string base64_of_hex(const std::string& hex) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    const std::string part = hex.substr(i, 6);
    const auto bits = static_cast<uint32_t>(std::stoul((part + "000000").substr(0, 6), nullptr, 16));
    for (std::size_t k = 0; k < 4; ++k) out += k <= part.size() / 2 ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

void write_page(std::ostream& out, const std::string& title, const std::string& subtitle,
                const std::vector<Section>& sections, const Json& data) {
  const std::string script(report_script());
  const std::string hash = base64_of_hex(cache::Sha256().add(script).hex());
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      << "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "img-src "
         "data:; base-uri 'none'; form-action 'none'; script-src 'sha256-"
      << hash << "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      << "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"coalesce\">\n"
      << "<link rel=\"icon\" href=\"data:,\">\n<title>" << escape(title) << "</title>\n<style>" << report_style()
      << "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the figures</a>\n<header><p class=\"title\">"
      << escape(title) << "</p><p class=\"where\">" << subtitle << "</p>\n<nav aria-label=\"Pages\">";
  for (const Section& s : sections) {
    out << "<a href=\"#" << s.id << (s.aid ? "\" class=\"aid\">" : "\">") << escape(s.name) << "</a>";
  }
  out << "</nav></header>\n<main id=\"main\">\n";
  for (const Section& s : sections) {
    out << "<section class=\"page\" id=\"" << s.id << "\" aria-labelledby=\"" << s.id << "---h\">\n<h2 id=\"" << s.id
        << "---h\" tabindex=\"-1\">" << escape(s.title) << "</h2>\n"
        << s.html << "</section>\n";
  }
  out << "</main>\n<footer>Made by Coalesce. The file is complete: it asks for nothing from anywhere.</footer>\n"
      << "<script type=\"application/json\" id=\"data\">" << json_for_script(data) << "</script>\n<script>" << script
      << "</script>\n</body>\n</html>\n";
}

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

// `gpu`: on which it was measured besides; empty: on none.
std::string device_text(const DeviceName& device, const std::string& gpu) {
  if (device.key == kGpuKey) {
    return fmt::format("Measured on an <b>{}</b> (compute capability {}.{}), by its own counters.", escape(device.name),
                       device.compute_capability[0], device.compute_capability[1]);
  }
  return fmt::format("Counted by the Coalesce machine, which stands in for an <b>{}</b> (compute capability {}.{}). {}",
                     escape(device.name), device.compute_capability[0], device.compute_capability[1],
                     gpu.empty() ? "No GPU was used; nothing is timed."
                                 : "Times, and what is called measured, are an <b>" + escape(gpu) + "</b>'s.");
}

Json report_json(const char* kind, const DeviceName& device, const std::string& program) {
  return {{"schema", "coalesce.report/1"},
          {"kind", kind},
          {"how", device.key == kGpuKey ? "measured" : "counted"},
          {"where", device.key == kGpuKey ? "on an " + device.name : counted_on(device).where},
          {"device", {{"key", device.key}, {"name", device.name}, {"compute_capability", device.compute_capability}}},
          {"program", program},
          {"pages", Json::array()}};
}

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

double passes(const machine::Counters& c) {
  return static_cast<double>(moved_bytes(c)) / 128 + static_cast<double>(shared_wavefronts(c));
}

}  // namespace

void write_report(std::ostream& out, const std::vector<Experiment>& experiments) {
  const DeviceName device = experiments.empty() ? DeviceName{} : experiments.front().device;
  Json data = report_json("lab", device, "lab");
  Ids ids;
  for (const char* taken : kOwnIds) ids.make(taken);
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
            page_html(experiment, id, sources);
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
  sections.push_back(banks_section());
  sections.push_back(sectors_section());
  sections.push_back(words_section());
  const std::string what =
      experiments.size() == 1 ? experiments[0].name : fmt::format("{} experiments", experiments.size());
  write_page(out, "Coalesce lab: " + what, device_text(device, experiments.empty() ? "" : experiments.front().gpu),
             sections, data);
}

namespace {

// A GPU's own record: no source lines, no bytes asked for, hence nothing to judge; one page.
void write_measured_report(std::ostream& out, const Record& record, const std::string& program) {
  std::vector<Section> sections{{"overview", "overview", program, measured_html(record)}};
  sections.push_back(banks_section());
  sections.push_back(sectors_section());
  sections.push_back(words_section());
  write_page(out, program + " \u2013 Coalesce", device_text(record.device, ""), sections,
             report_json("run", record.device, program));
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
    const double pa = passes(kernels[a].counters), pb = passes(kernels[b].counters);
    return pa != pb ? pa > pb : a < b;
  });
  std::vector<bool> has_page(kernels.size());
  for (std::size_t i = 0; i < std::min(order.size(), kReportPages); ++i) has_page[order[i]] = true;

  Ids ids;
  for (const char* taken : kOwnIds) ids.make(taken);
  Sources sources;
  std::vector<Section> sections(1);
  std::vector<Rung> rungs;
  std::vector<std::string> links;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelTotal& total = kernels[i];
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
    std::string id;
    if (has_page[i]) {
      id = ids.make(kernel.short_name);
      Experiment page;
      page.name = kernel.short_name;
      page.title = kernel.full;
      page.source = source;
      page.device = record.device;
      page.rungs = {rung};
      if (measured) page.gpu = measured->device.name;
      if (measured) page.notes = measured->notes;
      sections.push_back({id, kernel.short_name, kernel.short_name,
                          "<p><code>" + escape(kernel.full) + "</code></p>\n" + page_html(page, id, sources)});
      data["pages"].push_back(page_json(page, id));
    }
    links.push_back(id.empty() ? "" : "#" + id);
    rungs.push_back(std::move(rung));
  }
  std::string overview;
  if (!record.complete) {
    overview +=
        "<p class=\"bad\">The program ended before its CUDA runtime could close the record: launches may be "
        "missing.</p>\n";
  }
  overview += diagnostics_html(record.diagnostics);
  if (rungs.empty()) {
    overview += "<p>" + escape(record.none) + "</p>\n";
  } else {
    overview += figure_html("kernels", "Kernels, all launches added up", counted_on(record.device),
                            ladder_html(rungs, links, "kernels", "kernel"));
  }
  if (kernels.size() > kReportPages) {
    overview += fmt::format("<p>Only the {} kernels that moved most have a page of their own.</p>\n", kReportPages);
  }
  sections[0] = {"overview", "overview", program, overview};
  sections.push_back(banks_section());
  sections.push_back(sectors_section());
  sections.push_back(words_section());
  write_page(out, program + " \u2013 Coalesce", device_text(record.device, measured ? measured->device.name : ""),
             sections, data);
}

}  // namespace coalesce::tool
