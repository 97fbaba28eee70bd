// claims.toml: what documents claim of an experiment, and how a claim is judged by what was counted.
//
//   options = ["n", "block"]     options of `coalesce lab` that the program takes: n, block, stride, width, pad, lanes
//   separate = true              run each rung on its own (--rung), so that its copies are counted apart; default false
//   rungs = ["a", "b"]           with separate: which rungs there are
//   order = 1                    the experiment's place in the course, from 1; left out: last
//   compare = ["a", "b"]         the rungs that do the same work and so can be compared; left out: all
//
//   [chart]                      what the report shows of the experiment at first; may be left out
//   before = "a"                 two rungs,
//   after = "b"
//   measure = "moved_bytes"      and what of them (measures.cpp)
//
//   [[claim]]
//   text = "…"                   the claim, in our words
//   document = "course"          short name; docs/lab.md says which document that is
//   device = "Quadro P2000"      the device it speaks of; may be left out, as may all that follow
//   figure = 15                  the document's figure
//   unit = "times"               and its unit
//   value = "a.b / c.b"          what is counted beside it: an expression
//   holds = "value >= figure"    true: the claim holds; an expression. Left out: see needs
//   needs = "time"               why the machine cannot judge it: it speaks of "time", or of something else that only a
//                                "gpu" shows
//   gpu_value, gpu_holds         with needs: the expressions where the experiment ran on a GPU too
//   defaults_only = true         the figure is of the default sizes; other sizes cannot be compared with it
//   note = "…"                   what else is known, as the time that a GPU took
//
// Expressions: numbers, + - * /, comparisons (< <= > >= == !=, giving 1 or 0), and, or, parentheses, and names:
//   value, figure                the claim's
//   RUNG.QUANTITY                a rung's counter (docs/counters.md), or sectors, moved_bytes, shared_wavefronts,
//                                shared_requests, bank_conflicts, mean_active_lanes, launches, dynamic_shared_bytes, or
//                                with `separate` h2d_calls, h2d_bytes, d2h_calls, d2h_bytes, d2d_calls, d2d_bytes
//   RUNG.QUANTITY in gpu_value and gpu_holds besides: seconds and warm_seconds (medians with a cold and a warm cache),
//                                cycles (a step), span, h2d_seconds, d2h_seconds (with `separate`), gpu_COUNTER (read
//                                from the hardware)
//   RUNG.step[K].QUANTITY        of the K-th step (from 1), with active_warps, divergent_warps, conflict_degree besides
// A rung whose name is no identifier stands in single quotes: 'offset_copy<1>'.global_load_sectors.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/figures/experiment.h"

namespace coalesce::tool {

struct ClaimRule {
  Claim claim;
  std::string needs, gpu_value, gpu_holds;
  bool defaults_only = false;
};

struct ClaimFile {
  std::vector<std::string> options, rungs;
  std::optional<std::vector<std::string>> compare;
  bool separate = false;
  int order = 0;
  BeforeAfter chart;
  std::vector<ClaimRule> rows;
};

// Throws Error (environment) "claims.toml:12: …" for what is no TOML, unknown keys, wrong types, and expressions that
// do not parse or name an unknown quantity. `name` is how messages call the file.
ClaimFile parse_claims(std::string_view text, const std::string& name);

// Fills in value, verdict and reason. `defaults`: the program ran at its default sizes.
Claim judge(const ClaimRule& row, const std::vector<Rung>& rungs, bool defaults);

// A name in an expression.
struct Name {
  std::string rung;      // empty: `quantity` is "value" or "figure"
  std::size_t step = 0;  // from 1; 0: the whole rung
  std::string quantity;
};
// The expression's value. `lookup` may throw. Throws std::invalid_argument, which says where and what is wrong, for
// text that is no expression and for divisions by zero.
// `plain`: a name may stand alone, as a quantity without a rung.
double evaluate(std::string_view expression, const std::function<double(const Name&)>& lookup, bool plain = false);

}  // namespace coalesce::tool
