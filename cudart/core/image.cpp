#include "cudart/core/image.h"

#include <link.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "cudart/core/cubin.h"
#include "cudart/core/fatbin.h"
#include "machine/device.h"

namespace coalesce::cudart {
namespace {

struct Wrapper {
  uint32_t magic;
  uint32_t version;  // 1: data is the fat binary; 2: linked from the fat binaries that `prelinked` lists
  const void* data;
  const void* const* prelinked;  // version 2: ends with null
};

// Bytes from `address` to the end of its loaded segment. 0: it is in no loaded file.
size_t bytes_in_segment(const void* address) {
  struct Search {
    uintptr_t address;
    size_t bytes;
  } search{reinterpret_cast<uintptr_t>(address), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* file, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        for (int i = 0; i < file->dlpi_phnum; ++i) {
          const auto& segment = file->dlpi_phdr[i];
          const uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && s.address >= begin && s.address - begin < segment.p_memsz) {
            s.bytes = segment.p_memsz - (s.address - begin);
            return 1;
          }
        }
        return 0;
      },
      &search);
  return search.bytes;
}

// The bytes of a fat binary or of a text at `address`. Outside of loaded files (memory the program filled itself) the
// container's own size, or the terminating null, has to be trusted: that is the contract of cudaLibraryLoadData.
std::span<const uint8_t> extent(const void* address, size_t known) {
  const auto* bytes = static_cast<const uint8_t*>(address);
  if (known != 0) return {bytes, known};
  if (const size_t n = bytes_in_segment(address); n != 0) return {bytes, n};
  uint32_t magic;
  std::memcpy(&magic, bytes, sizeof magic);
  if (magic != kFatbinMagic) return {bytes, std::strlen(static_cast<const char*>(address))};
  uint16_t header;
  uint64_t size;
  std::memcpy(&header, bytes + 6, sizeof header);
  std::memcpy(&size, bytes + 8, sizeof size);
  return {bytes, header + size};
}

// The image of several texts: this, bytes of all that follows, then for each text its bytes and the text. Where
// registers are limited it begins with kLimited, and the limit stands before the texts. Programs keep images in files
// for later.
constexpr char kLinked[16] = {'c', 'o', 'a', 'l', 'e', 's', 'c', 'e', ' ', 'l', 'i', 'n', 'k', 'e', 'd', '\n'};
constexpr char kLimited[16] = {'c', 'o', 'a', 'l', 'e', 's', 'c', 'e', ' ', 'l', 'i', 'm', 'i', 't', 'e', 'd'};

bool is_limited(const void* address) {
  return std::strncmp(static_cast<const char*>(address), kLimited, sizeof kLimited) == 0;
}
bool is_linked(const void* address) {
  return std::strncmp(static_cast<const char*>(address), kLinked, sizeof kLinked) == 0 || is_limited(address);
}
uint64_t number_at(const char* place) {
  uint64_t number;
  std::memcpy(&number, place, sizeof number);
  return number;
}

// sm_90 and the like, of a cubin. CUDA 13 writes ABI version 8, which keeps the number in another byte of e_flags.
std::string architecture_of(const void* cubin) {
  constexpr size_t kVersion = 8, kFlags = 48;
  const auto* bytes = static_cast<const uint8_t*>(cubin);
  return "sm_" + std::to_string(bytes[kVersion] >= 8 ? bytes[kFlags + 1] : bytes[kFlags]);
}

constexpr size_t kElfHeader = 64;
bool is_elf(const void* address) { return std::memcmp(address, "\177ELF", 4) == 0; }
std::string whole_cubin(const void* address, size_t known) {
  return copy_of_cubin(address, known != 0 ? known : bytes_in_segment(address));
}

// Adds the PTX of one fat binary or text. `seen`: what it held, for the message when nothing fits.
void add(const void* address, size_t known, uint32_t major, uint32_t minor, Image& image, std::string& seen) {
  const std::span<const uint8_t> bytes = extent(address, known);
  if (const std::string_view text = bare_ptx(bytes); !text.empty()) {
    image.ptx.emplace_back(text);
    return;
  }
  const auto entries = read_fatbin(bytes);
  if (const FatbinEntry* best = best_ptx(entries, major, minor)) {
    image.ptx.push_back(unpack(*best));
    return;
  }
  for (const auto& entry : entries) {
    if (entry.kind != FatbinEntry::Kind::elf || entry.architecture > 10 * major + minor) continue;
    if (std::string ptx = ptx_of_cubin(unpack(entry)); !ptx.empty()) {
      image.ptx.push_back(std::move(ptx));
      return;
    }
  }
  for (const auto& entry : entries) {
    if (!seen.empty()) seen += ", ";
    seen += entry.kind == FatbinEntry::Kind::ptx   ? "PTX of compute_"
            : entry.kind == FatbinEntry::Kind::elf ? "machine code of sm_"
                                                   : "something else for sm_";
    seen += std::to_string(entry.architecture);
    if (entry.suffix != 0) seen += entry.suffix;
  }
}

