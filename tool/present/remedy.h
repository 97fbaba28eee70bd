// Remedies of hazards, each a sentence.
#pragma once

#include <string>

#include "machine/diagnostic.h"

namespace coalesce::tool {

// Empty: the diagnostic's own notes say it, as those of races do.
std::string remedy_of(const machine::Diagnostic& d);

}  // namespace coalesce::tool
