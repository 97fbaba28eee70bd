// `coalesce run`: a program on the machine or on a GPU, and what it moved.
#pragma once

#include "tool/command/options.h"

namespace coalesce::tool {

// The whole subcommand; the exit code.
int run(const RunOptions& options);

}  // namespace coalesce::tool
