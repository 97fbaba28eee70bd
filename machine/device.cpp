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
struct Capability {
  uint32_t major, minor;
  uint32_t shared_kib, optin_kib, reserved_bytes;
  uint32_t threads, blocks;
};

// clang-format off
constexpr Capability kCapabilities[] = {
    //        shared memory: a multiprocessor's KiB, a block's at most, the driver's bytes a block; threads, blocks
    {6, 0,    64,  48,  0,     2048, 32},
    {6, 1,    96,  48,  0,     2048, 32},
    {7, 0,    96,  96,  0,     2048, 32},
    {7, 5,    64,  64,  0,     1024, 16},
    {8, 0,    164, 163, 1024,  2048, 32},
    {8, 6,    100, 99,  1024,  1536, 16},
    {8, 9,    100, 99,  1024,  1536, 24},
    {9, 0,    228, 227, 1024,  2048, 32},
    {10, 0,   228, 227, 1024,  2048, 32},
    {12, 0,   100, 99,  1024,  1536, 24},
    {12, 1,   100, 99,  1024,  1536, 24},
};
// clang-format on

constexpr Device capability(uint32_t major, uint32_t minor) {
  const Capability* c = kCapabilities;
  while (c->major != major || c->minor != minor) ++c;  // a constant expression: a row that is missing does not compile
  Device d;
  d.major = major;
  d.minor = minor;
  d.shared_per_multiprocessor = c->shared_kib * 1024;
  d.shared_per_block_optin = c->optin_kib * 1024;
  d.shared_reserved_per_block = c->reserved_bytes;
  d.threads_per_multiprocessor = c->threads;
  d.blocks_per_multiprocessor = c->blocks;
  // Which %smid an H100's clusters have together.
  if (major == 9) d.groups = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
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
