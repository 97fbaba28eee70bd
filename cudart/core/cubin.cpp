#include "cudart/core/cubin.h"

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "elf/file.h"

namespace coalesce::cudart {
namespace {

// The attributes of .nv.info: format, attribute, and two bytes that are the value or, in this format, its size.
constexpr uint8_t kSized = 4, kRegisterCount = 0x2f;  // the value: a symbol's number, its registers
constexpr std::size_t kHead = 4;

}  // namespace

machine::MachineCodes machine_code_of_cubin(std::string_view cubin) {
  machine::MachineCodes found;
  const elf::File file(cubin);
  std::string_view attributes, symbols, names;
  for (const Elf64_Shdr& one : file.sections()) {
    if (one.sh_type == SHT_SYMTAB) {
      symbols = file.content(one);
      if (one.sh_link < file.sections().size()) names = file.content(file.sections()[one.sh_link]);
    }
    if (file.name(one) == ".nv.info") attributes = file.content(one);
  }
  for (std::size_t at = 0; at + kHead <= attributes.size();) {
    const auto format = static_cast<uint8_t>(attributes[at]), attribute = static_cast<uint8_t>(attributes[at + 1]);
    const uint16_t size = elf::read_at<uint16_t>(attributes, at + 2).value_or(0);
    at += kHead;
    if (format != kSized) continue;
    if (attribute == kRegisterCount) {
      const auto symbol = elf::read_at<uint32_t>(attributes, at), count = elf::read_at<uint32_t>(attributes, at + 4);
      const auto entry =
          symbol ? elf::read_at<Elf64_Sym>(symbols, uint64_t{*symbol} * sizeof(Elf64_Sym)) : std::nullopt;
      const std::string_view name = entry ? elf::string_at(names, entry->st_name) : std::string_view();
      if (count && *count <= 255 && !name.empty()) found.emplace(name, machine::MachineCode{.registers = *count});
    }
    at += size;
  }
  constexpr std::string_view kCode = ".text.";
  for (const Elf64_Shdr& one : file.sections()) {
    const std::string_view name = file.name(one);
    if (!name.starts_with(kCode)) continue;
    if (const auto kernel = found.find(std::string(name.substr(kCode.size()))); kernel != found.end())
      kernel->second.bytes = static_cast<uint32_t>(file.content(one).size());
  }
  return found;
}

std::string ptx_of_cubin(std::string_view cubin) {
  const elf::File file(cubin);
  const Elf64_Shdr* source = file.find(".nv_debug_ptx_txt");
  if (source == nullptr) return {};
  std::string text(file.content(*source));
  std::replace(text.begin(), text.end(), '\0', '\n');
  return text;
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
