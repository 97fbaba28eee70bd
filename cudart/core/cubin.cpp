#include "cudart/core/cubin.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <vector>

namespace coalesce::cudart {
namespace {

// The attributes of .nv.info: format, attribute, and two bytes that are the value or, in this format, its size.
constexpr uint8_t kSized = 4, kRegisterCount = 0x2f;  // the value: a symbol's number, its registers
constexpr std::size_t kHead = 4;

template <class T>
std::optional<T> read(std::string_view bytes, uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string_view part(std::string_view bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return {};
  return bytes.substr(at, size);
}

std::string_view text_at(std::string_view texts, uint64_t at) {
  if (at >= texts.size()) return {};
  const std::string_view rest = texts.substr(at);
  const std::size_t end = rest.find('\0');
  return end == rest.npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace

std::map<std::string, uint32_t> registers_of_cubin(std::string_view cubin) {
  std::map<std::string, uint32_t> found;
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return found;
  std::vector<Elf64_Shdr> sections;
  for (uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(cubin, header->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!section) return found;
    sections.push_back(*section);
  }
  const auto bytes_of = [&](uint32_t i) {
    if (i >= sections.size() || sections[i].sh_type == SHT_NOBITS) return std::string_view();
    return part(cubin, sections[i].sh_offset, sections[i].sh_size);
  };
  std::string_view attributes, symbols, names;
  for (uint32_t i = 0; i < sections.size(); ++i) {
    if (sections[i].sh_type == SHT_SYMTAB) symbols = bytes_of(i), names = bytes_of(sections[i].sh_link);
    if (text_at(bytes_of(header->e_shstrndx), sections[i].sh_name) == ".nv.info") attributes = bytes_of(i);
  }
  for (std::size_t at = 0; at + kHead <= attributes.size();) {
    const auto format = static_cast<uint8_t>(attributes[at]), attribute = static_cast<uint8_t>(attributes[at + 1]);
    const uint16_t size = *read<uint16_t>(attributes, at + 2);
    at += kHead;
    if (format != kSized) continue;
    if (attribute == kRegisterCount) {
      const auto symbol = read<uint32_t>(attributes, at), count = read<uint32_t>(attributes, at + 4);
      const auto entry = symbol ? read<Elf64_Sym>(symbols, uint64_t{*symbol} * sizeof(Elf64_Sym)) : std::nullopt;
      const std::string_view name = entry ? text_at(names, entry->st_name) : std::string_view();
      if (count && *count <= 255 && !name.empty()) found.emplace(name, *count);
    }
    at += size;
  }
  return found;
}

}  // namespace coalesce::cudart
