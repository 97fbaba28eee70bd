// `coalesce lab`: experiments compiled, run on the machine, and shown (figures/experiment.h says what an experiment
// is).
#pragma once

#include "tool/command/options.h"

namespace coalesce::tool {

// The whole subcommand; the exit code.
int lab(const LabOptions& options);

}  // namespace coalesce::tool
