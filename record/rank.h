// Which rank of a parallel job this process is, as the launcher's environment says: mpirun's, mpiexec's or srun's.
#pragma once

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace coalesce::record {

struct Rank {
  unsigned rank = 0, size = 1;
  unsigned on_host = 1;  // ranks of the job on this host, this one included
  std::string job;       // a name that the host's other jobs do not have; empty: the launcher gives none
};

// Variables by which a launcher tells its ranks. Slurm's batch script knows its tasks, too, but is none of them: only a
// step has a count of its own.
struct Launcher {
  const char *rank, *size, *on_host, *job;
};
inline constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"},  // Open MPI
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", ""},                                                   // MPICH
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_JOB_ID"},             // srun
};

inline std::optional<unsigned> unsigned_variable(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || end == text) return std::nullopt;
  return value;
}

// Empty: no job of several ranks started this process, or COALESCE_RANKS=0 says that it is to be taken alone.
inline std::optional<Rank> rank_of_job() {
  const char* const wanted = std::getenv("COALESCE_RANKS");
  if (wanted != nullptr && std::strcmp(wanted, "0") == 0) return std::nullopt;
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = unsigned_variable(launcher.rank), size = unsigned_variable(launcher.size);
    if (!rank || !size || *rank >= *size) continue;
    if (*size == 1) return std::nullopt;
    const char* const job = std::getenv(launcher.job);
    return Rank{*rank, *size, unsigned_variable(launcher.on_host).value_or(*size), job == nullptr ? "" : job};
  }
  return std::nullopt;
}

}  // namespace coalesce::record
