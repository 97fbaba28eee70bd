// Compiled programs, kept by content in the folder that cache/folder.h describes.
//
// Two steps, because which headers a source includes is known only after compiling it:
//   <request>.files           the files that the compiler read, one a line; <request> hashes source, flags and compiler
//   <content>/program         the executable, or header: what precompile.h is about; <content> hashes the request and
//   what those files hold now
// A header that has changed gives another <content>, and so a compilation. Everything appears by rename, so concurrent
// runs see whole entries or none; two that compile the same thing at once both succeed and one result stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/folder.h"

namespace coalesce::tool {

inline constexpr const char *kProgram = "program", *kPrecompiled = "header";

class Cache {
 public:
  // Falls back to a private temporary folder, removed in the end, where the wished one cannot be written.
  explicit Cache(std::filesystem::path folder = cache::default_folder(), uint64_t limit_bytes = cache::kLimit);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  std::optional<std::filesystem::path> find(const std::string& request, const char* what = kProgram);
  // The files that the compiler read for it; none if it is not kept.
  std::vector<std::filesystem::path> files(const std::string& request) const;

  // Whether the same was asked before, by this run or another.
  bool asked_before(const std::string& request);

  // A fresh folder to compile in, on the cache's file system.
  std::filesystem::path scratch();
  // Takes `scratch`/`what` in and returns where it is now. `files`: what the compiler read. A program whose sources
  // were changed after `started` is used once and not kept: what they held when they were read is unknown.
  std::filesystem::path keep(const std::string& request, const std::filesystem::path& scratch,
                             const std::vector<std::filesystem::path>& files, std::filesystem::file_time_type started,
                             const char* what = kProgram);

 private:
  std::optional<std::string> content(const std::string& request, const std::vector<std::filesystem::path>& files) const;
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> scratches_;  // to remove in the end
  bool temporary_ = false;
  uint64_t limit_;
};

using cache::read_file;

// The files in a makefile rule as compilers write it with -MD ("out: a.cu b.h \<newline> c\ d.h").
std::vector<std::filesystem::path> parse_dependencies(const std::string& rule);

}  // namespace coalesce::tool
