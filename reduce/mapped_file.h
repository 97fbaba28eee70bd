// A file's bytes, for one pass over a file that may be larger than memory: mapped, and by copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coalesce::reduce {

// Read-only. A page that cannot be read (a file cut while it is read, a bad disk) reads as zeros and sets failed():
// whoever uses the bytes asks afterwards. Throws tool-independent std::runtime_error with path and reason.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  int64_t modified() const { return modified_; }  // nanoseconds since 1970
  const std::string& path() const { return path_; }

  // Copies bytes `begin` .. `begin` + `bytes` - 1. Of large blocks this is five times as fast as faults of single
  // pages.
  void read(uint64_t begin, void* to, std::size_t bytes) const;

  // Brings the bytes' pages into the mapping at once, which costs less than a fault for each. False where the kernel
  // (before Linux 5.14) or the file does not let it: then read() is to be used. forget() ends it.
  bool map(uint64_t begin, std::size_t bytes) const;
  // The bytes' pages leave the mapping; the page cache keeps them.
  void forget(uint64_t begin, std::size_t bytes) const;

  // True if any file lost a page so far.
  static bool failed();

 private:
  std::string path_;
  std::byte* data_ = nullptr;
  int file_ = -1;  // -1: read() takes the mapping
  uint64_t size_ = 0;
  int64_t modified_ = 0;
};

}  // namespace coalesce::reduce
