// Layout, as nvcc 11 to 13 write it (all little-endian):
//   header:  u32 magic, u16 version, u16 header bytes, u64 bytes of entries that follow
//   entry:   u16 kind, u16 version, u32 header bytes, u64 payload bytes (padded to 8), u32 compressed bytes,
//            u32 offset of options, u16 minor, u16 major (of the PTX version), u32 architecture, u32 offset of name,
//            u32 name bytes, u64 flags, u64 0, u64 unpacked bytes; then options and name; then the payload
#include "cudart/core/fatbin.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace coalesce::cudart {
namespace {

constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000, kArchitectureOnly = 0x10'0000, kFamily = 0x20'0000;
constexpr size_t kEntryHeader = 64;
// No real module's PTX comes near this size. A corrupt entry must not choose how much we allocate.
constexpr uint64_t kMostUnpacked = 256ull << 20;

template <typename T>
T field(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  if (offset + sizeof value > bytes.size()) throw FatbinError("fat binary ends within a header");
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

FatbinEntry read_entry(std::span<const uint8_t> bytes, size_t header, size_t payload) {
  FatbinEntry entry;
  entry.kind = static_cast<FatbinEntry::Kind>(field<uint16_t>(bytes, 0));
  entry.architecture = field<uint32_t>(bytes, 28);
  const auto flags = field<uint64_t>(bytes, 40);
  entry.suffix = flags & kArchitectureOnly ? 'a' : flags & kFamily ? 'f' : '\0';
  entry.payload = bytes.subspan(header, payload);

  if (const auto at = field<uint32_t>(bytes, 32), length = field<uint32_t>(bytes, 36);
      length != 0 && at <= header && length <= header - at) {
    entry.name = {reinterpret_cast<const char*>(bytes.data()) + at, length};
  }
  if (flags & (kLz4 | kZstd)) {
    entry.packing = flags & kLz4 ? FatbinEntry::Packing::lz4 : FatbinEntry::Packing::zstd;
    entry.unpacked_bytes = field<uint64_t>(bytes, 56);
    const auto packed = field<uint32_t>(bytes, 16);
    if (packed > payload) throw FatbinError("a compressed entry of the fat binary is longer than its place");
    if (packed != 0) entry.payload = entry.payload.first(packed);
  }
  return entry;
}

bool is_text(uint8_t c) { return (c >= 0x20 && c < 0x7f) || (c >= 0x09 && c <= 0x0d) || c >= 0x80; }

}  // namespace

std::span<const uint8_t> fatbin_extent(std::span<const uint8_t> bytes) {
  if (field<uint32_t>(bytes, 0) != kFatbinMagic) throw FatbinError("not a fat binary");
  const size_t header = field<uint16_t>(bytes, 6);
  const auto size = field<uint64_t>(bytes, 8);
  if (header < 16 || header > bytes.size() || size > bytes.size() - header) {
    throw FatbinError("fat binary is cut off");
  }
  return bytes.first(header + size);
}

std::vector<FatbinEntry> read_fatbin(std::span<const uint8_t> bytes) {
  std::span<const uint8_t> rest = fatbin_extent(bytes);
  rest = rest.subspan(field<uint16_t>(bytes, 6));
  std::vector<FatbinEntry> entries;
  while (!rest.empty()) {
    const size_t header = field<uint32_t>(rest, 4);
    const auto payload = field<uint64_t>(rest, 8);
    if (header < kEntryHeader || header > rest.size() || payload > rest.size() - header) {
      throw FatbinError("an entry of the fat binary is cut off");
    }
    entries.push_back(read_entry(rest.first(header + payload), header, payload));
    rest = rest.subspan(header + payload);
  }
  return entries;
}

std::string unpack(const FatbinEntry& entry) {
  std::string text;
  const auto* from = reinterpret_cast<const char*>(entry.payload.data());
  if (entry.packing == FatbinEntry::Packing::plain) {
    text.assign(from, entry.payload.size());
  } else {
    if (entry.unpacked_bytes > kMostUnpacked)
      throw FatbinError("an entry of the fat binary claims to unpack to too much");
    text.resize(entry.unpacked_bytes);
    size_t got;
    if (entry.packing == FatbinEntry::Packing::lz4) {
      // LZ4 takes int; the payload's length is a u32 field.
      if (entry.payload.size() > kMostUnpacked) throw FatbinError("an entry of the fat binary is too long");
      const int n =
          LZ4_decompress_safe(from, text.data(), static_cast<int>(entry.payload.size()), static_cast<int>(text.size()));
      if (n < 0) throw FatbinError("an entry of the fat binary does not decompress (LZ4)");
      got = static_cast<size_t>(n);
    } else {
      got = ZSTD_decompress(text.data(), text.size(), from, entry.payload.size());
      if (ZSTD_isError(got)) throw FatbinError("an entry of the fat binary does not decompress (zstd)");
    }
    if (got != text.size()) throw FatbinError("an entry of the fat binary unpacks to less than it promises");
  }
  if (entry.kind == FatbinEntry::Kind::ptx) {
    if (const size_t end = text.find('\0'); end != std::string::npos) text.resize(end);
  }
  return text;
}

bool runs_on(uint32_t architecture, char suffix, uint32_t major, uint32_t minor) {
  const uint32_t device = 10 * major + minor;
  switch (suffix) {
    case 'a':
      return architecture == device;
    case 'f':
      return architecture / 10 == major && architecture <= device;
    default:
      return architecture <= device;
  }
}

const FatbinEntry* best_ptx(std::span<const FatbinEntry> entries, uint32_t major, uint32_t minor) {
  const auto usable = [&](const FatbinEntry& e) {
    return e.kind == FatbinEntry::Kind::ptx && runs_on(e.architecture, e.suffix, major, minor);
  };
  // The driver takes the more special of two entries for one architecture.
  const auto rank = [](const FatbinEntry& e) {
    return 3ull * e.architecture + (e.suffix == 'a' ? 2 : e.suffix == 'f' ? 1 : 0);
  };
  const FatbinEntry* best = nullptr;
  for (const FatbinEntry& entry : entries) {
    if (usable(entry) && (best == nullptr || rank(entry) > rank(*best))) best = &entry;
  }
  return best;
}

std::string_view bare_ptx(std::span<const uint8_t> bytes) {
  const auto end = std::find_if_not(bytes.begin(), bytes.end(), is_text);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(end - bytes.begin()));
  constexpr std::string_view kVersion = ".version";
  size_t first = std::string_view::npos;
  for (size_t at = 0; (at = text.find(kVersion, at)) != std::string_view::npos; at += kVersion.size()) {
    // A directive stands at the start of a line, behind blanks at most; the word also occurs in comments.
    const size_t before = text.substr(0, at).find_last_not_of(" \t");
    if (before != std::string_view::npos && text[before] != '\n') continue;
    if (first != std::string_view::npos) return text.substr(0, at);
    first = at;
  }
  // Comments may precede the directive; a page of something else does not make PTX.
  if (first == std::string_view::npos || first > 4096) return {};
  return text;
}

}  // namespace coalesce::cudart
