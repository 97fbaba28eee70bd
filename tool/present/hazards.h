// `coalesce check` as text and as JSON.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "tool/figures/hazards.h"

namespace coalesce::tool {

// Prints hazards like a compiler's errors, and below them their number and that of launches and kernels.
void print_hazards(std::ostream& out, const Hazards& hazards, const Record& record, bool colour);

// {"schema":"coalesce.check/1","device":{...},"program":...,"exit_code":n,"complete":bool,"launches":n,"kernels":n,
//  "findings":[{"kind","message","kernel","file","line","ptx_line","ptx_text","access","block","thread","memory","count",
//  "other":{"access","file","line","ptx_line","block","thread"},"notes"}],"notes":[text]}
nlohmann::ordered_json hazards_json(const Hazards& hazards, const Record& record, int exit_code);

}  // namespace coalesce::tool
