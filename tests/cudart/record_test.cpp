#include "cudart/record.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace coalesce::cudart {
namespace {

class RecordFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "coalesce_record_XXXXXX";
    const int file = mkstemp(name.data());
    ASSERT_GE(file, 0);
    close(file);
    path_ = name;
  }
  void TearDown() override { unlink(path_.c_str()); }

  std::vector<nlohmann::json> lines() const {
    std::ifstream file(path_);
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  const machine::Device& device() const { return *machine::find_device("h200"); }

  std::string path_;
};

machine::LaunchReport report(uint64_t sectors) {
  machine::LaunchReport r;
  r.seconds = 0.5;
  r.counters.global_load_sectors = sectors;
  r.lines.push_back({{"dir/\"odd\"\n.cu", 12, 3}, 40, r.counters});
  return r;
}

TEST_F(RecordFile, HoldsEveryLine) {
  Record record(path_, device());
  const machine::LaunchConfig config{
      .grid = {4, 2, 1}, .block = {256, 1, 1}, .dynamic_shared_bytes = 64, .parameters = {}};
  record.launch(3, "_Z1kv", config, report(8), false);
  record.launch(3, "_Z1kv", config, report(8), false);
  auto faulty = report(9);
  faulty.fault = machine::Fault::illegal_address;
  machine::Diagnostic d;
  d.fault = faulty.fault;
  d.message = "load of 4 bytes";
  d.place = {"a.cu", 7, 1};
  faulty.diagnostics.push_back(d);
  record.launch(3, "_Z1kv", config, faulty, true);
  record.copy(CopyPath::h2d, 100);
  record.copy(CopyPath::h2d, 11);
  record.end();
  record.copy(CopyPath::h2d, 1);
  record.launch(3, "_Z1kv", config, report(8), false);

  const auto all = lines();
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[0]["record"], "coalesce.record/1");
  EXPECT_EQ(all[0]["device"]["key"], "h200");
  EXPECT_EQ(all[0]["device"]["compute_capability"], (std::vector<int>{9, 0}));
  EXPECT_EQ(all[0]["pid"], getpid());
  EXPECT_EQ(all[1], (nlohmann::json{{"kernel", 3}, {"name", "_Z1kv"}}));
  EXPECT_EQ(all[2]["launch"], 0);
  EXPECT_EQ(all[2]["grid"], (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(all[2]["dynamic_shared_bytes"], 64);
  EXPECT_EQ(all[2]["seconds"], 0.5);
  EXPECT_EQ(all[2]["counters"].size(), machine::kCounterCount);
  EXPECT_EQ(all[2]["counters"]["global_load_sectors"], 8);
  EXPECT_EQ(all[2]["lines"][0], (nlohmann::json{"dir/\"odd\"\n.cu", 12, 40, {{"global_load_sectors", 8}}}));
  EXPECT_FALSE(all[3].contains("lines")) << "as in the launch before";
  EXPECT_EQ(all[4]["launch"], 2);
  EXPECT_EQ(all[4]["fault"], "illegal_address");
  EXPECT_EQ(all[4]["interrupted"], true);
  EXPECT_TRUE(all[4].contains("lines"));
  EXPECT_EQ(all[5]["diagnostic"]["message"], "load of 4 bytes");
  EXPECT_EQ(all[5]["diagnostic"]["line"], 7);
  EXPECT_EQ(all[6]["copies"]["h2d"], (nlohmann::json{{"calls", 2}, {"bytes", 111}}));
  EXPECT_EQ(all[7], (nlohmann::json{{"end", true}}));
}

TEST_F(RecordFile, AForkedChildWritesNothing) {
  Record record(path_, device());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    record.launch(0, "k", {}, report(1), false);
    record.end();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(lines().size(), 1u);
  record.end();
  EXPECT_EQ(lines().size(), 3u);
}

TEST_F(RecordFile, TheFirstRunIsKept) {
  Record first(path_, device());
  Record while_open(path_, device());
  while_open.end();
  first.end();
  ASSERT_EQ(lines().size(), 3u);
  Record later(path_, device());
  later.end();
  EXPECT_EQ(lines().size(), 3u);
}

TEST(Record, UnwritablePathIsNoFailure) {
  Record record("/nonexistent/folder/record", *machine::find_device("t4"));
  record.launch(0, "k", {}, report(1), false);
  record.end();
}

}  // namespace
}  // namespace coalesce::cudart
