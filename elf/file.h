// A 64-bit ELF file as bytes: programs, libraries, and machine code for GPUs. No offset in it is trusted.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace coalesce::elf {

// A copy of the T at `offset`; none where the bytes do not reach that far.
template <typename T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The part of [offset, offset + size) that exists.
inline std::string_view slice(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset > bytes.size() ? std::string_view() : bytes.substr(offset, size);
}

// The zero-terminated string at `offset`; empty where it does not end inside.
inline std::string_view string_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const auto end = table.find('\0', offset);
  return end == std::string_view::npos ? std::string_view() : table.substr(offset, end - offset);
}

inline bool is_elf(std::string_view bytes) { return bytes.starts_with(std::string_view(ELFMAG, SELFMAG)); }

struct Symbol {
  std::string_view name;
  Elf64_Sym entry;
};

class File {
 public:
  // `bytes` must outlive this object. Anything but a little-endian 64-bit file has no sections and no segments, nor has
  // one for another processor (EM_X86_64, ...; EM_NONE: any).
  explicit File(std::string_view bytes, uint16_t processor = EM_NONE) : bytes_(bytes) {
    const auto header = read_at<Elf64_Ehdr>(bytes, 0);
    if (!header || !is_elf(bytes) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || (processor != EM_NONE && header->e_machine != processor))
      return;
    header_ = *header;
    if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) return;
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = read_at<Elf64_Shdr>(bytes, header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) break;
      sections_.push_back(*section);
    }
    if (header_.e_shstrndx < sections_.size()) names_ = content(sections_[header_.e_shstrndx]);
  }

  std::string_view bytes() const { return bytes_; }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name(const Elf64_Shdr& section) const { return string_at(names_, section.sh_name); }
  std::string_view content(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? std::string_view() : slice(bytes_, section.sh_offset, section.sh_size);
  }
  const Elf64_Shdr* find(std::string_view wanted) const {
    for (const Elf64_Shdr& section : sections_)
      if (name(section) == wanted) return &section;
    return nullptr;
  }

  std::vector<Elf64_Phdr> segments() const {
    std::vector<Elf64_Phdr> all;
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) return all;
    for (uint64_t i = 0; i < header_.e_phnum; ++i)
      if (const auto segment = read_at<Elf64_Phdr>(bytes_, header_.e_phoff + i * sizeof(Elf64_Phdr)))
        all.push_back(*segment);
    return all;
  }

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

}  // namespace coalesce::elf