struct Target {
  uint32_t architecture = 0;  // 0: the text names none that can be read
  char suffix = 0;
};

// Where `text` goes on behind the first `close` from `from` on.
size_t past(std::string_view text, size_t from, std::string_view close) {
  const size_t at = text.find(close, from);
  return at == text.npos ? text.size() : at + close.size();
}

// The architecture of the text's .target directive: sm_90, sm_100a. Comments and strings may hold the word, too.
Target target_of(std::string_view text) {
  constexpr std::string_view kDirective = ".target";
  for (size_t at = 0; (at = text.find_first_of("./\"", at)) < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(kDirective)) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      line.remove_prefix(std::min(line.find('_'), line.size() - 1) + 1);
      Target target;
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), target.architecture);
      if (error != std::errc()) return {};
      if (end != line.data() + line.size() && (*end == 'a' || *end == 'f')) target.suffix = *end;
      return target;
    }
    at += rest.starts_with("//")   ? past(rest, 2, "\n")
          : rest.starts_with("/*") ? past(rest, 2, "*/")
          : rest[0] == '"'         ? past(rest, 1, "\"")
                                   : 1;
  }
  return {};
}

std::string what_runs(const Target& target) {
  const machine::Device* least = nullptr;
  for (const machine::Device& d : machine::devices())
    if (runs_on(target.architecture, target.suffix, d.major, d.minor) &&
        (least == nullptr || 10 * d.major + d.minor < 10 * least->major + least->minor))
      least = &d;
  if (least == nullptr) return "compile it for an older architecture";
  return "compile it for an older architecture, or coalesce run --device " + std::string(least->key);
}

// A driver compiles no text for an architecture that its device is not.
void refuse_newer(Image& image, uint32_t major, uint32_t minor) {
  for (const std::string& text : image.ptx) {
    const Target target = target_of(text);
    if (target.architecture == 0 || runs_on(target.architecture, target.suffix, major, minor)) continue;
    image.problem = "this PTX is for sm_" + std::to_string(target.architecture) +
                    (target.suffix != 0 ? std::string(1, target.suffix) : "") + ", and the device has capability " +
                    std::to_string(major) + "." + std::to_string(minor);
    image.hint = what_runs(target);
    image.newer = true;
    image.ptx.clear();
    return;
  }
}

Image find_image(const void* address, size_t bytes, uint32_t major, uint32_t minor) {
  Image image;
  std::string seen;
  Wrapper wrapper;
  uint32_t magic;
  std::memcpy(&magic, address, sizeof magic);
  if (is_elf(address)) {
    if (std::string ptx = ptx_of_cubin(whole_cubin(address, bytes)); !ptx.empty()) {
      image.ptx.push_back(std::move(ptx));
      return image;
    }
    image.problem = "the module is a cubin for " + architecture_of(address) + ", which holds machine code only";
    image.hint =
        "load its PTX instead (nvcc -ptx, nvrtcGetPTX), or compile with -lineinfo: the cubin then keeps its PTX";
    return image;
  }
  if (is_linked(address)) {
    const char* at = static_cast<const char*>(address) + sizeof kLinked;
    uint64_t left = number_at(at);
    const auto next = [&] {
      if (left < sizeof(uint64_t)) throw FatbinError("the linked image is damaged");
      left -= sizeof(uint64_t);
      return number_at(at += sizeof(uint64_t));
    };
    if (is_limited(address)) image.most_registers = static_cast<uint32_t>(next());
    while (left != 0) {
      const uint64_t size = next();
      if (size > left) throw FatbinError("the linked image is damaged");
      image.ptx.emplace_back(at + sizeof(uint64_t), size);
      at += size;
      left -= size;
    }
    return image;
  }
  if (magic == kWrapperMagic) {
    std::memcpy(&wrapper, address, sizeof wrapper);
    if (wrapper.version == 2 && wrapper.prelinked != nullptr) {
      // The linked binary holds machine code only; PTX is in the parts.
      for (const void* const* part = wrapper.prelinked; *part != nullptr; ++part)
        add(*part, 0, major, minor, image, seen);
    }
    if (image.ptx.empty()) add(wrapper.data, 0, major, minor, image, seen);
  } else {
    add(address, bytes, major, minor, image, seen);
  }
  if (image.ptx.empty()) {
    const std::string architecture = std::to_string(10 * major + minor);
    image.problem = "the program holds no PTX for compute capability " + std::to_string(major) + "." +
                    std::to_string(minor) + ", only " + (seen.empty() ? "an empty fat binary" : seen);
    const uint32_t newer = needed_architecture(address, 10 * major + minor);
    if (newer != 0)
      image.hint = what_runs({newer, 0});
    else
      image.hint = "rebuild with -gencode arch=compute_" + architecture + ",code=compute_" + architecture +
                   (seen.find("machine code") == seen.npos ? "" : ", or with -lineinfo, which keeps the PTX");
  }
  return image;
}

}  // namespace

