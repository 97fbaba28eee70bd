// A kernel's source with what was counted at each line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tool/figures/record.h"

namespace coalesce::tool {

// Source files, read once. What is no readable regular file of at most 4 MB counts as not there.
class Sources {
 public:
  // The lines of `file` as the debug information names it: that path, or a file of that name in `beside` (a folder; may
  // be empty). Null: not there.
  const std::vector<std::string>* lines(const std::string& file, const std::filesystem::path& beside);

 private:
  std::map<std::string, std::pair<bool, std::vector<std::string>>> files_;
};

// A table per file of the lines that `lines` counted at, with a few lines around them: line number, counters, code.
// Numbers and code are shaded by their share of the kernel's largest. Without line information: one row per PTX line.
std::string source_html(const Lines& lines, const std::string& label, const std::filesystem::path& beside,
                        Sources& sources);

}  // namespace coalesce::tool
