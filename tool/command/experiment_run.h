// Runs experiments of the lab, on the machine and on a GPU where there is one.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "tool/command/gpu.h"
#include "tool/command/options.h"
#include "tool/figures/claims.h"
#include "tool/figures/experiment.h"

namespace coalesce::tool {

// The experiments there are, by name, not run. Throws Error (environment) where the installation has none.
std::vector<Experiment> find_experiments(const std::filesystem::path& lab);

// The place where an experiment runs: always the machine, and a GPU if there is one here.
struct Target {
  std::optional<Gpu> gpu;
  Limits limits;  // of the GPU
};

// Compiles and runs it, and fills in the rest. Throws Error as compile() and execute() do, and (environment) for a
// claims.toml that cannot be read.
void run_experiment(Experiment& experiment, const LabOptions& options, const Target& target, const Layout& layout,
                    Cache& cache);

// Runs `words` on the GPU, once for times and once for counters, and gives every rung of the experiment its Hardware.
void run_on_gpu(Experiment& experiment, const ClaimFile& claims, const std::vector<std::string>& words,
                const Layout& layout);

}  // namespace coalesce::tool
