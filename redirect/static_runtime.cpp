#include "redirect/static_runtime.h"

#include <algorithm>

#include "redirect/archive.h"
#include "redirect/names.h"

namespace coalesce::redirect {
namespace {

bool has(const std::vector<Entry>& entries, std::string_view name) {
  const size_t wanted = index_of(name);
  return std::ranges::any_of(entries, [=](const Entry& e) { return e.name == wanted; });
}

std::vector<Entry> by_symbols(const elf::File& file, const Elf64_Shdr& table, std::string& problem) {
  std::vector<Entry> entries;
  file.symbols(table, [&](const elf::Symbol& s) {
    if (s.entry.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.entry.st_info) != STT_FUNC) return;
    const size_t name = index_of(s.name);
    if (name == kNoName) return;
    entries.push_back({name, s.entry.st_value});
    if (!has_room(file, s)) problem = "its function " + std::string(s.name) + " is too small to be redirected";
  });
  if (entries.size() >= kLeastNames) return entries;
  problem.clear();
  return {};
}

// A shared runtime: others link with it.
bool is_shared_runtime(const elf::File& file) {
  bool exported = false;
  if (const Elf64_Shdr* table = file.find(".dynsym"))
    file.symbols(*table, [&](const elf::Symbol& s) {
      exported = exported || (s.name == "cudaMalloc" && s.entry.st_shndx != SHN_UNDEF);
    });
  return exported;
}

// The file's addresses of the archive's functions.
std::vector<Entry> by_code(const elf::File& file, std::string_view archive) {
  const std::optional<Code> code = read_code(archive);
  if (!code) return {};
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const auto at = find_code(*code, elf::slice(file.bytes(), segment.p_offset, segment.p_filesz));
    if (!at) continue;
    std::vector<Entry> entries = code->entries;
    for (Entry& e : entries) e.address += segment.p_vaddr + *at;
    return entries;
  }
  return {};
}

}  // namespace

bool has_room(const elf::File& file, const elf::Symbol& function) {
  const Elf64_Sym& f = function.entry;
  if (f.st_size >= kJumpBytes) return true;
  if (f.st_value % kRuntimeAlignment != 0 || f.st_shndx >= file.sections().size()) return false;
  const Elf64_Shdr& section = file.sections()[f.st_shndx];
  return f.st_value - section.sh_addr + kJumpBytes <= section.sh_size;
}

int version_of(const std::vector<Entry>& entries) {
  if (has(entries, "cudaDeviceGetHostAtomicCapabilities")) return 13;
  return has(entries, "cudaGetDeviceProperties_v2") ? 12 : 11;
}

bool registers_by_itself(const elf::File& file) {
  if (file.find(".nv_fatbin") == nullptr && file.find("__nv_relfatbin") == nullptr) return false;
  bool imported = false;
  if (const Elf64_Shdr* table = file.find(".dynsym"))
    file.symbols(*table, [&](const elf::Symbol& s) {
      imported = imported || (index_of(s.name) != kNoName && s.entry.st_shndx == SHN_UNDEF);
    });
  return !imported;
}

StaticRuntime find_static_runtime(const elf::File& file, const std::vector<std::string>& archives) {
  StaticRuntime found;
  if (is_shared_runtime(file)) return found;
  if (const Elf64_Shdr* table = file.find(".symtab")) found.entries = by_symbols(file, *table, found.problem);
  if (found.entries.empty() && registers_by_itself(file)) {
    for (const std::string& path : archives) {
      const MappedFile archive(path.c_str());
      found.entries = by_code(file, archive.bytes());
      if (!found.entries.empty()) break;
    }
    if (found.entries.empty())
      found.problem = archives.empty() ? "it has no symbols, and no libcudart_static.a was found to look for its code"
                                       : "it has no symbols, and its code is that of no libcudart_static.a found here";
  }
  if (!found.problem.empty()) {
    found.entries.clear();
  } else if (!found.entries.empty()) {
    found.version = version_of(found.entries);
  }
  return found;
}

}  // namespace coalesce::redirect
