// Names for the host's calls in diagnostics: lines and functions, as far as the program has symbols (-g).
#pragma once

#include <string>
#include <vector>

#include "machine/diagnostic.h"

namespace coalesce::tool {

// Asks addr2line (binutils). The innermost call of the user's becomes the place of a finding of the host; every trace
// becomes a note. `foreign`: folders of headers that are not the user's.
void name_calls(std::vector<machine::Diagnostic>& diagnostics, const std::vector<std::string>& foreign);

}  // namespace coalesce::tool
