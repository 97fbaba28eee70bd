// The ranks of one parallel job that run this command beside each other: `mpirun -np 4 coalesce run ./app`. They meet
// in a folder, without MPI: each leaves its part there, and rank 0 (the leader) puts the parts together.
#pragma once

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/rank.h"

namespace coalesce::tool {

// While it lives, SIGTERM waits: launchers send it when a rank has failed, a second before they kill. What the others
// did can be said meanwhile.
class Terminations {
 public:
  Terminations();
  ~Terminations();
  Terminations(const Terminations&) = delete;
  Terminations& operator=(const Terminations&) = delete;

 private:
  sigset_t before_{};
};

class Ranks {
 public:
  // Null: this process is alone. Throws Error: the ranks are on several hosts and COALESCE_RANKS_FOLDER, a folder that
  // all of them see, is not set; or the folder cannot be made.
  static std::unique_ptr<Ranks> find();
  // The leader removes the meeting's files.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  bool leads() const { return mine_.rank == 0; }
  unsigned rank() const { return mine_.rank; }
  unsigned size() const { return mine_.size; }
  unsigned on_host() const { return mine_.on_host; }
  // A file of this meeting that only `rank` writes.
  std::filesystem::path file(const std::string& name, unsigned rank) const;
  std::filesystem::path file(const std::string& name) const { return file(name, mine_.rank); }

  // This rank's part: whole or not at all. Throws Error (environment).
  void give(const std::string& name, const std::string& text) const;
  // Another rank's part, or why there is none: the rank ended before it gave one, or had not started the command within
  // COALESCE_RANKS_TIMEOUT seconds (60) of this one's start, so that many that never start cost no more than one. Waits
  // for a rank that still runs as long as it runs, but not long once a SIGTERM has come (Terminations).
  struct Part {
    std::optional<std::string> text;
    std::string why;
  };
  Part take(const std::string& name, unsigned rank) const;
  // Whether another rank ran this command and is gone.
  bool ended(unsigned rank) const;

 private:
  Ranks(const record::Rank& mine, const std::filesystem::path& base);

  record::Rank mine_;
  std::filesystem::path folder_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int lock_ = -1;  // held while this process lives
};

}  // namespace coalesce::tool
