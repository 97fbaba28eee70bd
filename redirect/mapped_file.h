// The bytes of a program, a library or an archive, and a program's or library's as an ELF file.
#pragma once

#include <string_view>

#include "elf/file.h"

namespace coalesce::redirect {

// Without sections and segments where `bytes` are no file for x86-64.
inline elf::File program_of(std::string_view bytes) { return elf::File(bytes, EM_X86_64); }

// A file's bytes, mapped for as long as the object lives. Empty: it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const char* path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace coalesce::redirect
