// Reads what compilers embed for the device: NVIDIA's fat binaries (a container of PTX and machine code, plain or
// compressed with LZ4 or zstd), or bare PTX text, which clang embeds when it is given PTX in place of a fat binary.
// Depends on nothing of CUDA; takes any bytes, reads none beyond them, and throws FatbinError for what is malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace coalesce::cudart {

inline constexpr uint32_t kWrapperMagic = 0x466243b1;  // first word of the record that points to a fat binary
inline constexpr uint32_t kFatbinMagic = 0xba55ed50;

struct FatbinError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FatbinEntry {
  enum class Kind : uint16_t { ptx = 1, elf = 2 };  // other values occur and are kept as they are
  enum class Packing : uint8_t { plain, lz4, zstd };
  Kind kind{};
  Packing packing = Packing::plain;
  uint32_t architecture = 0;  // 90: compute capability 9.0
  char suffix = 0;        // 'a': only this architecture; 'f': this family (same major number); 0: this and later ones
  std::string_view name;  // of the source file, where the compiler recorded it
  std::span<const uint8_t> payload;
  uint64_t unpacked_bytes = 0;  // as promised by the entry; 0: payload is plain
};

// The bytes of the whole container, header included, as its header says. `bytes` may be longer. Throws when it is
// shorter.
std::span<const uint8_t> fatbin_extent(std::span<const uint8_t> bytes);

// The entries in order; they refer to `bytes`.
std::vector<FatbinEntry> read_fatbin(std::span<const uint8_t> bytes);

// The entry's content unpacked. PTX ends where its text ends (padding is dropped).
std::string unpack(const FatbinEntry& entry);

// Whether a device of compute capability major.minor runs PTX for an architecture with that suffix.
bool runs_on(uint32_t architecture, char suffix, uint32_t major, uint32_t minor);

// The PTX to use on a device of compute capability major.minor: the newest that the device can take. Null: none.
const FatbinEntry* best_ptx(std::span<const FatbinEntry> entries, uint32_t major, uint32_t minor);

// The text when `bytes` starts with PTX rather than with a container, else empty. Ends before the first byte that is no
// text and before a second module (the linker puts several translation units' texts end to end).
std::string_view bare_ptx(std::span<const uint8_t> bytes);

}  // namespace coalesce::cudart
