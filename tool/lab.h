// `coalesce lab`: experiments compiled, run on the machine, and their rungs compared.
//
// An experiment is a folder lab/<name> with <name>.cu, an ordinary CUDA program:
//   - the first sentence of the comment it begins with says what it shows;
//   - it takes --n N and --block B where they mean something to it;
//   - every kernel it launches is a rung, in order of launch, and the kernel's name is the rung's;
//   - it prints one line per rung that starts with the rung's name and ends in `ok` or holds the word `wrong`, and
//   exits with 1
//     when a result is wrong.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tool/figures.h"
#include "tool/options.h"

namespace coalesce::tool {

struct Rung {
  std::string name;
  machine::Counters counters;
  enum class Result { unknown, right, wrong } result = Result::unknown;
};

// The rungs of a run. `output`: what the experiment printed.
std::vector<Rung> rungs(const Record& record, const std::string& output);

// "unroll4_shared moves\n    4.1 times fewer sectors than neighbored_global ...", for each quantity in which rungs
// differ.
void print_comparison(std::ostream& out, const std::vector<Rung>& ladder, bool colour);

// The whole subcommand; the exit code.
int lab(const LabOptions& options);

}  // namespace coalesce::tool
