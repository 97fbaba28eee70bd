// `coalesce check` as text and as JSON.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "tool/figures/hazards.h"

namespace coalesce::tool {

inline constexpr std::size_t kShownFindings = 20;

// Prints up to kShownFindings hazards like a compiler's errors, then warnings and what could not be checked, and below
// them their numbers and those of launches and kernels.
void print_hazards(std::ostream& out, const Hazards& hazards, const Record& record, bool colour);

// True: everything that the program did was looked at.
bool is_complete(const Hazards& hazards, const Record& record);

// "coalesce.check/2", described by docs/check.schema.json.
nlohmann::ordered_json hazards_json(const Hazards& hazards, const Record& record, int exit_code);
// The same for a run that has not ended: nothing found, not complete. It stays in the file if the command is killed.
nlohmann::ordered_json unfinished_json(const std::string& program);

}  // namespace coalesce::tool
