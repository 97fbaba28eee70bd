// `coalesce check`: the program on a machine that looks at every access, and what that found, each pair of source lines
// once.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/diagnostic.h"
#include "tool/options.h"
#include "tool/record.h"

namespace coalesce::tool {

// What a record's diagnostics say, those of the same kernel and source lines added up; first the ones found first.
struct Findings {
  std::vector<machine::Diagnostic> hazards;
  std::vector<machine::Diagnostic> notes;  // leaks, and what could not be looked at: no hazards
};
Findings findings(const Record& record);

// {"schema":"coalesce.check/1","device":{...},"program":...,"exit_code":n,"complete":bool,"launches":n,"kernels":n,
//  "findings":[{"kind","message","kernel","file","line","ptx_line","ptx_text","access","block","thread","memory","count",
//  "other":{"access","file","line","ptx_line","block","thread"},"notes"}],"notes":[text]}
nlohmann::ordered_json findings_json(const Findings& findings, const Record& record, int exit_code);

// The whole subcommand; the exit code.
int check(const CheckOptions& options);

}  // namespace coalesce::tool
