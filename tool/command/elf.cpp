#include "tool/command/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "elf/file.h"
#include "tool/figures/error.h"

namespace coalesce::tool {
namespace {

// Fat binaries as cuobjdump shows them: containers of entries, each PTX (1) or something else (2: machine code).
struct FatHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // of the entries
};
struct FatEntry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;
};
constexpr uint32_t kFatMagic = 0xba55ed50;

void count_images(std::string_view section, Executable& result) {
  // clang can embed the PTX text itself, and machine code with line numbers keeps its PTX.
  if (section.find(".version ") != std::string_view::npos && section.find(".target ") != std::string_view::npos)
    ++result.ptx_images;
  for (uint64_t start = 0; const auto header = elf::read_at<FatHeader>(section, start);) {
    if (header->magic != kFatMagic || header->header_bytes < sizeof(FatHeader)) {
      start += 8;  // between containers there is padding; they are aligned to 8
      continue;
    }
    const uint64_t first = start + header->header_bytes;
    const std::string_view entries = elf::slice(section, first, header->bytes);
    if (entries.size() < header->bytes) return;  // damaged: whoever loads it says so
    for (uint64_t offset = 0; const auto entry = elf::read_at<FatEntry>(entries, offset);) {
      ++(entry->kind == 1 ? result.ptx_images : result.other_images);
      constexpr uint64_t kArchitecture = 28, kFlags = 40;
      constexpr uint32_t kForDebuggers = 2;  // compressed; machine code for debuggers keeps its PTX
      const auto flags =
          entry->header_bytes >= kFlags + sizeof(uint32_t) ? elf::read_at<uint32_t>(entries, offset + kFlags) : 0;
      if (entry->kind == 2 && (flags.value_or(0) & kForDebuggers) != 0) ++result.ptx_images;
      if (entry->kind == 2 && entry->header_bytes >= kArchitecture + sizeof(uint32_t))
        if (const auto architecture = elf::read_at<uint32_t>(entries, offset + kArchitecture))
          result.architectures.insert(*architecture);
      const uint64_t size = entry->header_bytes + std::min<uint64_t>(entry->bytes, entries.size());
      if (size < sizeof(FatEntry)) break;  // nonsense, and would not advance
      offset += size;
    }
    start = (first + entries.size() + 7) / 8 * 8;
  }
}

// The records that refer to fat binaries; those of version 2 are the linker's.
void count_records(std::string_view section, Executable& result) {
  struct Record {
    uint32_t magic, version;
    uint64_t data, parts;
  };
  constexpr uint32_t kMagic = 0x466243b1;
  for (uint64_t start = 0; const auto record = elf::read_at<Record>(section, start); start += sizeof(Record))
    result.own_records += record->magic != kMagic || record->version != 2;
}

void read_sections(const elf::File& file, Executable& result) {
  for (const Elf64_Shdr& section : file.sections()) {
    const std::string_view name = file.name(section);
    if (name == ".nvFatBinSegment") count_records(file.content(section), result);
    result.separate |= name == "__nv_relfatbin";
    if (name != ".nv_fatbin" && name != "__nv_relfatbin") continue;
    result.device_code = true;
    count_images(file.content(section), result);
  }
}

void read_dynamic(const elf::File& file, Executable& result) {
  const std::vector<Elf64_Phdr> segments = file.segments();
  const auto file_offset = [&](uint64_t address) -> std::optional<uint64_t> {
    for (const Elf64_Phdr& s : segments) {
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
        return s.p_offset + (address - s.p_vaddr);
    }
    return std::nullopt;
  };
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    result.dynamic = true;
    const std::string_view table = elf::slice(file.bytes(), segment.p_offset, segment.p_filesz);
    std::vector<Elf64_Dyn> entries;
    for (uint64_t offset = 0; const auto entry = elf::read_at<Elf64_Dyn>(table, offset); offset += sizeof(Elf64_Dyn)) {
      if (entry->d_tag == DT_NULL) break;
      entries.push_back(*entry);
    }
    uint64_t address = 0, size = 0;
    bool runpath = false;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
      runpath |= entry.d_tag == DT_RUNPATH;
    }
    const auto offset = file_offset(address);
    if (!offset) continue;
    const std::string_view strings = elf::slice(file.bytes(), *offset, size);
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NEEDED) result.needed.emplace_back(elf::string_at(strings, entry.d_un.d_val));
      if (entry.d_tag == DT_RPATH && !runpath) result.rpath = elf::string_at(strings, entry.d_un.d_val);
    }
    result.imports_registration =
        strings.find(std::string_view("\0__cudaRegisterFatBinary\0", 25)) != std::string_view::npos;
  }
}

}  // namespace

bool Executable::needs(std::string_view library) const {
  return std::find(needed.begin(), needed.end(), library) != needed.end();
}

std::string Executable::cudart() const {
  for (const std::string& name : needed) {
    if (name.starts_with("libcudart.so")) return name;
  }
  return "";
}

Executable inspect(std::string_view bytes) {
  Executable result;
  if (bytes.starts_with("#!")) {
    result.kind = Executable::Kind::script;
    return result;
  }
  const auto header = elf::read_at<Elf64_Ehdr>(bytes, 0);
  if (!elf::is_elf(bytes)) {
    result.problem = "not an executable";
  } else if (!header) {
    result.problem = "a damaged executable";
  } else if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
             header->e_machine != EM_X86_64) {
    result.problem = "an executable for another kind of processor";
  } else if (header->e_type != ET_EXEC && header->e_type != ET_DYN) {
    result.problem = header->e_type == ET_REL ? "an object file, not linked yet" : "not an executable";
  } else {
    result.kind = Executable::Kind::elf;
    const elf::File file(bytes);
    read_sections(file, result);
    read_dynamic(file, result);
  }
  return result;
}

Executable inspect_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0) {
    const int why = errno;
    if (file >= 0) close(file);
    throw Error(Exit::not_started, "cannot read '" + path + "': " + std::strerror(why));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size == 0) {
    close(file);
    Executable result;
    result.problem = S_ISDIR(status.st_mode) ? "a folder" : "not an executable";
    return result;
  }
  void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int why = errno;
  close(file);
  if (map == MAP_FAILED) throw Error(Exit::not_started, "cannot read '" + path + "': " + std::strerror(why));
  const Executable result = inspect({static_cast<const char*>(map), size});
  munmap(map, size);
  return result;
}

void require_runnable(const Executable& executable, const std::string& path, bool on_gpu) {
  if (executable.kind == Executable::Kind::script) return;
  if (executable.kind == Executable::Kind::other) {
    throw Error(Exit::not_started, "'" + path + "' is " + executable.problem,
                "coalesce run takes a CUDA program, or a .cu file");
  }
  if (!executable.dynamic) {
    throw Error(Exit::not_started,
                "'" + path + "' is linked statically and uses no CUDA runtime that the machine could replace",
                "build it with nvcc -cudart shared");
  }
  // The kernels of a program that calls the driver, or libraries with kernels, come later.
  if (!on_gpu && !executable.needs("libcuda.so.1") && !executable.no_kernels() && executable.other_images > 0 &&
      executable.ptx_images == 0) {
    std::string of;
    for (const uint32_t architecture : executable.architectures)
      of += (of.empty() ? " of sm_" : ", sm_") + std::to_string(architecture);
    throw Error(Exit::not_started, "'" + path + "' holds machine code" + of + " only, no PTX",
                "rebuild it with PTX, for example nvcc -gencode arch=compute_90,code=compute_90, or with -lineinfo");
  }
}

}  // namespace coalesce::tool
