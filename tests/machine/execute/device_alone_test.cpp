// The device's runtime, as a thread alone asks it: about graphs and their nodes, and for the errors that it keeps.
#include <gtest/gtest.h>

#include <map>

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

TEST(DeviceAlone, CopiesAndFillsAreWork) {
  DeviceAlone d;
  const uint64_t to = d.thread.base() + 512, from = d.thread.base();
  EXPECT_EQ(d.call("__cudaCDP2MemcpyAsync", {to, from, 64, 3, 0}), 0u);
  EXPECT_EQ(d.call("__cudaCDP2Memcpy2DAsync", {to, 32, from, 16, 8, 4, 3, 3}), 0u);
  EXPECT_EQ(d.call("__cudaCDP2MemsetAsync", {to, 0x1ff, 64, 0}), 0u);
  EXPECT_EQ(d.call("__cudaCDP2Memset2DAsync", {to, 32, 7, 8, 4, 3}), 0u);
  const std::vector<DeviceWork> work = d.runtime.take();
  ASSERT_EQ(work.size(), 4u);
  for (std::size_t k = 0; k < 4; ++k) {
    const DeviceWork& w = work[k];
    const bool copies = k < 2, rows = k % 2 == 1;
    EXPECT_EQ(w.kind, copies ? DeviceWork::Kind::copy : DeviceWork::Kind::fill) << k;
    EXPECT_TRUE(w.to == to && w.from == (copies ? from : 0) && w.bytes == (rows ? 8 : 64) && w.rows == (rows ? 4 : 1));
    EXPECT_TRUE(w.to_pitch == (rows ? 32 : 0) && w.from_pitch == (k == 1 ? 16 : 0) && w.tail == rows);
    EXPECT_EQ(w.value, k == 2 ? 0xff : k == 3 ? 7 : 0);
  }
  for (uint64_t flags = 0; flags < 4; ++flags) {
    EXPECT_EQ(d.call("__cudaCDP2StreamCreateWithFlags", {from, flags}), flags > 1 ? 1u : 0u);
    EXPECT_EQ(d.call("__cudaCDP2EventCreateWithFlags", {from, flags}), flags == 2 ? 0u : 1u);
  }
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

// A launch begins with nothing of the one before: no work, no buffers, no errors; its own depth, which a tail keeps;
// and memory from the first part's beginning on, while parts behind it are given back.
TEST(DeviceAlone, ALaunchBeginsAnew) {
  DeviceAlone d;
  const auto find = [](uint64_t, DeviceRuntime::Kernel& k) { return k.name = "child", k.parameter_bytes = 8, true; };
  std::vector<uint64_t> firsts;
  for (const uint32_t depth : {0u, 5u, 2047u, 2048u}) {
    d.runtime.begin(find, depth, {});
    EXPECT_EQ(d.last_error(), 0u);
    const std::vector<uint64_t> shape{1, 1, 1, 1, 32, 1, 1, 0};
    const uint64_t buffer = d.call("__cudaCDP2GetParameterBufferV2", shape);
    if (depth == 2048) {
      EXPECT_EQ(buffer, 0u);
      EXPECT_EQ(d.last_error(), 69u) << "no deeper";
      continue;
    }
    firsts.push_back(buffer);
    EXPECT_EQ(buffer % 32, 16u);
    const uint64_t other = d.call("__cudaCDP2GetParameterBufferV2", shape);
    EXPECT_EQ(other, buffer + 256) << "on lines of its own";
    EXPECT_EQ(d.call("__cudaCDP2LaunchDeviceV2", {buffer, 0}), 0u);
    EXPECT_EQ(d.call("__cudaCDP2LaunchDeviceV2", {other, 3}), 0u);
    const std::vector<DeviceWork> work = d.runtime.take();
    ASSERT_EQ(work.size(), 2u);
    EXPECT_TRUE(!work[0].tail && work[0].depth == depth + 1 && work[1].tail && work[1].depth == depth);
    // Left behind: a buffer, work, an error.
    const uint64_t left = d.call("__cudaCDP2GetParameterBufferV2", shape);
    EXPECT_EQ(d.call("__cudaCDP2LaunchDeviceV2", {d.call("__cudaCDP2GetParameterBufferV2", shape), 0}), 0u);
    EXPECT_EQ(d.call("__cudaCDP2LaunchDeviceV2", {7, 0}), 1u);
    d.runtime.begin(find, depth, {});
    EXPECT_EQ(d.call("__cudaCDP2PeekAtLastError", {}), 0u);
    EXPECT_EQ(d.call("__cudaCDP2LaunchDeviceV2", {left, 0}), 1u) << "the buffer is the earlier launch's";
    EXPECT_TRUE(d.runtime.take().empty());
  }
  EXPECT_EQ(firsts, (std::vector<uint64_t>(3, firsts[0])));
}

// Parts are as large as they must be, and what is given lies in one of them, apart from all else.
TEST(DeviceAlone, BuffersOfEverySize) {
  DeviceAlone d;
  for (int launch = 0; launch < 3; ++launch) {
    d.runtime.begin({}, 0, {});
    std::map<uint64_t, uint64_t> given;
    const Allocation* part = nullptr;  // the first
    for (const uint64_t bytes :
         {1u, 239u, 240u, 241u, 496u, 497u, 65000u, 65520u, 65521u, 100u, 200000u, 240u, 64000u, 1u})
      for (int twice = 0; twice < 2; ++twice) {
        const uint64_t at = d.call("__cudaCDP2GetParameterBuffer", {16, bytes});
        ASSERT_NE(at, 0u);
        EXPECT_EQ(at % 256, 16u);
        const Allocation* a = d.memory.find(at);
        ASSERT_NE(a, nullptr);
        if (!part) part = a;
        const uint64_t whole = (bytes + 15) / 16 * 16;
        EXPECT_LE(at + whole, a->base + a->size) << bytes;
        const auto next = given.lower_bound(at);
        if (next != given.end()) EXPECT_LE(at + whole, next->first);
        if (next != given.begin()) EXPECT_GE(at, std::prev(next)->first + std::prev(next)->second);
        given[at] = whole;
      }
    const uint64_t base = part->base, end = base + part->size;
    d.runtime.take();
    uint32_t gone = 0;
    for (const auto& [at, bytes] : given) {
      const bool stays = base <= at && at < end;
      EXPECT_EQ(d.memory.find(at) != nullptr, stays);
      gone += !stays;
    }
    EXPECT_GT(gone, 0u);
  }
}

}  // namespace
}  // namespace alone
}  // namespace coalesce::machine::test
