#include <fmt/format.h>

#include "tool/figures/metrics.h"
#include "tool/present/html_pictures.h"
#include "tool/present/html_table.h"
#include "tool/present/report_page.h"

namespace coalesce::tool {
namespace {

const BankQuestion kFirstBanks{.stride = 8, .width = 4, .pad = 0, .lanes = 32, .kind = SharedAccess::load};
const SectorQuestion kFirstSectors{.stride = 2, .offset = 0, .width = 4};

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
      "and every time. The machine has no clock: what is <b>timed</b> was timed on the GPU named beside it.</p>\n"
      "<ul><li>A <b>request</b> is one warp instruction that accesses memory.</li>\n"
      "<li>A <b>sector</b> is 32 aligned bytes of global or local memory. <b>Moved</b> are whole sectors; "
      "<b>excess</b> is how many times the fewest sectors that hold the distinct bytes asked for (at least one a "
      "request), and <b>wasted</b> is what is moved beyond them.</li>\n"
      "<li>A <b>pass</b> over the 32 banks of shared memory is a wavefront; <b>conflicts</b> are the passes above what "
      "the same bytes need without conflicts.</li>\n"
      "<li><b>Lanes on</b>: of 32, mean over the warp instructions executed.</li></ul>\n" +
          scroll_html("counters", table.html()),
      true};
}

}  // namespace

void add_aids(std::vector<Section>& sections) {
  sections.push_back(banks_section());
  sections.push_back(sectors_section());
  sections.push_back(words_section());
}

}  // namespace coalesce::tool
