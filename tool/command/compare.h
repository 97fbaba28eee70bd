// `coalesce compare`: two runs of one program, launch by launch.
#pragma once

#include "tool/command/options.h"

namespace coalesce::tool {

// The whole subcommand; the exit code.
int compare(const CompareOptions& options);

}  // namespace coalesce::tool
