// The text of source files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

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

}  // namespace coalesce::tool
