#include "cache/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "cache/hash.h"

namespace coalesce::cache {
namespace fs = std::filesystem;
namespace {

constexpr auto kInUse = std::chrono::minutes(10);
constexpr auto kAbandoned = std::chrono::hours(1);  // what is being made takes seconds
constexpr std::size_t kDigits = 64;                 // of a SHA-256
constexpr uint64_t kEmpty = 4096;                   // what an empty file counts, so that there is an end to them, too

uint64_t size_of(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return fs::file_size(path, error);
  uint64_t total = 0;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const auto size = it->is_regular_file(ignored) ? it->file_size(ignored) : 0;
    if (!ignored) total += size;
  }
  return total;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

fs::path default_folder() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg && *xdg == '/') return fs::path(xdg) / "coalesce";  // the standard says to ignore relative ones
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? fs::path(home) / ".cache/coalesce" : fs::path();
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) return std::nullopt;
  return text.str();
}

fs::path make_folder(const fs::path& pattern, std::error_code& error) {
  std::string text = pattern.string();
  if (mkdtemp(text.data())) return text;
  error = {errno, std::generic_category()};
  return {};
}

void touch(const fs::path& entry) {
  std::error_code ignored;
  fs::last_write_time(entry, fs::file_time_type::clock::now(), ignored);
}

void trim(const fs::path& folder, uint64_t limit) {
  struct Item {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  const std::string_view unfinished = std::string_view(kUnfinished).substr(0, std::string_view(kUnfinished).find('X'));
  const auto now = fs::file_time_type::clock::now();
  std::vector<Item> items;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const auto used = it->last_write_time(ignored);
    if (ignored) continue;  // another run's, gone meanwhile
    if (it->path().filename().native().starts_with(unfinished) && used < now - kAbandoned) {
      fs::remove_all(it->path(), ignored);
      continue;
    }
    const uint64_t size = size_of(it->path());
    items.push_back({used, size > 0 ? size : kEmpty, it->path()});
    total += items.back().bytes;
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.used < b.used; });
  const auto young = now - kInUse;
  for (const Item& item : items) {
    if (total <= limit || item.used >= young) break;
    std::error_code ignored;
    fs::remove_all(item.path, ignored);
    total -= item.bytes;
  }
}

std::optional<std::string> find(const fs::path& folder, const std::string& name) {
  struct stat s{};
  if (lstat((folder / name).c_str(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() ||
      (s.st_mode & (S_IWGRP | S_IWOTH)))
    return std::nullopt;
  std::optional<std::string> text = read_file(folder / name);
  if (!text) return std::nullopt;
  if (text->size() < kDigits ||
      Sha256().add(std::string_view(*text).substr(kDigits)).hex() != std::string_view(*text).substr(0, kDigits)) {
    std::error_code ignored;
    fs::remove(folder / name, ignored);
    return std::nullopt;
  }
  touch(folder / name);
  text->erase(0, kDigits);
  return text;
}

bool keep(const fs::path& folder, const std::string& name, std::string_view bytes, uint64_t limit) {
  std::error_code error;
  if (folder.empty()) return false;
  fs::create_directories(folder, error);
  std::string fresh = (folder / kUnfinished).string();
  const int file = mkostemp(fresh.data(), O_CLOEXEC);
  if (file < 0) return false;
  const bool whole = write_all(file, Sha256().add(bytes).hex()) && write_all(file, bytes);
  if (close(file) != 0 || !whole || std::rename(fresh.c_str(), (folder / name).c_str()) != 0) {
    unlink(fresh.c_str());
    return false;
  }
  trim(folder, limit);
  return true;
}

}  // namespace coalesce::cache
