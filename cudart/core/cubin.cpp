#include "cudart/core/cubin.h"

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
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

struct Section {
  std::string_view name, bytes;
  Elf64_Shdr header;
};

// Empty if it is no ELF file of 64 bits, or damaged.
std::vector<Section> sections_of(std::string_view cubin) {
  std::vector<Section> found;
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return {};
  for (uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(cubin, header->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!section) return {};
    const bool in_file = section->sh_type != SHT_NOBITS;
    found.push_back({{}, in_file ? part(cubin, section->sh_offset, section->sh_size) : std::string_view(), *section});
  }
  if (header->e_shstrndx < found.size()) {
    const std::string_view names = found[header->e_shstrndx].bytes;
    for (Section& one : found) one.name = text_at(names, one.header.sh_name);
  }
  return found;
}

}  // namespace

machine::MachineCodes machine_code_of_cubin(std::string_view cubin) {
  machine::MachineCodes found;
  const std::vector<Section> sections = sections_of(cubin);
  std::string_view attributes, symbols, names;
  for (const Section& one : sections) {
    if (one.header.sh_type == SHT_SYMTAB)
      symbols = one.bytes, names = one.header.sh_link < sections.size() ? sections[one.header.sh_link].bytes : names;
    if (one.name == ".nv.info") attributes = one.bytes;
  }
  for (std::size_t at = 0; at + kHead <= attributes.size();) {
    const auto format = static_cast<uint8_t>(attributes[at]), attribute = static_cast<uint8_t>(attributes[at + 1]);
    const uint16_t size = read<uint16_t>(attributes, at + 2).value_or(0);
    at += kHead;
    if (format != kSized) continue;
    if (attribute == kRegisterCount) {
      const auto symbol = read<uint32_t>(attributes, at), count = read<uint32_t>(attributes, at + 4);
      const auto entry = symbol ? read<Elf64_Sym>(symbols, uint64_t{*symbol} * sizeof(Elf64_Sym)) : std::nullopt;
      const std::string_view name = entry ? text_at(names, entry->st_name) : std::string_view();
      if (count && *count <= 255 && !name.empty()) found.emplace(name, machine::MachineCode{.registers = *count});
    }
    at += size;
  }
  constexpr std::string_view kCode = ".text.";
  for (const Section& one : sections)
    if (one.name.starts_with(kCode))
      if (const auto kernel = found.find(std::string(one.name.substr(kCode.size()))); kernel != found.end())
        kernel->second.bytes = static_cast<uint32_t>(one.bytes.size());
  return found;
}

std::string ptx_of_cubin(std::string_view cubin) {
  for (const Section& one : sections_of(cubin)) {
    if (one.name != ".nv_debug_ptx_txt") continue;
    std::string text(one.bytes);
    std::replace(text.begin(), text.end(), '\0', '\n');
    return text;
  }
  return {};
}

std::string copy_of_cubin(const void* cubin, uint64_t at_most) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  if (at_most == 0 || at_most > kMost) at_most = kMost;
  // The kernel reads, so that a size that leads outside of what is mapped is no crash.
  const auto copy = [&](uint64_t from, void* to, uint64_t bytes) {
    if (from > at_most || bytes > at_most - from) return false;
    const iovec here{to, bytes}, there{const_cast<char*>(static_cast<const char*>(cubin)) + from, bytes};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
  };
  Elf64_Ehdr header;
  if (!copy(0, &header, sizeof header)) return {};
  std::vector<Elf64_Shdr> sections(header.e_shentsize == sizeof(Elf64_Shdr) ? header.e_shnum : 0);
  const uint64_t bytes = sections.size() * sizeof(Elf64_Shdr);
  uint64_t end = sizeof header;
  if (!sections.empty() && copy(header.e_shoff, sections.data(), bytes)) {
    end = std::max(end, header.e_shoff + bytes);
    for (const Elf64_Shdr& one : sections)
      if (one.sh_type != SHT_NOBITS && one.sh_offset < kMost && one.sh_size < kMost)
        end = std::max(end, one.sh_offset + one.sh_size);
  }
  std::string all(std::min(end, at_most), '\0');
  if (!copy(0, all.data(), all.size())) all.assign(reinterpret_cast<const char*>(&header), sizeof header);
  return all;
}

}  // namespace coalesce::cudart
