#include "redirect/archive.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "redirect/names.h"

namespace coalesce::redirect {
namespace {

constexpr uint64_t kLeastRun = 64;      // bytes that are unlikely to occur anywhere else
constexpr uint64_t kMemberHeader = 60;  // of ar(5)

// Bytes around a relocation that the linker may write: it relaxes loads of addresses, and accesses of thread-local
// variables, to shorter instructions.
struct Written {
  uint64_t before, after;
};
Written written_by(uint32_t type) {
  switch (type) {
    case R_X86_64_NONE:
      return {0, 0};
    case R_X86_64_64:
    case R_X86_64_PC64:
    case R_X86_64_DTPOFF64:
    case R_X86_64_TPOFF64:
      return {0, 8};
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
    case R_X86_64_GOTTPOFF:
      return {3, 4};
    case R_X86_64_TLSGD:
    case R_X86_64_TLSLD:
      return {4, 12};
    default:
      return {0, 4};
  }
}

std::optional<Code> code_of(const elf::File& object) {
  const Elf64_Shdr* table = object.find(".symtab");
  if (table == nullptr) return std::nullopt;
  Code code;
  uint16_t section = SHN_UNDEF;
  bool one_section = true;
  object.symbols(*table, [&](const elf::Symbol& s) {
    if (s.entry.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.entry.st_info) != STT_FUNC) return;
    const size_t name = index_of(s.name);
    if (name == kNoName) return;
    if (section == SHN_UNDEF) section = s.entry.st_shndx;
    one_section = one_section && section == s.entry.st_shndx;
    code.entries.push_back({name, s.entry.st_value});
  });
  if (code.entries.size() < kLeastNames || !one_section || section >= object.sections().size()) return std::nullopt;
  code.text = object.content(object.sections()[section]);
  const uint64_t size = code.text.size();
  code.linked.resize(size);
  for (const Elf64_Shdr& s : object.sections()) {
    if (s.sh_type != SHT_RELA || s.sh_info != section) continue;
    const std::string_view relocations = object.content(s);
    for (uint64_t at = 0; const auto r = elf::read_at<Elf64_Rela>(relocations, at); at += sizeof(Elf64_Rela)) {
      const auto [before, after] = written_by(ELF64_R_TYPE(r->r_info));
      const uint64_t from = r->r_offset - std::min(r->r_offset, before);
      for (uint64_t k = from; k < r->r_offset + after && k < size; ++k) code.linked[k] = true;
    }
  }
  for (uint64_t begin = 0; begin < size;) {
    uint64_t end = begin;
    while (end < size && !code.linked[end]) ++end;
    if (end - begin > code.run_bytes) {
      code.run = begin;
      code.run_bytes = end - begin;
    }
    begin = end + 1;
  }
  const bool inside = std::ranges::all_of(code.entries, [&](const Entry& e) { return e.address + kJumpBytes <= size; });
  return inside && code.run_bytes >= kLeastRun ? std::optional(std::move(code)) : std::nullopt;
}

}  // namespace

std::optional<Code> read_code(std::string_view archive) {
  constexpr std::string_view kMagic = "!<arch>\n";
  if (!archive.starts_with(kMagic)) return std::nullopt;
  for (uint64_t at = kMagic.size(); at + kMemberHeader <= archive.size();) {
    const std::string_view digits = archive.substr(at + 48, 10);
    uint64_t size = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), size).ec != std::errc()) break;
    if (auto code = code_of(program_of(elf::slice(archive, at + kMemberHeader, size)))) return code;
    if (size > archive.size()) break;
    at += kMemberHeader + size + size % 2;
  }
  return std::nullopt;
}

std::optional<uint64_t> find_code(const Code& code, std::string_view bytes) {
  const std::string_view run = code.text.substr(code.run, code.run_bytes);
  for (size_t from = 0; from < bytes.size();) {
    const void* found = memmem(bytes.data() + from, bytes.size() - from, run.data(), run.size());
    if (found == nullptr) break;
    const auto place = static_cast<uint64_t>(static_cast<const char*>(found) - bytes.data());
    from = place + 1;
    if (place < code.run || bytes.size() - (place - code.run) < code.text.size()) continue;
    const std::string_view there = bytes.substr(place - code.run, code.text.size());
    bool equal = true;
    for (uint64_t k = 0; equal && k < there.size(); ++k) equal = code.linked[k] || there[k] == code.text[k];
    if (equal) return place - code.run;
  }
  return std::nullopt;
}

}  // namespace coalesce::redirect
