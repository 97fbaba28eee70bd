#include "machine/memory/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace coalesce::machine {
namespace {

constexpr uint64_t kMebibyte = 1024 * 1024;

class HostMemoryFiles : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("coalesce-host-memory-" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    put("/proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:    8192000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_.string() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::filesystem::path root_;
};

TEST_F(HostMemoryFiles, TheMachine) {
  const HostMemory host = read_host_memory(root_.string());
  EXPECT_EQ(host.total, 16384000ull * 1024);
  EXPECT_EQ(host.available, 8192000ull * 1024);
  EXPECT_EQ(host.spendable(), 8192000ull * 1024 - 512 * kMebibyte);
}

TEST_F(HostMemoryFiles, TheStrictestGroupOfVersion2) {
  put("/proc/self/cgroup", "0::/outer/inner\n");
  put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  put("/sys/fs/cgroup/outer/inner/memory.current", "1\n");
  put("/sys/fs/cgroup/outer/memory.max", std::to_string(1024 * kMebibyte));
  put("/sys/fs/cgroup/outer/memory.current", std::to_string(600 * kMebibyte));
  put("/sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file " + std::to_string(100 * kMebibyte) + "\n");
  const HostMemory host = read_host_memory(root_.string());
  EXPECT_EQ(host.total, 1024 * kMebibyte);
  EXPECT_EQ(host.available, 524 * kMebibyte);
  EXPECT_EQ(host.margin(), 128 * kMebibyte);
}

TEST_F(HostMemoryFiles, Version1WithMoreInUseThanAllowed) {
  put("/proc/self/cgroup", "5:cpu,memory:/job\n1:name=systemd:/\n");
  put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(64 * kMebibyte));
  put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(65 * kMebibyte));
  const HostMemory host = read_host_memory(root_.string());
  EXPECT_EQ(host.total, 64 * kMebibyte);
  EXPECT_EQ(host.available, 0u);
  EXPECT_EQ(host.spendable(), 0u);
}

TEST_F(HostMemoryFiles, UnknownMeansUnlimited) {
  const HostMemory host = read_host_memory(root_.string() + "/nothing-here");
  EXPECT_EQ(host.available, UINT64_MAX);
  EXPECT_GT(host.spendable(), uint64_t{1} << 60);
}

}  // namespace
}  // namespace coalesce::machine