Image read_image(const void* address, size_t bytes, uint32_t major, uint32_t minor) {
  Image image = find_image(address, bytes, major, minor);
  refuse_newer(image, major, minor);
  return image;
}

machine::MachineCodes machine_code_in(const void* image, size_t bytes, uint32_t architecture) {
  if (is_elf(image) || is_linked(image)) return {};
  Wrapper wrapper;
  std::memcpy(&wrapper.magic, image, sizeof wrapper.magic);
  if (wrapper.magic == kWrapperMagic) {
    std::memcpy(&wrapper, image, sizeof wrapper);
    image = wrapper.data, bytes = 0;
  }
  machine::MachineCodes found;
  try {
    const std::span<const uint8_t> all = extent(image, bytes);
    if (!bare_ptx(all).empty()) return {};
    for (const FatbinEntry& entry : read_fatbin(all))
      if (entry.kind == FatbinEntry::Kind::elf && entry.architecture == architecture)
        found.merge(machine_code_of_cubin(unpack(entry)));
  } catch (const FatbinError&) {  // NOLINT(bugprone-empty-catch): read_image says so
  }
  return found;
}

uint32_t needed_architecture(const void* address, uint32_t device) {
  uint32_t needed = 0;
  const auto look = [&](const void* part) {
    const std::span<const uint8_t> bytes = extent(part, 0);
    if (const std::string_view text = bare_ptx(bytes); !text.empty()) {
      const Target target = target_of(text);
      if (target.suffix == 0) needed = needed == 0 ? target.architecture : std::min(needed, target.architecture);
      return;
    }
    for (const FatbinEntry& entry : read_fatbin(bytes)) {
      if (entry.kind != FatbinEntry::Kind::ptx || entry.suffix != 0) continue;
      needed = needed == 0 ? entry.architecture : std::min(needed, entry.architecture);
    }
  };
  uint32_t magic;
  std::memcpy(&magic, address, sizeof magic);
  Wrapper wrapper{magic, 1, address, nullptr};
  if (magic == kWrapperMagic) std::memcpy(&wrapper, address, sizeof wrapper);
  if (magic != kWrapperMagic && magic != kFatbinMagic) return 0;
  try {
    if (wrapper.version == 2 && wrapper.prelinked != nullptr) {
      for (const void* const* part = wrapper.prelinked; *part != nullptr; ++part) look(*part);
    } else {
      look(wrapper.data);
    }
  } catch (const FatbinError&) {
    return 0;  // whoever loads it says what is wrong
  }
  return needed > device ? needed : 0;
}

std::string copy_image(const void* address, size_t known) {
  const auto* text = static_cast<const char*>(address);
  uint32_t magic;
  std::memcpy(&magic, address, sizeof magic);
  if (magic == kWrapperMagic) return {text, sizeof(Wrapper)};
  if (is_elf(address)) {
    std::string cubin = whole_cubin(address, known);
    if (cubin.size() < kElfHeader) throw FatbinError("the cubin is shorter than its header");
    return cubin;
  }
  if (is_linked(address)) return {text, sizeof kLinked + sizeof(uint64_t) + number_at(text + sizeof kLinked)};
  const std::span<const uint8_t> bytes = extent(address, known);
  if (const std::string_view ptx = bare_ptx(bytes); !ptx.empty()) return std::string(ptx);
  const std::span<const uint8_t> whole = fatbin_extent(bytes);
  return {reinterpret_cast<const char*>(whole.data()), whole.size()};
}

std::string linked_image(const std::vector<std::string>& ptx, uint32_t most_registers) {
  std::string body;
  const auto put_number = [](std::string& to, uint64_t number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  if (most_registers != 0) put_number(body, most_registers);
  for (const std::string& text : ptx) {
    put_number(body, text.size());
    body += text;
  }
  std::string image(most_registers != 0 ? kLimited : kLinked, sizeof kLinked);
  put_number(image, body.size());
  return image + body;
}

}  // namespace coalesce::cudart
