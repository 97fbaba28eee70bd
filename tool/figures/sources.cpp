#include "tool/figures/sources.h"

#include <fstream>

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kLargestFile = 4u << 20;

}  // namespace

const std::vector<std::string>* Sources::lines(const std::string& file, const fs::path& beside) {
  if (file.empty()) return nullptr;
  const auto [entry, fresh] = files_.try_emplace(beside.string() + '\n' + file);
  auto& [found, lines] = entry->second;
  if (!fresh) return found ? &lines : nullptr;
  const fs::path name = fs::path(file).filename();
  for (const fs::path& path : {fs::path(file), beside / fs::path(file), beside / name}) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestFile || error) continue;
    std::ifstream in(path);
    if (!in) continue;
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      lines.push_back(line);
    }
    found = true;
    return &lines;
  }
  return nullptr;
}

}  // namespace coalesce::tool
