// Findings, hazards and budgets for CI and editors: SARIF 2.1.0, JUnit XML, annotations of GitHub, a compiler's lines.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tool/figures/budget.h"
#include "tool/figures/findings.h"
#include "tool/figures/hazards.h"

namespace coalesce::tool {

// The output on standard error for each notice: nothing, an annotation of GitHub, a line as compilers write it.
enum class LineFormat { none, github, gcc };

// One thing to tell, at a line of the source where it has one.
struct Notice {
  enum class Level { note, warning, error } level = Level::note;
  std::string rule;   // "stores", "race_shared", "budget": what kind it is
  std::string file;   // empty: it has no place
  uint32_t line = 0;  // from 1; 0: not known
  std::string kernel, text;
};
// A kernel's waste is a warning, a stopped kernel and a violated requirement an error.
std::vector<Notice> notices_of(const Record& record, const std::vector<Judgement>& judgements);
// Hazards are errors.
std::vector<Notice> notices_of(const Hazards& hazards);

// Files below the current folder are named relative to it, as code scanning expects them.
std::string sarif(const std::vector<Notice>& notices, const std::string& version);
// "::error file=a.cu,line=9,title=...::text", a line for each; GitHub shows at most ten of a kind.
std::string github_annotations(const std::vector<Notice>& notices);
// "a.cu:9: warning: kernel: text", a line for each, as editors read them; "coalesce: error: ..." without a place.
std::string gcc_lines(const std::vector<Notice>& notices);

// A test case for the program, one for each kernel, one for each judgement of a requirement. `code`: the exit code.
std::string junit(const Record& record, const std::vector<Notice>& notices, const std::vector<Judgement>& judgements,
                  int code);

}  // namespace coalesce::tool
