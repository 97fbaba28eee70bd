// `coalesce check`: the program on a machine that looks at every access.
#pragma once

#include "tool/command/options.h"

namespace coalesce::tool {

// The whole subcommand; the exit code.
int check(const CheckOptions& options);

}  // namespace coalesce::tool
