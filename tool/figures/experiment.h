// An experiment of the lab and all that one run of it found out: what `coalesce lab` computes once and every printer
// (table, JSON, CSV, Markdown, HTML) reads. Nothing here is formatted, and nothing is computed again by a printer.
//
// An experiment is a folder lab/<name> with two files.
// <name>.cu, an ordinary CUDA program:
//   - the first sentence of the comment it begins with says what it shows;
//   - it takes --n N and --block B where they mean something to it, further options of its own, and --rung NAME;
//   - every kernel it launches is a rung, in order of launch, and the kernel's name is the rung's (with its template
//     arguments where one template is several rungs);
//   - the comment before a kernel says what changed from the rung above and, after the word "Counters:", what that
//     should do to the counters;
//   - launch number k (0, 1, 2, …) of a kernel <rung>_steps executes the first k steps of that rung, so that the
//     difference of two launches is what one step costs (Step);
//   - it prints one line per rung that starts with the rung's name and ends in `ok` or holds the word `wrong`, and
//     exits with 1 when a result is wrong.
// claims.toml: what the documents claim (claims.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tool/figures/figures.h"
#include "tool/figures/hardware.h"
#include "tool/figures/record.h"

namespace coalesce::tool {

// One step of a rung's loop, over all blocks of the launch that was taken apart (often one block only).
struct Step {
  std::string name;              // "1", "2", …
  uint64_t active_warps = 0;     // warps that wrote a sum in this step
  uint64_t divergent_warps = 0;  // warps whose lanes parted at a branch of this step
  double conflict_degree = 0;    // wavefronts a shared request takes on average: 2.0 is a 2-way conflict; 0: no request
  machine::Counters counters;    // of this step alone
};

struct Rung {
  std::string name;
  machine::Counters counters;  // all launches of it, added up
  enum class Result { unknown, right, wrong } result = Result::unknown;
  std::string changed;   // what changed from the rung above, from the comment in the source; may be empty
  std::string expected;  // what that should do to the counters; may be empty
  uint64_t launches = 0;
  std::array<uint32_t, 3> grid{}, block{};  // of the first launch
  uint64_t shared_bytes = 0;                // dynamic, of the first launch
  std::string fault;                        // empty: ran to its end
  Lines lines;                              // per source line, in source order
  std::vector<Step> steps;                  // empty: not taken apart
  std::optional<Copies> copies;             // only where rungs run one by one (ClaimFile::separate)
  std::optional<Hardware> hardware;         // only where it also ran on a GPU
  std::optional<double> estimated_seconds;  // all launches of it; only where asked for, and all have an estimate
};

// Bytes a second; 0: not timed, or nothing was moved.
double bandwidth(const Rung& rung);

enum class Verdict { holds, does_not_hold, cannot_be_judged };
const char* verdict_text(Verdict verdict);  // "holds", "does not hold", "cannot be judged here"
struct Claim;
std::string verdict_text(const Claim& claim);  // the same, with " (estimated)" where it is

struct Claim {
  std::string text;              // in our words
  std::string document;          // short name
  std::string device;            // the device the document speaks of; may be empty
  std::optional<double> figure;  // the document's
  std::string unit;              // of the figure
  std::string value_expression;  // as in claims.toml; empty: no figure to count
  std::string holds_expression;
  std::string note;             // what else is known, e.g. what a GPU measured; may be empty
  std::optional<double> value;  // what was counted; empty: could not be
  Verdict verdict = Verdict::cannot_be_judged;
  std::string reason;      // why it cannot be judged; else empty
  bool measured = false;   // value and verdict are a GPU's, not counted
  bool estimated = false;  // they rest on estimates of time
};

// "unroll4_shared moves 7.94 times fewer sectors than neighbored_global".
struct Comparison {
  std::string rung;  // the better one
  std::string verb;  // "moves", "takes", "executes"
  std::string noun;  // "sectors", "shared wavefronts", "warp instructions (of PTX)"
  std::string than;  // the other rung
  double times = 1;  // > 1
};

// Two rungs that show what an experiment is about, and what of them (measures.h). Empty: none.
struct BeforeAfter {
  std::string before, after, measure;
};

struct Experiment {
  std::string name, title;
  int order = 0;  // of the lab, from 1; 0: after the others
  BeforeAfter chart;
  std::filesystem::path source;    // the .cu
  std::vector<std::string> sizes;  // the words given to the program: "--n", "1000"; empty: its own defaults
  // The results of a run; empty before it.
  DeviceName device;
  std::vector<Rung> rungs;
  std::vector<Comparison> comparisons;
  std::vector<Claim> claims;
  std::string output;  // what the program printed
  int exit_code = 0;   // as the command's
  bool interrupted = false;
  double seconds = 0;  // this computer's time for it; says nothing about a GPU
  // With a GPU:
  std::string gpu;                 // its name; empty: not run on one
  Limits limits;                   // what it can do at best
  bool every_counter = false;      // show also the counters on which both agree
  std::vector<std::string> notes;  // what could not be measured, and why
};

// The rungs of a run, as the record has them. `output`: what the experiment printed.
std::vector<Rung> rungs(const Record& record, const std::string& output);

// One rung of its own (ClaimFile::separate): all kernels of the record, if there are any, are that rung.
Rung whole_rung(const Record& record, const std::string& name, const std::string& output);

// The best rung against the first and against the one above it, for sectors, shared wavefronts and instructions: six
// comparisons at most.
std::vector<Comparison> compare(const std::vector<Rung>& ladder);

}  // namespace coalesce::tool
