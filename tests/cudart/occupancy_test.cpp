#include <gtest/gtest.h>

#include "api.h"
#include "cudart/api/launch.h"

namespace coalesce::cudart {

extern "C" cudaError_t cudaOccupancyMaxActiveClusters(int*, const void*, const cudaLaunchConfig_t*);

namespace {

struct Case {
  const char* device;
  uint32_t registers, shared, threads, dynamic, blocks;
};

// Worked by hand from the programming guide's limits; the comment names the limit that binds.
TEST(Occupancy, SmallestOfTheLimits) {
  const Case cases[] = {
      {"h200", 16, 0, 32, 0, 32},               // blocks
      {"h200", 16, 0, 1024, 0, 2},              // threads: 2048
      {"h200", 32, 0, 256, 0, 8},               // threads
      {"h200", 64, 0, 256, 0, 4},               // registers: 32 warps at 2048 each
      {"h200", 255, 0, 256, 0, 1},              // registers: 8 warps at 8192
      {"h200", 255, 0, 257, 0, 0},              // registers: 9 warps do not fit
      {"h200", 33, 0, 1024, 0, 1},              // registers: 33 round up to 40
      {"h200", 16, 48 * 1024, 128, 0, 4},       // shared: 233472 / (49152 + 1024)
      {"h200", 16, 0, 128, 227 * 1024, 1},      // shared
      {"h200", 16, 0, 128, 227 * 1024 + 1, 0},  // shared: past what a block may have
      {"rtx3090", 16, 0, 1024, 0, 1},           // threads: 1536
      {"rtx3090", 16, 0, 32, 0, 16},            // blocks
      {"t4", 16, 0, 1024, 0, 1},                // threads: 1024
      {"v100", 16, 32 * 1024, 128, 0, 3},       // shared: 98304 / 32768
      {"h200", 16, 0, 0, 0, 0},                 // no threads
  };
  for (const Case& c : cases) {
    machine::KernelInfo kernel;
    kernel.registers = c.registers;
    kernel.static_shared_bytes = c.shared;
    EXPECT_EQ(blocks_per_multiprocessor(*machine::find_device(c.device), kernel, c.threads, c.dynamic), c.blocks)
        << c.device << ' ' << c.registers << ' ' << c.shared << ' ' << c.threads << ' ' << c.dynamic;
  }
}

using Clusters = WithModule;

// store() has few registers: threads bind, 2048 of them on each of 132 multiprocessors.
TEST_F(Clusters, OneOfOneBlockIsABlock) {
  cudaLaunchAttribute size{cudaLaunchAttributeClusterDimension, {}, {}};
  size.value.clusterDim[0] = size.value.clusterDim[1] = size.value.clusterDim[2] = 1;
  cudaLaunchConfig_t config{{}, {512, 2, 1}, 0, nullptr, &size, 1};
  int clusters = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &store_, &config), cudaSuccess);
  EXPECT_EQ(clusters, 2 * 132);
  config.numAttrs = 0;
  clusters = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &store_, &config), cudaSuccess);
  EXPECT_EQ(clusters, 2 * 132);
  config.numAttrs = 1;
  size.value.clusterDim[0] = 2;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &store_, &config), cudaErrorNotSupported);
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(nullptr, &store_, &config), cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &store_, nullptr), cudaErrorInvalidValue);
}

TEST(Devices, KeysAreCaseInsensitiveAndUnique) {
  EXPECT_EQ(machine::find_device("H200"), machine::find_device("h200"));
  EXPECT_EQ(machine::find_device("h20"), nullptr);
  EXPECT_EQ(machine::find_device(""), nullptr);
  for (const auto& d : machine::devices()) {
    EXPECT_EQ(machine::find_device(d.key), &d);
    EXPECT_GE(d.shared_per_multiprocessor, d.shared_per_block_optin + d.shared_reserved_per_block) << d.key;
  }
}

}  // namespace
}  // namespace coalesce::cudart
