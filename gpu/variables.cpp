#include "gpu/variables.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <optional>

#include "cudart/core/fatbin.h"
#include "elf/file.h"

namespace coalesce::gpu {
namespace {

bool of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; }

// `.global` begins a word where it declares; words with a dot or a number, and what is in brackets, stand before the
// name.
void of_text(std::string_view text, ModuleVariables& found) {
  constexpr std::string_view kGlobal = ".global";
  for (size_t at = text.find(kGlobal); at != text.npos; at = text.find(kGlobal, at)) {
    const bool begins = at == 0 || std::isspace(static_cast<unsigned char>(text[at - 1])) != 0;
    at += kGlobal.size();
    if (!begins) continue;
    while (at < text.size()) {
      const char c = text[at];
      if (c == '(') {
        at = std::min(text.find(')', at), text.size());
      } else if (c == '.' || std::isdigit(static_cast<unsigned char>(c)) != 0) {
        do ++at;
        while (at < text.size() && of_name(text[at]));
      } else if (of_name(c)) {
        const size_t from = at;
        while (at < text.size() && of_name(text[at])) ++at;
        found.names.emplace_back(text.substr(from, at - from));
        break;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ')') {
        ++at;
      } else {
        break;
      }
    }
  }
}

void of_machine_code(std::string_view bytes, ModuleVariables& found) {
  const elf::File file(bytes);
  for (const Elf64_Shdr& table : file.sections()) {
    if (table.sh_type != SHT_SYMTAB) continue;
    file.symbols(table, [&](const elf::Symbol& symbol) {
      if (ELF64_ST_TYPE(symbol.entry.st_info) == STT_OBJECT && !symbol.name.empty())
        found.names.emplace_back(symbol.name);
    });
  }
}

void of_part(std::string_view part, ModuleVariables& found) {
  elf::is_elf(part) ? of_machine_code(part, found) : of_text(part, found);
}

void of_container(std::string_view bytes, ModuleVariables& found) try {
  for (const cudart::FatbinEntry& entry :
       cudart::read_fatbin({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})) {
    try {
      of_part(cudart::unpack(entry), found);
    } catch (const cudart::FatbinError&) {
      found.all = false;
    }
  }
} catch (const cudart::FatbinError&) {
  found.all = false;
}

uint64_t length_of_machine_code(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  uint64_t end = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  for (uint64_t i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr); ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, static_cast<const char*>(image) + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace

ModuleVariables variables_of(std::string_view part) {
  ModuleVariables found;
  const auto magic = elf::read_at<uint32_t>(part, 0);
  magic == cudart::kFatbinMagic ? of_container(part, found) : of_part(part, found);
  return found;
}

ModuleVariables variables_of_image(const void* image) {
  const char* at = static_cast<const char*>(image);
  if (at == nullptr) return {};
  uint32_t magic = 0;
  std::memcpy(&magic, at, strnlen(at, sizeof magic));  // a text may be shorter
  if (magic == cudart::kWrapperMagic) {
    std::memcpy(&at, at + 8, sizeof at);
    std::memcpy(&magic, at, sizeof magic);
  }
  if (magic == cudart::kFatbinMagic) {
    uint64_t size = 0;
    std::memcpy(&size, at + 8, sizeof size);
    uint16_t header = 0;
    std::memcpy(&header, at + 6, sizeof header);
    return variables_of({at, header + size});
  }
  if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0) return variables_of({at, length_of_machine_code(at)});
  return variables_of(at);
}

}  // namespace coalesce::gpu
