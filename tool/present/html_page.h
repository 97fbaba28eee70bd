// One page of the report: an experiment of the lab, or a kernel of a run, which is an experiment of one rung here.
#pragma once

#include <string>

#include "tool/figures/experiment.h"
#include "tool/figures/findings.h"
#include "tool/present/html_source.h"
#include "tool/present/html_table.h"

namespace coalesce::tool {

// "counted" by the machine that stands in for `device`.
Origin counted_on(const DeviceName& device);

// Rungs as rows, with the columns of the terminal's table. `links`: where each rung's name leads
// to ("#reduce"); empty strings lead nowhere. `each`: what a row is, "rung" or "kernel".
std::string ladder_html(const std::vector<Rung>& rungs, const std::vector<std::string>& links, const std::string& label,
                        const std::string& each);

// The documents' claims; `experiment` names a row's experiment if `named`.
struct ClaimRow {
  const Claim* claim;
  std::string experiment, link;
};
std::string claims_html(const std::vector<ClaimRow>& claims, bool named, const std::string& label);

// Everything below the page's heading. `id` begins all ids within.
// `most_waste`: the waste that is shaded in full.
std::string page_html(const Experiment& experiment, const std::string& id, HtmlSources& sources, double most_waste);
// The largest waste of any line: the scale on which the sources of all these rungs are shaded.
double most_wasted_cycles(const std::vector<Rung>& rungs);

// "unroll4_shared moves 7.94 times fewer sectors than neighbored_global", with the terminal's decimals.
std::string comparison_html(const Comparison& comparison);

// The id of a page's only rung.
std::string only_rung_id(const std::string& page, const Rung& rung);

// The rungs' figures for the page's data.
nlohmann::ordered_json page_json(const Experiment& experiment, const std::string& id);

}  // namespace coalesce::tool
