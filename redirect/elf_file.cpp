#include "redirect/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace coalesce::redirect {

std::string_view slice(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset > bytes.size() ? std::string_view() : bytes.substr(offset, size);
}

std::string_view string_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const auto end = table.find('\0', offset);
  return end == std::string_view::npos ? std::string_view() : table.substr(offset, end - offset);
}

ElfFile::ElfFile(std::string_view bytes) : bytes_(bytes) {
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || !bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64) {
    return;
  }
  header_ = *header;
  if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) return;
  for (uint64_t i = 0; i < header_.e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(bytes, header_.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) break;
    sections_.push_back(*section);
  }
  if (header_.e_shstrndx < sections_.size()) names_ = content(sections_[header_.e_shstrndx]);
}

std::string_view ElfFile::name(const Elf64_Shdr& section) const { return string_at(names_, section.sh_name); }

std::string_view ElfFile::content(const Elf64_Shdr& section) const {
  return section.sh_type == SHT_NOBITS ? std::string_view() : slice(bytes_, section.sh_offset, section.sh_size);
}

const Elf64_Shdr* ElfFile::find(std::string_view wanted) const {
  for (const Elf64_Shdr& section : sections_)
    if (name(section) == wanted) return &section;
  return nullptr;
}

std::vector<Elf64_Phdr> ElfFile::segments() const {
  std::vector<Elf64_Phdr> all;
  if (header_.e_phentsize != sizeof(Elf64_Phdr)) return all;
  for (uint64_t i = 0; i < header_.e_phnum; ++i)
    if (const auto segment = read_at<Elf64_Phdr>(bytes_, header_.e_phoff + i * sizeof(Elf64_Phdr)))
      all.push_back(*segment);
  return all;
}

MappedFile::MappedFile(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status{};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<size_t>(status.st_size);
    void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (map != MAP_FAILED) {
      data_ = map;
      size_ = size;
    }
  }
  close(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace coalesce::redirect
