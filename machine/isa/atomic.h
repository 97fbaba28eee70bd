// Which types an atomic operation has in PTX. ptxas refuses all others, so that what they would do is nobody's promise.
#pragma once

#include <string_view>

namespace coalesce::machine::isa {

// `operation` and `type` as PTX spells them: "add", "u32".
bool is_atomic_form(std::string_view operation, std::string_view type);

}  // namespace coalesce::machine::isa
