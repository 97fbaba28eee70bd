// A reduction that stopped on its way, as a file: where a killed run goes on, and what a part of a distributed run
// hands over.
#pragma once

#include <string>
#include <vector>

#include "reduce/array.h"
#include "reduce/reduction.h"

namespace coalesce::reduce {

// The input of a reduction. A state continues only where all of it is equal.
struct Identity {
  struct File {
    std::string path;  // as it was named
    uint64_t bytes = 0;
    int64_t modified = 0;  // nanoseconds since 1970
    bool operator==(const File&) const = default;
  };
  std::vector<File> files;
  std::string element;
  uint64_t count = 0;  // elements in all
  Needs needs;
  unsigned part = 1, parts = 1;
};

Identity identity_of(const std::vector<Array>& arrays, const Needs& needs, unsigned part, unsigned parts);

struct Checkpoint {
  Identity identity;
  State state;
};

// Writes beside `path` and renames, so that `path` has the former or the new content whole. What need not outlive the
// computer's fall is not `durable`, and saves a wait for the disk. Throws std::runtime_error.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint, bool durable = true);

// Throws std::runtime_error: not there, damaged (it ends with the SHA-256 of its content), another version.
Checkpoint read_checkpoint(const std::string& path);

// Empty if `found` is of the same reduction as `wanted`; else what differs. With `as_parts` the parts may differ, and
// the files' folders and times.
std::string difference(const Identity& wanted, const Identity& found, bool as_parts = false);

}  // namespace coalesce::reduce
