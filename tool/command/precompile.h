// cuda_runtime.h as clang keeps it once it has read it: half of a small program's time to compile. The cache holds it
// for each set of flags and each side (device, host).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tool/command/cache.h"

namespace coalesce::tool {

struct Precompiled {
  std::vector<std::string> words;            // the compiler and its flags
  std::filesystem::path file;                // empty: there is none, and the compiler reads the header itself
  std::vector<std::filesystem::path> files;  // what it was made of
};

// `words`: the compiler's path and our flags for one side, without a source, an output and the header's `-include`;
// `flags`: those after them, some of which are the user's. `request` identifies the compiler and the environment. It
// takes as long as two small programs: what is not known to be `worthwhile` is made for the second call only. A
// compiler that fails is no error.
Precompiled precompile(std::vector<std::string> words, const std::vector<std::string>& flags,
                       const std::string& request, bool worthwhile, Cache& cache);

// Whether clang no longer reads it; then it is removed, as a disk that was full or lost power may have cut it short.
// For a compiler that has failed: the message is clang's, and the source need not be to blame.
bool is_damaged(const Precompiled& header);

}  // namespace coalesce::tool
