// A 64-bit ELF file as bytes: what redirecting needs of it. No offset in it is trusted.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coalesce::redirect {

// A copy of the T at `offset`; none where the bytes do not reach that far.
template <typename T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
// The part of [offset, offset + size) that exists.
std::string_view slice(std::string_view bytes, uint64_t offset, uint64_t size);
// The zero-terminated string at `offset`; empty where it does not end inside.
std::string_view string_at(std::string_view table, uint64_t offset);

struct Symbol {
  std::string_view name;
  Elf64_Sym entry;
};

class ElfFile {
 public:
  // `bytes` must outlive this object. Anything but a little-endian 64-bit x86 file has no sections and no segments.
  explicit ElfFile(std::string_view bytes);

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name(const Elf64_Shdr& section) const;
  std::string_view content(const Elf64_Shdr& section) const;
  const Elf64_Shdr* find(std::string_view name) const;
  std::vector<Elf64_Phdr> segments() const;
  std::string_view bytes() const { return bytes_; }

  // Calls `visit(Symbol)` for each symbol of a table (.symtab, .dynsym).
  template <typename Visit>
  void symbols(const Elf64_Shdr& table, Visit visit) const {
    if (table.sh_link >= sections_.size()) return;
    const std::string_view entries = content(table), names = content(sections_[table.sh_link]);
    for (uint64_t at = 0; const auto entry = read_at<Elf64_Sym>(entries, at); at += sizeof(Elf64_Sym))
      visit(Symbol{string_at(names, entry->st_name), *entry});
  }

 private:
  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::string_view names_;
};

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
