#include "tool/command/precompile.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cache/hash.h"
#include "toolchain/find.h"
#include "toolchain/process.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

// The source of which the header is all there is: clang looks for it each time the result is used.
constexpr const char* kNoSource = "/dev/null";

// Flags that bring files, which must not be read twice, or outputs of their own.
bool for_sources_only(const std::string& word) {
  constexpr std::string_view kStarts[] = {"-include", "--include", "-imacros",    "--imacros",    "-Wp,",     "-M",
                                          "-x",       "-o",        "-save-temps", "--save-temps", "-fmodule", "@"};
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&](std::string_view start) { return word.starts_with(start); });
}

}  // namespace

Precompiled precompile(std::vector<std::string> words, const std::vector<std::string>& flags,
                       const std::string& request, bool worthwhile, Cache& cache) {
  if (std::any_of(flags.begin(), flags.end(), for_sources_only)) return {};
  words.insert(words.end(), flags.begin(), flags.end());
  const std::vector<std::string> before = words;
  // The times of the headers are left out: the cache looks at their content.
  words.insert(words.end(), {"-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp"});
  for (const std::string& word : toolchain::clang_header_words()) words.push_back(word);
  cache::Sha256 hash;
  hash.field("coalesce precompile 1").field(request);
  for (const std::string& word : words) hash.field(word);
  const std::string key = hash.hex();
  if (const auto file = cache.find(key, kPrecompiled)) return {before, *file, cache.files(key)};
  if (!worthwhile && !cache.asked_before(key)) return {};
  const fs::path out = cache.scratch();
  const auto started = fs::file_time_type::clock::now();
  const fs::path file = out / kPrecompiled, rule = out / "deps";
  words.insert(words.end(), {"-MD", "-MF", rule.string(), "-o", file.string(), kNoSource});
  std::error_code error;
  if (toolchain::run(words).code != 0 || !fs::exists(file, error)) return {};
  std::vector<fs::path> files;
  for (const fs::path& read : parse_dependencies(read_file(rule).value_or("")))
    if (read != kNoSource) files.push_back(fs::absolute(read));
  if (files.empty()) return {};
  std::sort(files.begin(), files.end());
  return {before, cache.keep(key, out, files, started, kPrecompiled), files};
}

bool is_damaged(const Precompiled& header) {
  if (header.file.empty()) return false;
  std::vector<std::string> words = header.words;
  words.insert(words.end(), {"-Xclang", "-include-pch", "-Xclang", header.file.string(), "-fsyntax-only", kNoSource});
  if (toolchain::run(words).code == 0) return false;
  std::error_code ignored;
  fs::remove(header.file, ignored);
  return true;
}

}  // namespace coalesce::tool
