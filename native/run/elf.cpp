#include "native/run/elf.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace coalesce::native {

Mapping::Mapping(std::size_t bytes) : bytes_((bytes + 4095) / 4096 * 4096) {
  void* got = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(got);
}

Mapping::~Mapping() { munmap(base_, bytes_); }

bool Mapping::seal() { return mprotect(base_, bytes_, PROT_READ | PROT_EXEC) == 0; }

namespace {

template <class T>
const T* table(const std::vector<uint8_t>& file, uint64_t offset, uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) throw std::runtime_error("cut off");
  return reinterpret_cast<const T*>(file.data() + offset);
}

}  // namespace

Executable load_elf(const std::vector<uint8_t>& file) {
  const Elf64_Ehdr& header = *table<Elf64_Ehdr>(file, 0, 1);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_REL)
    throw std::runtime_error("not an object file");
  const Elf64_Shdr* sections = table<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  std::vector<uint64_t> offset(header.e_shnum, ~uint64_t{0});
  uint64_t size = 0;
  for (unsigned k = 0; k < header.e_shnum; ++k) {
    const Elf64_Shdr& s = sections[k];
    if (!(s.sh_flags & SHF_ALLOC) || s.sh_type == SHT_NOTE) continue;
    const uint64_t alignment = std::max<uint64_t>(64, s.sh_addralign);
    size = (size + alignment - 1) / alignment * alignment;
    offset[k] = size;
    size += s.sh_size;
  }
  Executable result;
  result.memory = std::make_unique<Mapping>(size);
  std::byte* const base = result.memory->base();
  for (unsigned k = 0; k < header.e_shnum; ++k)
    if (offset[k] != ~uint64_t{0} && sections[k].sh_type != SHT_NOBITS && sections[k].sh_size)
      std::memcpy(base + offset[k], table<uint8_t>(file, sections[k].sh_offset, sections[k].sh_size),
                  sections[k].sh_size);
  for (unsigned k = 0; k < header.e_shnum; ++k) {
    const Elf64_Shdr& s = sections[k];
    if (s.sh_link >= header.e_shnum) throw std::runtime_error("section of no section");
    if (s.sh_type == SHT_SYMTAB) {
      const Elf64_Sym* symbols = table<Elf64_Sym>(file, s.sh_offset, s.sh_size / sizeof(Elf64_Sym));
      const Elf64_Shdr& names = sections[s.sh_link];
      for (uint64_t n = 0; n < s.sh_size / sizeof(Elf64_Sym); ++n)
        if (symbols[n].st_shndx < header.e_shnum && symbols[n].st_shndx &&
            offset[symbols[n].st_shndx] != ~uint64_t{0} &&
            std::strcmp(reinterpret_cast<const char*>(table<uint8_t>(file, names.sh_offset + symbols[n].st_name, 7)),
                        "kernel") == 0)
          result.entry = reinterpret_cast<EntryPoint>(base + offset[symbols[n].st_shndx] + symbols[n].st_value);
    }
    if (s.sh_type != SHT_RELA || s.sh_info >= header.e_shnum || offset[s.sh_info] == ~uint64_t{0}) continue;
    const Elf64_Shdr& symbol_section = sections[s.sh_link];
    const uint64_t count = symbol_section.sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym* symbols = table<Elf64_Sym>(file, symbol_section.sh_offset, count);
    const Elf64_Rela* relocations = table<Elf64_Rela>(file, s.sh_offset, s.sh_size / sizeof(Elf64_Rela));
    for (uint64_t n = 0; n < s.sh_size / sizeof(Elf64_Rela); ++n) {
      const Elf64_Rela& r = relocations[n];
      const uint64_t index = ELF64_R_SYM(r.r_info);
      if (index >= count) throw std::runtime_error("reference to no symbol");
      const Elf64_Sym& symbol = symbols[index];
      if (symbol.st_shndx >= header.e_shnum || offset[symbol.st_shndx] == ~uint64_t{0})
        throw std::runtime_error("reference to something outside");
      const uint64_t target = offset[symbol.st_shndx] + symbol.st_value + static_cast<uint64_t>(r.r_addend);
      const uint64_t place = offset[s.sh_info] + r.r_offset;
      const auto put = [&](auto value) {
        const uint64_t room = sections[s.sh_info].sh_size;
        if (r.r_offset > room || room - r.r_offset < sizeof value) throw std::runtime_error("reference from outside");
        std::memcpy(base + place, &value, sizeof value);
      };
      switch (ELF64_R_TYPE(r.r_info)) {
#if defined(__x86_64__)
        case R_X86_64_PC32:
        case R_X86_64_PLT32:
          put(static_cast<uint32_t>(target - place));
          break;
        case R_X86_64_PC64:
          put(target - place);
          break;
        case R_X86_64_64:
          put(reinterpret_cast<uint64_t>(base) + target);
          break;
#endif
        default:
          throw std::runtime_error("a reference of a kind that is not known");
      }
    }
  }
  if (!result.entry || !result.memory->seal()) throw std::runtime_error("no code in it");
  return result;
}

}  // namespace coalesce::native
