// Source text of C++ and CUDA as markup: escaped, with a class for each kind of word.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tool/figures/sources.h"

namespace coalesce::tool {

// Each line as markup of spans: "c" comment, "s" string or character, "n" number, "p" preprocessor, "k" keyword, "b"
// what CUDA adds. Comments may go over several lines. Text of a line after its first 400 bytes is left out.
std::vector<std::string> coloured(const std::vector<std::string>& lines);

// The files of the sources of a report, coloured once.
class HtmlSources {
 public:
  // As Sources::lines().
  const std::vector<std::string>* lines(const std::string& file, const std::filesystem::path& beside);

 private:
  Sources sources_;
  std::map<const std::vector<std::string>*, std::vector<std::string>> coloured_;
};

}  // namespace coalesce::tool
