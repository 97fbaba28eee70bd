// The bytes that L2 writes back, against those that kernels of known footprints made an H100 write.
#include "machine/time/write_back.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace coalesce::machine {
namespace {

constexpr double kMega = 1 << 20, kL2 = 50 * kMega;

Stores stores_of(const nlohmann::json& row) {
  if (!row.contains("width"))
    return {.stored = row["stored"].get<double>() * kMega,
            .stored_lines = row["stored"].get<double>() * kMega,
            .loaded = row["loaded"].get<double>() * kMega};
  const double sectors = row["sectors"].get<double>(), stride = row["stride"].get<double>();
  return {.stored = 32 * sectors,
          .stored_lines = std::min(stride, 128.0) * sectors,
          .partial = row["width"] == 32 ? 0 : 32 * sectors,
          .partial_sectors = std::max(1.0, 128 / stride)};
}

// Within 10 % of all bytes that DRAM moved, for nine of ten kernels that moved more than L2's lines do by themselves.
TEST(WriteBack, IsWhatWasMeasured) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/write_back.jsonl");
  std::string line;
  std::getline(file, line);
  int kernels = 0, near = 0;
  while (std::getline(file, line)) {
    const auto row = nlohmann::json::parse(line);
    const double measured = row["read"].get<double>() + row["written"].get<double>();
    if (measured < kMega) continue;
    const WriteBack w = write_back(stores_of(row), kL2);
    const double loaded = row.contains("width") ? 0
                                                : row["loaded"].get<double>() +
                                                      row["changed"].get<double>() * row["stored"].get<double>();
    const double moved = loaded * kMega + w.written + w.before + w.filled;
    ++kernels;
    near += std::abs(moved - measured) <= 0.1 * measured;
  }
  EXPECT_GE(kernels, 100);
  EXPECT_GE(10 * near, 9 * kernels);
}

// The part of local stores, where each thread stores its words once, within 0.06. Of the words that the threads store
// in global memory beside them, those come to DRAM that L2 does not let wait.
TEST(WriteBack, OfLocalMemoryIsWhatWasMeasured) {
  constexpr double kResident = 132 * 2048;
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/local_memory.jsonl");
  std::string line;
  std::getline(file, line);
  int kernels = 0;
  while (std::getline(file, line)) {
    const auto row = nlohmann::json::parse(line);
    if (row["turns"] != 1) continue;
    const double threads = row["blocks"].get<double>() * 256, results = 4 * threads;
    const double beside = write_back({.stored = results, .stored_lines = results}, kL2).written;
    const double measured = (row["written"].get<double>() - beside) / row["stored"].get<double>();
    const double resident = 4 * row["words"].get<double>() * std::min(threads, kResident);
    EXPECT_NEAR(written_local(resident, kL2), measured, 0.06) << line;
    ++kernels;
  }
  EXPECT_EQ(kernels, 12);
  EXPECT_EQ(written_local(0, kL2), 0);
}

TEST(WriteBack, IsNothingOfASmallLaunch) {
  const WriteBack w = write_back({.stored = 8 * kMega, .stored_lines = 8 * kMega, .loaded = 8 * kMega}, kL2);
  EXPECT_EQ(w.written + w.before + w.filled, 0);
  EXPECT_EQ(write_back({}, kL2).written, 0);
}

// Lines that all multiprocessors load lie in L2 twice.
TEST(WriteBack, GrowsWithTheReaders) {
  Stores s{.stored = 16 * kMega, .stored_lines = 16 * kMega, .loaded = 24 * kMega};
  const double once = write_back(s, kL2).written;
  s.readers = 132;
  EXPECT_GT(write_back(s, kL2).written, once);
}

}  // namespace
}  // namespace coalesce::machine
