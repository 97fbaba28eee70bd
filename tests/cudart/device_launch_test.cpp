// Kernels that launch kernels, and graphs whose nodes depend on what kernels say: each executor runs them.
#include <algorithm>
#include <functional>

#include "cudart/core/runtime.h"
#include "graph.h"
#include "tests/device_launches.h"

namespace coalesce::cudart {
extern "C" {
cudaError_t cudaGraphConditionalHandleCreate(unsigned long long*, cudaGraph_t, unsigned, unsigned);
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, const void*, size_t,
                                cudaGraphNodeParams*);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t, cudaGraph_t, const cudaGraphNode_t*, const void*, size_t, int);
}

namespace {

using test::device_launch;
using test::kDeviceRuntimeDeclarations;
using test::kGetLastError;

// note: log[++log[0]] = %r1. tree(log, id, depth): notes id, launches 10 * id + 1 and + 3, and + 2 as a tail launch.
// chain(log, id, depth): counts itself, launches itself again; where that fails, the error is noted.
// count(log, handle of 64 bits): --log[15], which becomes the condition.
std::string device_module() {
  const std::string registers = "{\n.reg .pred %p<8>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n";
  const std::string arguments = "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [b];\nld.param.u32 %r2, [c];\n";
  const std::string note =
      "atom.global.add.u32 %r3, [%rd1], 1;\nadd.u32 %r3, %r3, 1;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd2, %rd2, "
      "%rd1;\nst.global.u32 [%rd2], %r1;\n";
  const std::string head = "(.param .u64 a, .param .u32 b, .param .u32 c)\n";
  return ".version 8.3\n.target sm_90\n.address_size 64\n" + kDeviceRuntimeDeclarations + ".visible .entry tree" +
         head + registers + arguments + note +
         "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra END;\nsub.u32 %r2, %r2, 1;\nmul.lo.u32 %r1, %r1, 10;\n"
         "add.u32 %r1, %r1, 1;\n" +
         device_launch("tree", "1", "1", "0") + "add.u32 %r1, %r1, 1;\n" + device_launch("tree", "1", "1", "3") +
         "add.u32 %r1, %r1, 1;\n" + device_launch("tree", "1", "1", "0") + "END:\nret;\n}\n.visible .entry chain" +
         head + registers + arguments +
         "ld.global.u32 %r5, [%rd1+4];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd1+4], %r5;\n" +
         device_launch("chain", "1", "1", "0") + kGetLastError +
         "setp.ne.u64 %p1, %rd62, 0;\n@%p1 bra END;\nst.global.u32 [%rd1+8], %r61;\nEND:\nret;\n}\n"
         ".visible .entry count(.param .u64 a, .param .u64 b)\n" +
         registers +
         "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.global.u32 %r1, [%rd1+60];\nsub.u32 %r1, %r1, 1;\n"
         "st.global.u32 [%rd1+60], %r1;\nld.global.u32 %r2, [%rd1];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd1], %r2;\n"
         "{\n.param .b64 x;\nst.param.b64 [x], %rd2;\n.param .b32 y;\nst.param.b32 [y], %r1;\n"
         "call.uni cudaGraphSetConditional, (x, y);\n}\nret;\n}\n";
}

class DeviceWorks : public Graphs, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Graphs::SetUp();
    ASSERT_EQ(cudaMemset(device_, 0, kInts * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaLibraryLoadData(&library_, text_.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    runtime().machine().use_plain(GetParam());
  }
  cudaKernel_t kernel(const char* name) {
    cudaKernel_t k = nullptr;
    EXPECT_EQ(cudaLibraryGetKernel(&k, library_, name), cudaSuccess);
    return k;
  }
  cudaError_t run(const char* name, int* to, unsigned id, unsigned depth) {
    void* arguments[] = {&to, &id, &depth};
    EXPECT_EQ(cudaLaunchKernel(kernel(name), {}, {}, arguments, 0, nullptr), cudaSuccess);
    return cudaDeviceSynchronize();
  }
  cudaGraphNode_t count_node(cudaGraph_t graph, unsigned long long handle, std::vector<cudaGraphNode_t> needs = {}) {
    void* arguments[] = {&device_, &handle};
    cudaGraphNodeParams p{};
    p.kernel = {kernel("count"), {}, {}, 0, arguments, nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddNode_v2(&node, graph, needs.data(), nullptr, needs.size(), &p), cudaSuccess);
    return node;
  }
  std::vector<cudaGraph_t> conditional(cudaGraph_t graph, unsigned long long handle, int type, unsigned size,
                                       std::vector<cudaGraphNode_t> needs = {}) {
    cudaGraphNodeParams p{};
    p.type = 13;
    p.conditional = {handle, type, size, nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddNode_v2(&node, graph, needs.data(), nullptr, needs.size(), &p), cudaSuccess);
    return {p.conditional.phGraph_out, p.conditional.phGraph_out + size};
  }
  void set(int index, int value) {
    ASSERT_EQ(cudaMemcpy(device_ + index, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
  }

  const std::string text_ = device_module();
  cudaLibrary_t library_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Executors, DeviceWorks, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Plain" : "Interpreter"; });

TEST_P(DeviceWorks, AKernelEndsWithAllThatItLaunchedAndThenComeItsTails) {
  // The order of CUDA's rules, and an H100's: children of a grid in a stream, with all of theirs, then its tail
  // launches.
  std::vector<int> expected;
  const std::function<void(int, int)> walk = [&](int id, int depth) {
    expected.push_back(id);
    if (depth == 0) return;
    for (const int k : {1, 3, 2}) walk(10 * id + k, depth - 1);
  };
  walk(1, 3);
  int* log = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&log), 64 * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemset(log, 0, 64 * sizeof(int)), cudaSuccess);
  ASSERT_EQ(run("tree", log, 1, 3), cudaSuccess);
  int seen[64];
  ASSERT_EQ(cudaMemcpy(seen, log, sizeof seen, cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_EQ(seen[0], 40);
  EXPECT_EQ(std::vector<int>(seen + 1, seen + 41), expected);
}

TEST_P(DeviceWorks, LaunchesNestAsDeepAsManyMayBePending) {
  ASSERT_EQ(run("chain", device_, 0, 0), cudaSuccess);
  EXPECT_EQ(at(1), 2049) << "the host's kernel and those in it";
  EXPECT_EQ(at(2), 69) << "cudaErrorLaunchPendingCountExceeded";
}

TEST_P(DeviceWorks, AWhileNodeRunsAsLongAsAKernelSaysSo) {
  cudaGraph_t graph = nullptr;
  unsigned long long handle = 0;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&handle, graph, 1, 1), cudaSuccess);
  const auto body = conditional(graph, handle, 1, 1);
  count_node(body[0], handle);
  const auto exec = ready(graph);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (const int n : {7, 1}) {  // the default makes it run again
    set(0, 0);
    set(15, n);
    ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    EXPECT_EQ(at(0), n);
  }
}

TEST_P(DeviceWorks, IfAndSwitchNodesChooseOneBody) {
  for (const int type : {0, 2}) {
    for (const int value : {0, 1, 2, 5}) {
      cudaGraph_t graph = nullptr;
      unsigned long long handle = 0;
      ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
      ASSERT_EQ(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0), cudaSuccess);
      const auto first = count_node(graph, handle);
      const auto bodies = conditional(graph, handle, type, type == 0 ? 2 : 3, {first});
      for (std::size_t k = 0; k < bodies.size(); ++k) kernel_node(bodies[k], 1, 100 + static_cast<int>(k));
      set(1, -1);
      set(15, value + 1);
      ASSERT_EQ(cudaGraphLaunch(ready(graph), stream_), cudaSuccess);
      const int chosen = type == 0 ? (value != 0 ? 0 : 1) : value;
      EXPECT_EQ(at(1), chosen < static_cast<int>(bodies.size()) ? 100 + chosen : -1) << type << " " << value;
    }
  }
}

TEST_P(DeviceWorks, BodiesAreCapturedAndNested) {
  cudaGraph_t graph = nullptr;
  unsigned long long outer = 0, inner = 0;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&outer, graph, 1, 1), cudaSuccess);
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&inner, graph, 1, 1), cudaSuccess);
  const auto body = conditional(graph, outer, 1, 1);
  const auto within = conditional(body[0], inner, 0, 1);  // runs each time: nothing sets `inner`
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(stream_, within[0], nullptr, nullptr, 0, 0), cudaSuccess);
  void* arguments[] = {&device_, &outer};
  ASSERT_EQ(cudaLaunchKernel(kernel("count"), {}, {}, arguments, 0, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream_, nullptr), cudaSuccess);
  set(15, 4);
  ASSERT_EQ(cudaGraphLaunch(ready(graph), stream_), cudaSuccess);
  EXPECT_EQ(at(0), 4);
}

TEST_P(DeviceWorks, WrongConditionalNodesAreRefused) {
  cudaGraph_t graph = nullptr;
  unsigned long long handle = 0;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphConditionalHandleCreate(nullptr, graph, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphConditionalHandleCreate(&handle, graph, 0, 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphConditionalHandleCreate(&handle, nullptr, 0, 0), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0), cudaSuccess);
  const std::tuple<unsigned long long, int, unsigned> wrong[] = {
      {handle, 0, 3}, {handle, 1, 2}, {handle, 2, 0}, {handle, 3, 1}, {handle + 4, 0, 1}};
  for (const auto& [which, type, size] : wrong) {
    cudaGraphNodeParams p{};
    p.type = 13;
    p.conditional = {which, type, size, nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &p), cudaErrorInvalidValue) << type << " " << size;
  }
  EXPECT_EQ(count(graph), 0u);
}

}  // namespace
}  // namespace coalesce::cudart
