#include "tool/command/cache.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "cache/folder.h"
#include "cache/hash.h"
#include "tool/figures/error.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

fs::path make_folder(const fs::path& pattern) {
  std::error_code error;
  const fs::path folder = cache::make_folder(pattern, error);
  if (error)
    throw Error(Exit::environment,
                "cannot make a folder in " + pattern.parent_path().string() + ": " + error.message());
  return folder;
}

}  // namespace

std::vector<fs::path> parse_dependencies(const std::string& rule) {
  std::vector<fs::path> files;
  const auto colon = rule.find(": ");
  std::string name;
  const auto finish = [&] {
    if (!name.empty()) files.emplace_back(name);
    name.clear();
  };
  for (std::size_t i = colon == std::string::npos ? rule.size() : colon + 2; i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (rule[i] == '\\' && (next == ' ' || next == '#' || next == '\\')) {
      name += next, ++i;
    } else if (rule[i] == '\\' && next == '\n') {
      finish(), ++i;
    } else if (rule[i] == '$' && next == '$') {
      name += '$', ++i;
    } else if (rule[i] == ' ' || rule[i] == '\t') {
      finish();
    } else if (rule[i] == '\n') {
      break;  // further rules are phony targets
    } else {
      name += rule[i];
    }
  }
  finish();
  return files;
}

Cache::Cache(fs::path folder, uint64_t limit_bytes) : folder_(std::move(folder)), limit_(limit_bytes) {
  std::error_code error;
  if (!folder_.empty()) fs::create_directories(folder_, error);
  if (folder_.empty() || error || access(folder_.c_str(), W_OK | X_OK) != 0) {
    folder_ = make_folder(fs::temp_directory_path() / "coalesce-XXXXXX");
    temporary_ = true;
  }
}

Cache::~Cache() {
  std::error_code ignored;
  for (const fs::path& scratch : scratches_) fs::remove_all(scratch, ignored);
  if (temporary_) fs::remove_all(folder_, ignored);
}

std::optional<std::string> Cache::content(const std::string& request, const std::vector<fs::path>& files) const {
  cache::Sha256 hash;
  hash.field(request);
  for (const fs::path& file : files) {
    const auto text = read_file(file);
    if (!text) return std::nullopt;
    hash.field(file.string()).field(*text);
  }
  return hash.hex();
}

std::vector<fs::path> Cache::files(const std::string& request) const {
  std::vector<fs::path> result;
  std::istringstream in(read_file(folder_ / (request + ".files")).value_or(""));
  for (std::string file; std::getline(in, file);) result.emplace_back(file);
  return result;
}

std::optional<fs::path> Cache::find(const std::string& request, const char* what) {
  const std::vector<fs::path> read = files(request);
  if (read.empty()) return std::nullopt;
  const auto name = content(request, read);
  if (!name) return std::nullopt;
  const fs::path entry = folder_ / *name;
  std::error_code error;
  if (!fs::exists(entry / what, error)) return std::nullopt;
  cache::touch(entry);
  return entry / what;
}

bool Cache::asked_before(const std::string& request) {
  const fs::path note = folder_ / (request + ".asked");
  std::error_code error;
  if (fs::exists(note, error)) return true;
  std::ofstream(note).flush();
  return false;
}

fs::path Cache::scratch() {
  scratches_.push_back(make_folder(folder_ / cache::kUnfinished));
  return scratches_.back();
}

fs::path Cache::keep(const std::string& request, const fs::path& scratch, const std::vector<fs::path>& files,
                     fs::file_time_type started, const char* what) {
  std::error_code error;
  for (const fs::path& file : files) {
    const auto changed = fs::last_write_time(file, error);
    if (error || changed >= started) return scratch / what;
  }
  const auto name = content(request, files);
  if (files.empty() || !name) return scratch / what;
  // Names with line breaks cannot stand in the list; such a program is compiled each time.
  std::string list;
  for (const fs::path& file : files) {
    if (file.string().find('\n') != std::string::npos) return scratch / what;
    list += file.string() + '\n';
  }
  const fs::path entry = folder_ / *name;
  {
    std::ofstream out(scratch / "files", std::ios::binary);
    out << list;
    if (!out.flush()) return scratch / what;
  }
  fs::rename(scratch / "files", folder_ / (request + ".files"), error);
  if (error) return scratch / what;
  // From here on the entry is shared: only the program goes in.
  for (const auto& file : fs::directory_iterator(scratch, error)) {
    std::error_code ignored;
    if (file.path().filename() != what) fs::remove_all(file.path(), ignored);
  }
  fs::rename(scratch, entry, error);
  if (error) {
    // Another run was quicker (the entry is there, and as good), or the disk is full (ours still runs).
    std::error_code ignored;
    return fs::exists(entry / what, ignored) ? entry / what : scratch / what;
  }
  std::erase(scratches_, scratch);
  cache::trim(folder_, limit_);
  return entry / what;
}

}  // namespace coalesce::tool
