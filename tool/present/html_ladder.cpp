#include <fmt/format.h>

#include "tool/present/html_parts.h"
#include "tool/present/html_text.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using machine::Counters;

bool touches_global(const Counters& c) { return moved_bytes(c) != 0; }

HtmlCell bar_cell(uint64_t value, bool applies) {
  return applies ? HtmlCell{grouped(value), static_cast<double>(value)} : HtmlCell{};
}

HtmlCell ratio_cell(uint64_t numerator, uint64_t denominator) {
  const auto value = ratio(numerator, denominator);
  return {value ? figure(*value) : std::string()};
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

}  // namespace

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

}  // namespace coalesce::tool
