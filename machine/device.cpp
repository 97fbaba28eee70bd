// Sources: NVIDIA's architecture white papers and data sheets, the table of technical specifications per compute
// capability in the CUDA programming guide, and what deviceQuery prints. memory_bytes is what nvidia-smi lists as
// total; the real driver tells programs a little less, by an amount that depends on its version.
#include "machine/device.h"

#include <algorithm>
#include <cctype>

namespace coalesce::machine {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// The figures that follow from the compute capability alone.
constexpr Device capability(uint32_t major, uint32_t minor) {
  Device d;
  d.major = major;
  d.minor = minor;
  switch (10 * major + minor) {
    case 60:
      d.shared_per_multiprocessor = 64 * 1024;
      d.shared_per_block_optin = 48 * 1024;
      break;
    case 61:
      d.shared_per_multiprocessor = 96 * 1024;
      d.shared_per_block_optin = 48 * 1024;
      break;
    case 70:
      d.shared_per_multiprocessor = 96 * 1024;
      d.shared_per_block_optin = 96 * 1024;
      break;
    case 75:
      d.shared_per_multiprocessor = 64 * 1024;
      d.shared_per_block_optin = 64 * 1024;
      d.threads_per_multiprocessor = 1024;
      d.blocks_per_multiprocessor = 16;
      break;
    case 80:
      d.shared_per_multiprocessor = 164 * 1024;
      d.shared_per_block_optin = 163 * 1024;
      d.shared_reserved_per_block = 1024;
      break;
    case 86:
      d.shared_per_multiprocessor = 100 * 1024;
      d.shared_per_block_optin = 99 * 1024;
      d.shared_reserved_per_block = 1024;
      d.threads_per_multiprocessor = 1536;
      d.blocks_per_multiprocessor = 16;
      break;
    case 89:
      d.shared_per_multiprocessor = 100 * 1024;
      d.shared_per_block_optin = 99 * 1024;
      d.shared_reserved_per_block = 1024;
      d.threads_per_multiprocessor = 1536;
      d.blocks_per_multiprocessor = 24;
      break;
    case 120:
    case 121:
      d.shared_per_multiprocessor = 100 * 1024;
      d.shared_per_block_optin = 99 * 1024;
      d.shared_reserved_per_block = 1024;
      d.threads_per_multiprocessor = 1536;
      d.blocks_per_multiprocessor = 24;
      break;
    default:  // 90, 100
      d.shared_per_multiprocessor = 228 * 1024;
      d.shared_per_block_optin = 227 * 1024;
      d.shared_reserved_per_block = 1024;
      // Which %smid an H100's clusters have together.
      if (d.major == 9) d.groups = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  }
  return d;
}

struct Product {
  std::string_view key, name;
  uint32_t multiprocessors;
  uint64_t memory_mib;
  uint32_t clock_mhz, memory_clock_mhz, memory_bus_bits;
  uint64_t l2_kib;
};

constexpr Device product(Device d, const Product& p) {
  d.key = p.key;
  d.name = p.name;
  d.multiprocessors = p.multiprocessors;
  d.memory_bytes = p.memory_mib * kMiB;
  d.clock_khz = p.clock_mhz * 1000;
  d.memory_clock_khz = p.memory_clock_mhz * 1000;
  d.memory_bus_bits = p.memory_bus_bits;
  d.l2_bytes = p.l2_kib * 1024;
  return d;
}

// clang-format off
constexpr Device kDevices[] = {
    //                        key        name                       SMs  MiB     MHz   mem.   bits  L2 KiB
    product(capability(9, 0), {"h200",    "NVIDIA H200",             132, 143771, 1980, 3201,  6144, 61440}),
    product(capability(9, 0), {"h100",    "NVIDIA H100 80GB HBM3",   132, 81559,  1980, 2619,  5120, 51200}),
    product(capability(8, 0), {"a100",    "NVIDIA A100-SXM4-80GB",   108, 81920,  1410, 1593,  5120, 40960}),
    product(capability(7, 0), {"v100",    "Tesla V100-SXM2-16GB",    80,  16384,  1530, 877,   4096, 6144}),
    product(capability(7, 5), {"t4",      "Tesla T4",                40,  15360,  1590, 5001,  256,  4096}),
    product(capability(8, 9), {"rtx4090", "NVIDIA GeForce RTX 4090", 128, 24564,  2520, 10501, 384,  73728}),
    product(capability(8, 6), {"rtx3090", "NVIDIA GeForce RTX 3090", 82,  24576,  1695, 9751,  384,  6144}),
    product(capability(8, 9), {"l4",      "NVIDIA L4",               58,  23034,  2040, 6251,  192,  49152}),
    product(capability(10, 0), {"b200",   "NVIDIA B200",             148, 183359, 1965, 3996,  7680, 129536}),
    product(capability(12, 0), {"rtx5090", "NVIDIA GeForce RTX 5090", 170, 32607, 2407, 14001, 512,  98304}),
    // Its memory is the computer's: 128 GB of LPDDR5x, of which programs are told a little less.
    product(capability(12, 1), {"gb10",   "NVIDIA GB10",             48,  122570, 2418, 4266,  256,  24576}),
    product(capability(6, 0), {"p100",    "Tesla P100-SXM2-16GB",    56,  16281,  1480, 715,   4096, 4096}),
    product(capability(6, 1), {"p2000",   "Quadro P2000",            8,   5120,   1480, 3504,  160,  1280}),
};
// clang-format on

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

std::span<const Device> devices() { return kDevices; }

const Device* find_device(std::string_view key) {
  for (const Device& d : kDevices) {
    if (std::ranges::equal(d.key, key, [](char a, char b) { return a == lower(b); })) return &d;
  }
  return nullptr;
}

}  // namespace coalesce::machine
