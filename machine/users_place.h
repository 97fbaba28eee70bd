// Which of the places that an instruction has belongs to the user.
#pragma once

#include <string_view>
#include <vector>

#include "machine/diagnostic.h"

namespace coalesce::machine {

// Whether the file belongs to a toolkit or to the system, so that no user changes it.
bool is_system_file(std::string_view path);

// The innermost of `place` and the calls that it was inlined to (from the inside out) which is in no such file; `place`
// where all are.
const SourcePlace& users_place(const SourcePlace& place, const std::vector<SourcePlace>& inlined_at);

}  // namespace coalesce::machine
