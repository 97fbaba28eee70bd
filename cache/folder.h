// The folder $XDG_CACHE_HOME/coalesce (or ~/.cache/coalesce), which all runs on this computer share: compiled programs
// (tool/cache.h) and native code of kernels (Entry files here). Everything in it appears by rename, so concurrent runs
// see whole entries or none. A process that adds an entry removes the least recently used ones above the limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace coalesce::cache {

inline constexpr uint64_t kLimit = 512ull << 20;  // bytes; a few hundred programs

// The name of an unfinished entry (for mkstemp); a finished one is renamed.
inline constexpr const char* kUnfinished = "new-XXXXXX";

// Empty: neither variable names an absolute path.
std::filesystem::path default_folder();

// The whole file; nothing where it cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path);

// A fresh folder; `pattern` ends in XXXXXX. Empty, and `error` set, where it cannot be made.
std::filesystem::path make_folder(const std::filesystem::path& pattern, std::error_code& error);

// Used now: trimmed last. No word where it has gone meanwhile.
void touch(const std::filesystem::path& entry);

// Removes files and folders of `folder`, the least recently used first, until at most `limit` bytes are left. Spares
// entries younger than ten minutes, which another run may be about to use. Removes unfinished entries after an hour:
// their writers were killed.
void trim(const std::filesystem::path& folder, uint64_t limit);

// Entries that are one file: bytes under a name, after their SHA-256. `find` returns them only if they are unchanged
// and no other user could have written them, because they may be code. It removes a file that was cut short or changed.
// Neither throws: a cache that fails is slow and nothing else.
std::optional<std::string> find(const std::filesystem::path& folder, const std::string& name);
bool keep(const std::filesystem::path& folder, const std::string& name, std::string_view bytes,
          uint64_t limit = kLimit);

}  // namespace coalesce::cache
