// The part of an experiment that runs on a GPU.
#pragma once

#include "tool/claims.h"
#include "tool/experiment.h"

namespace coalesce::tool {

// Runs `words` on the GPU, once for times and once for counters, and gives every rung of the experiment its Hardware.
void run_on_gpu(Experiment& experiment, const ClaimFile& claims, const std::vector<std::string>& words,
                const Layout& layout);

// The launches of the record that belong to the rung, added up; without a rung's name: all. `steps`: kernels that stop
// after some steps are no part of it.
Hardware hardware_of(const Record& record, const std::string& rung);

}  // namespace coalesce::tool
