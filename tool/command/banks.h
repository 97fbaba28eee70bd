// `coalesce banks`: which banks of shared memory the lanes of a warp meet, by the machine's own rule, without a
// program.
#pragma once

#include "tool/command/options.h"

namespace coalesce::tool {

// The whole subcommand; the exit code.
int banks(const BankOptions& options);

}  // namespace coalesce::tool
