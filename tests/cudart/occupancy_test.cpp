#include "cudart/api/occupancy.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "api.h"
#include "cudart/api/launch.h"

namespace coalesce::cudart {

extern "C" {
cudaError_t cudaOccupancyMaxActiveClusters(int*, const void*, const cudaLaunchConfig_t*);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int*, const void*, const cudaLaunchConfig_t*);
}

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

// Every figure of an H100 for kernels of these registers, in tests/truth/occupancy.jsonl, whose first line explains it.
TEST(Occupancy, AsAnH100Says) {
  using Json = nlohmann::json;
  std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/occupancy.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const Json axes = Json::parse(line);
  const machine::Device& h100 = *machine::find_device("h100");
  const std::function<uint64_t(uint32_t)> variable[] = {
      [](uint32_t threads) { return 4 * threads; }, [](uint32_t threads) { return 100 * threads; },
      [](uint32_t threads) { return threads % 64 == 0 ? 40000u : 1000u; }};
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    const Json row = Json::parse(line);
    SCOPED_TRACE(line.substr(0, 60));
    machine::KernelInfo kernel;
    kernel.registers = row["registers"];
    kernel.static_shared_bytes = row["shared"];
    if (row["bound"] != 0) kernel.max_threads = row["bound"];
    EXPECT_EQ(most_threads(h100, kernel), row["most"]);
    const auto best = [&](const std::function<uint64_t(uint32_t)>& shared, uint32_t limit) {
      const BestBlock b = best_block(h100, kernel, shared, limit);
      return Json{b.threads, b.blocks * h100.multiprocessors};
    };
    Json active, of_dynamic, of_variable, available;
    for (const uint64_t dynamic : axes["dynamic"]) {
      Json& to = active.emplace_back();
      for (const uint32_t threads : axes["threads"])
        to.push_back(blocks_per_multiprocessor(h100, kernel, threads, dynamic));
    }
    for (const uint64_t dynamic : axes["best_dynamic"]) {
      Json& to = of_dynamic.emplace_back();
      for (const uint32_t limit : axes["limit"]) to.push_back(best([&](uint32_t) { return dynamic; }, limit));
    }
    for (const auto& shared : variable) {
      Json& to = of_variable.emplace_back();
      for (const uint32_t limit : axes["variable_limit"]) to.push_back(best(shared, limit));
    }
    for (const uint32_t threads : axes["available_threads"]) {
      Json& to = available.emplace_back();
      for (const uint32_t blocks : axes["available_blocks"]) {
        const auto bytes = available_shared(h100, kernel, blocks, threads);
        to.push_back(bytes ? Json(*bytes) : Json(-1));
      }
    }
    EXPECT_EQ(active, row["active"]);
    EXPECT_EQ(of_dynamic, row["best"]);
    EXPECT_EQ(of_variable, row["variable"]);
    EXPECT_EQ(available, row["available"]);
  }
  EXPECT_EQ(rows, 23);
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
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(nullptr, &store_, &config), cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &store_, nullptr), cudaErrorInvalidValue);
}

// An H100 gives these figures, by the blocks of a cluster.
TEST_F(Clusters, AsManyAsOnAnH100) {
  struct Row {
    unsigned threads;
    size_t dynamic;
    int clusters[8];
  };
  cudaLaunchAttribute size{cudaLaunchAttributeClusterDimension, {}, {}};
  size.value.clusterDim[1] = size.value.clusterDim[2] = 1;
  int clusters = 0;
  const auto ask = [&](unsigned blocks, unsigned grid, unsigned threads, size_t dynamic) {
    size.value.clusterDim[0] = blocks;
    const cudaLaunchConfig_t config{{grid, 1, 1}, {threads, 1, 1}, dynamic, nullptr, &size, 1};
    return cudaOccupancyMaxActiveClusters(&clusters, &store_, &config);
  };
  for (const Row& row : {Row{32, 0, {1056, 528, 327, 248, 193, 163, 139, 124}},
                         {96, 32768, {792, 396, 248, 186, 146, 124, 101, 92}},
                         {128, 50000, {528, 264, 163, 124, 94, 79, 69, 62}},
                         {32, 76000, {396, 198, 124, 92, 69, 62, 47, 45}},
                         {64, 115000, {264, 132, 79, 62, 47, 39, 32, 30}},
                         {64, 232448, {132, 66, 39, 30, 22, 17, 15, 15}}})
    for (unsigned blocks = 1; blocks <= 8; ++blocks) {
      ASSERT_EQ(ask(blocks, 1024 * blocks, row.threads, row.dynamic), cudaSuccess);
      EXPECT_EQ(clusters, row.clusters[blocks - 1]) << row.dynamic << ", " << blocks;
    }
  EXPECT_EQ(ask(16, 16, 32, 0), cudaErrorInvalidClusterSize);
  EXPECT_EQ(ask(2, 3, 32, 0), cudaErrorInvalidClusterSize);
  EXPECT_EQ(ask(2, 0, 32, 0), cudaErrorInvalidValue);
  const cudaLaunchConfig_t plain{{16, 1, 1}, {32, 1, 1}, 0, nullptr, nullptr, 0};
  int largest = 0;
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&largest, &store_, &plain), cudaSuccess);
  EXPECT_EQ(largest, 8);
  ASSERT_EQ(cudaFuncSetAttribute(&store_, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), cudaSuccess);
  const int larger[] = {102, 88, 81, 74, 67, 65, 58, 58};
  for (unsigned blocks = 9; blocks <= 16; ++blocks) {
    ASSERT_EQ(ask(blocks, 1024 * blocks, 32, 0), cudaSuccess);
    EXPECT_EQ(clusters, larger[blocks - 9]) << blocks;
  }
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&largest, &store_, &plain), cudaSuccess);
  EXPECT_EQ(largest, 16);
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
