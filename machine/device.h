// The devices the machine can stand for: a table of public specifications. The default is an H200.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace coalesce::machine {

struct Device {
  std::string_view key;           // "h200": what --device takes
  std::string_view name;          // "NVIDIA H200": what programs are told
  uint32_t major = 9, minor = 0;  // compute capability
  uint32_t multiprocessors = 0;
  uint64_t memory_bytes = 0;
  uint32_t clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  uint64_t l2_bytes = 0;
  uint32_t shared_per_block = 48 * 1024;  // without opting in
  uint32_t shared_per_block_optin = 0;
  uint32_t shared_per_multiprocessor = 0;
  uint32_t shared_reserved_per_block = 0;  // bytes the driver takes for itself
  uint32_t registers_per_multiprocessor = 65536;
  uint32_t registers_per_block = 65536;
  uint32_t threads_per_multiprocessor = 2048;
  uint32_t blocks_per_multiprocessor = 32;
  uint32_t threads_per_block = 1024;
  // Multiprocessors that can have blocks of a cluster, by group; none: not known. They differ from chip to chip.
  std::array<uint8_t, 12> groups{};
};

std::span<const Device> devices();
// The device of this key, case-insensitive. Null: no such device.
const Device* find_device(std::string_view key);

}  // namespace coalesce::machine
