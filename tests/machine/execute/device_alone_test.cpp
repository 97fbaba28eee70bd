// The device's runtime, as a thread alone asks it: about graphs and their nodes, and for the errors that it keeps.
#include <gtest/gtest.h>

#include "alone.h"
#include "machine/execute/device_runtime.h"

namespace coalesce::machine::test {
namespace alone {
namespace {

using Field = NodeChange::Field;

struct DeviceAlone {
  Memory memory{1 << 24};
  DeviceRuntime runtime{memory, *find_device("h200")};
  ThreadAlone thread;
  std::vector<NodeChange> changes;
  uint32_t answers = 0, wrong_node = 0;  // what the launch and a change of that node return

  explicit DeviceAlone(bool graph = true) {
    GraphAround around;
    if (graph) around.exec = 77;
    if (graph) around.launch = [this](uint64_t, uint64_t) { return answers; };
    if (graph)
      around.change = [this](const NodeChange& c) {
        changes.push_back(c);
        return c.node == wrong_node ? answers : 0;
      };
    runtime.begin({}, 0, around);
    thread.runtime = &runtime;
    thread.block = 3, thread.thread = 5;
  }
  uint64_t call(std::string_view name, const std::vector<uint64_t>& words) {
    uint64_t result = 0;
    const int error = error_of(thread, name, words, &result);
    return error ? static_cast<uint64_t>(error) + 100000 : result;
  }
  uint64_t last_error() { return call("__cudaCDP2GetLastError", {}); }
};

TEST(DeviceAlone, ChangesOfNodes) {
  DeviceAlone d;
  for (int k = 0; k < 64; ++k) d.thread.global[static_cast<std::size_t>(k)] = std::byte{static_cast<uint8_t>(k + 1)};
  EXPECT_EQ(d.call("cudaGraphKernelNodeSetParam", {9, 24, d.thread.base() + 4, 3}), 0u);
  EXPECT_EQ(d.call("cudaGraphKernelNodeSetGridDim", {10, 7, 8, 0x100000006}), 0u);
  for (const uint64_t flag : {0x0u, 0x1u, 0x80u, 0x100u})
    EXPECT_EQ(d.call("cudaGraphKernelNodeSetEnabled", {11, flag}), 0u);
  ASSERT_EQ(d.changes.size(), 6u);
  const NodeChange &p = d.changes[0], &g = d.changes[1];
  EXPECT_TRUE(p.node == 9 && p.field == Field::parameter && p.offset == 24 && !p.asks);
  EXPECT_EQ(p.bytes, (std::vector<uint8_t>{5, 6, 7}));
  EXPECT_TRUE(g.node == 10 && g.field == Field::grid && !g.asks);
  EXPECT_EQ(g.grid, (std::array<uint32_t, 3>{7, 8, 6}));
  for (std::size_t k = 2; k < 6; ++k) {
    EXPECT_TRUE(d.changes[k].node == 11 && d.changes[k].field == Field::enabled);
    EXPECT_EQ(d.changes[k].enabled, k == 3 || k == 4) << "a bool is a byte";
  }
  // As many bytes as a kernel's parameters may have are read; of more, nothing is, and they are too many.
  for (const uint64_t size : {32764u, 32765u, 0x7fffffffu}) {
    d.changes.clear(), d.thread.used.clear();
    EXPECT_EQ(d.call("cudaGraphKernelNodeSetParam", {9, 0, d.thread.base(), size}), 0u);
    EXPECT_EQ(d.changes.at(0).bytes.size(), std::min<uint64_t>(size, 32765));
    EXPECT_EQ(d.thread.used.size(), size == 32764 ? 1u : 0u);
  }
}

// cudaGraphKernelNodeUpdate: a node, the field, then what it becomes.
struct UpdateOfNode {
  uint64_t node;
  uint64_t field;
  uint64_t words[3];
};

TEST(DeviceAlone, SeveralChangesAreMadeOrNone) {
  for (const uint32_t wrong : {0u, 21u, 22u, 23u}) {
    DeviceAlone d;
    d.wrong_node = wrong, d.answers = 1;
    const uint64_t base = d.thread.base();
    const UpdateOfNode updates[] = {
        {21, 1, {2 | uint64_t{3} << 32, 4, 0}}, {22, 2, {base + 512, 16, 8}}, {23, 3, {2, 0, 0}}, {24, 3, {0, 0, 0}}};
    std::memcpy(d.thread.global.data(), updates, sizeof updates);
    d.thread.global[512] = std::byte{42};
    EXPECT_EQ(d.call("cudaGraphKernelNodeUpdatesApply", {base, 4}), wrong ? 1u : 0u);
    ASSERT_EQ(d.changes.size(), wrong ? wrong - 20 : 8u) << wrong;
    for (std::size_t k = 0; k < d.changes.size(); ++k) {
      const NodeChange& c = d.changes[k];
      EXPECT_EQ(c.asks, k < 4) << k;
      EXPECT_EQ(c.node, 21 + k % 4);
      EXPECT_EQ(c.grid, (k % 4 == 0 ? std::array<uint32_t, 3>{2, 3, 4} : std::array<uint32_t, 3>{})) << k;
      EXPECT_EQ(c.enabled, k % 4 == 2) << k;
      EXPECT_EQ(c.offset, k % 4 == 1 ? 16u : 0u);
      EXPECT_EQ(c.bytes, k % 4 == 1 ? (std::vector<uint8_t>{42, 0, 0, 0, 0, 0, 0, 0}) : std::vector<uint8_t>{}) << k;
    }
    EXPECT_EQ(d.last_error(), wrong ? 1u : 0u);
    EXPECT_EQ(d.last_error(), 0u);
  }
}

TEST(DeviceAlone, LaunchesOfGraphs) {
  DeviceAlone d;
  EXPECT_EQ(d.call("cudaGraphLaunch", {78, 3}), 0u);
  const std::vector<DeviceWork> work = d.runtime.take();
  ASSERT_EQ(work.size(), 1u);
  EXPECT_TRUE(work[0].kind == DeviceWork::Kind::graph && work[0].graph == 78 && work[0].stream == 3);
  d.answers = 801;
  EXPECT_EQ(d.call("cudaGraphLaunch", {78, 3}), 801u);
  EXPECT_TRUE(d.runtime.take().empty());
  d.thread.thread = 6;
  EXPECT_EQ(d.last_error(), 0u) << "the error is another thread's";
  d.thread.thread = 5, d.thread.block = 4;
  EXPECT_EQ(d.last_error(), 0u) << "and another block's";
  d.thread.block = 3;
  EXPECT_EQ(d.call("__cudaCDP2PeekAtLastError", {}), 801u);
  EXPECT_EQ(d.last_error(), 801u);
  EXPECT_EQ(d.last_error(), 0u);
  d.answers = 700;
  EXPECT_EQ(d.call("cudaGraphLaunch", {78, 3}), 100700u) << "the thread reads astray";

  DeviceAlone none(false);
  EXPECT_EQ(none.call("cudaGraphLaunch", {78, 3}), 1u);
  EXPECT_EQ(none.call("cudaGraphKernelNodeSetEnabled", {11, 1}), 1u);
  EXPECT_EQ(none.last_error(), 1u);
}

TEST(DeviceAlone, ConditionsLieWhereTheHandleSays) {
  DeviceAlone d;
  EXPECT_EQ(d.call("cudaGraphSetConditional", {d.thread.base() + 8, 0x500000007}), 0u);
  uint32_t words[4];
  std::memcpy(words, d.thread.global.data(), sizeof words);
  EXPECT_EQ(std::vector<uint32_t>(words, words + 4), (std::vector<uint32_t>{0, 0, 7, 0}));
}

// Names and texts as CUDA's headers and runtime have them.
TEST(DeviceAlone, ErrorsHaveNamesAndTexts) {
  const struct {
    uint64_t error;
    const char *name, *text;
  } kErrors[] = {
      {0, "cudaSuccess", "no error"},
      {1, "cudaErrorInvalidValue", "invalid argument"},
      {2, "cudaErrorMemoryAllocation", "out of memory"},
      {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
      {69, "cudaErrorLaunchPendingCountExceeded", "launch would exceed maximum number of outstanding launches"},
      {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
      {801, "cudaErrorNotSupported", "operation not supported"},
      {12345, "unrecognized error code", "unrecognized error code"}};
  DeviceAlone d;
  for (const auto& e : kErrors) {
    EXPECT_STREQ(reinterpret_cast<const char*>(d.call("__cudaCDP2GetErrorName", {e.error})), e.name);
    EXPECT_STREQ(reinterpret_cast<const char*>(d.call("__cudaCDP2GetErrorString", {e.error})), e.text);
  }
}

}  // namespace
}  // namespace alone
}  // namespace coalesce::machine::test
