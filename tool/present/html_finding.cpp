#include "tool/present/html_finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tool/figures/finding_rules.h"
#include "tool/figures/seats.h"
#include "tool/present/html_text.h"

namespace coalesce::tool {
namespace {

using machine::Counters;

constexpr std::size_t kCardsShown = 6;

double per_request(uint64_t value, uint64_t requests) { return ratio(value, requests).value_or(0); }

std::string small_svg(int width, int height, const std::string& what, const std::string& body) {
  return fmt::format(
      "<svg class=\"small\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">{3}</svg><p class=\"under\">{2}</p>",
      width, height, escape(what), body);
}

// `count` boxes, 16 in a row; the part `filled` of each is drawn as `inner`, the rest as `outer`.
std::string boxes(double count, double filled, const char* inner, const char* outer, const std::string& what) {
  constexpr int kWide = 16, kHigh = 18, kInRow = 16;
  const int whole = std::clamp(static_cast<int>(std::ceil(count - 0.01)), 1, 64);
  std::string body;
  for (int i = 0; i < whole; ++i) {
    const int row = i / kInRow;
    const double share = std::clamp(count - i, 0.0, 1.0);  // the last box of a mean may be a part
    const double x = i % kInRow * kWide + 1, y = row * kHigh + 1.0, width = (kWide - 2) * share;
    body +=
        fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{:.3g}" height="{}"/>)", outer, x, y, width, kHigh - 4);
    body += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{:.3g}" height="{}"/>)", inner, x, y, width * filled,
                        kHigh - 4);
  }
  const int rows = (whole + kInRow - 1) / kInRow;
  return small_svg(std::min(whole, kInRow) * kWide, rows * kHigh, what, body);
}

std::string sector_boxes(uint64_t requests, uint64_t sectors, uint64_t bytes) {
  const uint64_t least = ideal_sectors(requests, bytes);
  return boxes(
      per_request(sectors, requests), per_request(least, sectors), "useful", "wasted",
      fmt::format("The {:.1f} sectors of an average request; blue: what it asks for", per_request(sectors, requests)));
}

// The seats of a regular stride, pass by pass; without one, a box for each pass.
std::string bank_boxes(const Counters& c) {
  const double passes = per_request(shared_wavefronts(c), shared_requests(c));
  const uint32_t stride = bank_stride(c);
  if (stride == 0)
    return boxes(passes, per_request(shared_wavefronts_ideal(c), shared_wavefronts(c)), "useful", "wasted",
                 fmt::format("The {:.1f} passes of an average request; blue: what would do", passes));
  constexpr int kCell = 8;
  const int high = stride > 16 ? 4 : kCell;
  std::string body;
  const auto groups = seat_banks(BankQuestion{.stride = stride}.addresses(), 4, 32, SharedAccess::load);
  const int rows = static_cast<int>(groups[0].passes);
  body += fmt::format(R"(<rect class="idle" width="{}" height="{}"/>)", 32 * kCell, rows * high);
  for (const BankSeat& seat : groups[0].seats)
    body += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>)", seat.pass ? "wasted" : "useful",
                        static_cast<int>(seat.bank) * kCell, static_cast<int>(seat.pass) * high, kCell - 1, high - 1);
  return small_svg(32 * kCell, rows * high,
                   fmt::format("32 banks across, {} passes down; each box: a bank that is read", rows), body);
}

std::string whole_and_waste(const Finding& f) {
  constexpr int kWidth = 256, kHeight = 16;
  const double useful = f.spent > 0 ? kWidth * std::clamp(1 - f.waste / f.spent, 0.0, 1.0) : 0;
  return small_svg(
      kWidth, kHeight, "All of it; blue: what is needed",
      fmt::format(R"(<rect class="wasted" width="{}" height="{}"/><rect class="useful" width="{:.4g}" height="{}"/>)",
                  kWidth, kHeight, useful, kHeight));
}

std::string card(const RankedFinding& ranked, std::size_t rank, const std::filesystem::path& beside,
                 HtmlSources& sources) {
  const Finding& f = ranked.finding;
  const std::string place = place_of(f.line);
  std::string head = escape(place.empty() ? "the whole kernel" : place);
  if (!ranked.link.empty() && !place.empty()) head = fmt::format("<a href=\"{}\">{}</a>", escape(ranked.link), head);
  std::string out =
      fmt::format("<li class=\"card\"><h3><span class=\"rank\">{}</span> {} <span class=\"what\">{}{}</span></h3>\n",
                  rank, head, ranked.kernel.empty() ? "" : escape(ranked.kernel) + " \u00b7 ", f.kind);
  if (const auto* text = f.line.file.empty() ? nullptr : sources.lines(f.line.file, beside);
      text && f.line.line >= 1 && f.line.line <= text->size()) {
    std::string code = (*text)[f.line.line - 1];
    code.erase(0, code.find_first_not_of(" \t"));
    out += "<pre class=\"code\">" + code + "</pre>\n";
  }
  return out + "<div class=\"of\"><div class=\"pic\">" + finding_picture(f) + "</div>\n<div><p>" +
         escape(diagnosis(f)) + "</p>\n<p class=\"remedy\">" + escape(advice(f)) + "</p></div></div></li>\n";
}

}  // namespace

std::string finding_picture(const Finding& finding) {
  const Counters& c = finding.line.counters;
  const std::string_view kind = finding.kind;
  if (kind == "loads")
    return sector_boxes(c.global_load_requests, c.global_load_sectors, c.global_load_bytes_requested);
  if (kind == "stores")
    return sector_boxes(c.global_store_requests, c.global_store_sectors, c.global_store_bytes_requested);
  if (kind == "banks") return bank_boxes(c);
  if (kind == "branches" || kind == "few threads") {
    const double lanes = per_request(c.thread_instructions, c.instructions);
    return boxes(32, lanes / 32, "useful", "wasted",
                 fmt::format("32 lanes; blue: the part of the time that they work ({:.1f} of 32)", lanes));
  }
  return whole_and_waste(finding);
}

std::string cards_html(const std::vector<RankedFinding>& findings, const std::filesystem::path& beside,
                       HtmlSources& sources) {
  if (findings.empty()) return "";
  std::string shown, folded;
  for (std::size_t i = 0; i < findings.size(); ++i)
    (i < kCardsShown ? shown : folded) += card(findings[i], i + 1, beside, sources);
  std::string out = "<ol class=\"cards\">\n" + shown + "</ol>\n";
  if (!folded.empty())
    out += fmt::format("<details><summary>{} more, smaller</summary>\n<ol class=\"cards\">\n{}</ol></details>\n",
                       findings.size() - kCardsShown, folded);
  return out;
}

}  // namespace coalesce::tool
