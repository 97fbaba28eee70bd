// Budgets: what a kernel may move, as requirements that CI holds a run to.
//
//   transpose_padded: shared_excess == 1; global_load_sectors <= 1.01 * compulsory
//   transpose.cu:9: global_store_sectors <= 131072
//   lanes_on >= 24
//
// In front of ": " stands what is meant: a POSIX extended regular expression that the demangled name of a kernel
// matches, or FILE:LINE; without it every kernel is meant. Behind it stand comparisons with ; between them, in the
// language of claims (claims.h) with plain names: every counter (docs/counters.md), and kBudgetQuantities. A budget
// file has such a text on each line; empty lines and lines that begin with # are left out. All launches of a kernel are
// added up. A requirement that nothing matches is violated, and so is one on a kernel that did not run to its end.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/figures/figures.h"

namespace coalesce::tool {

struct BudgetQuantity {
  std::string_view name, meaning;
  double (*value)(const machine::Counters& counters);
};
std::span<const BudgetQuantity> budget_quantities();

struct Requirement {
  std::string target;  // before ": "; empty: every kernel
  std::string text;    // "shared_excess == 1"
  std::string left, symbol, right;
};
// Throws Error (usage) that begins with `place` for what is no requirement: an unknown name, no comparison, a wrong
// regular expression.
std::vector<Requirement> parse_requirements(const std::string& text, const std::string& place);
// The same of a budget file's content; `name` is how messages call the file.
std::vector<Requirement> parse_budget(const std::string& content, const std::string& name);

struct Judgement {
  std::string kernel;  // or FILE:LINE; empty: nothing matched
  Requirement requirement;
  double left = 0, right = 0;
  bool holds = false;
  std::string problem;  // why it could not be judged; empty: it was
};
// For every requirement every kernel, or line, that it is about.
std::vector<Judgement> judge_budget(const std::vector<Requirement>& requirements, const Record& record);

// A budget file that the record exactly fulfils: an upper bound for every cost that each kernel has.
std::string budget_of(const Record& record);

}  // namespace coalesce::tool
