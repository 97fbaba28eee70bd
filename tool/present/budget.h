// A budget's judgements, as a table.
#pragma once

#include <iosfwd>
#include <vector>

#include "tool/figures/budget.h"
#include "tool/present/summary.h"

namespace coalesce::tool {

// The violated requirements, and by how much; then how many requirements hold.
void print_budget(std::ostream& out, const std::vector<Judgement>& judgements, const SummaryStyle& style);

// "global_load_sectors <= 100: 120 is more than 100", or why it could not be judged.
std::string violation_text(const Judgement& judgement);

}  // namespace coalesce::tool
