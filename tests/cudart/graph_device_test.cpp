// Executable graphs that kernels launch. The orders and errors are those of an H100 where CUDA leaves them open.
#include "cudart/core/runtime.h"
#include "graph.h"

namespace coalesce::cudart {
extern "C" {
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t*, cudaGraph_t, cudaGraphInstantiateParams*);
}

namespace {

constexpr unsigned long long kForDevice = 4, kTail = 1ull << 56, kFire = 2ull << 56, kSibling = 3ull << 56;

// note: log[++log[0]] = id. mark(log, id). start(log, id, graph, stream, times): launches that graph so often; log[62]
// counts the launches, log[63] has the last other error. again(log, id, most): launches the graph it is in, in its
// tail, until there are so many notes.
std::string graph_module() {
  const std::string registers = "{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n";
  const std::string note =
      "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [b];\natom.global.add.u32 %r3, [%rd1], 1;\nadd.u32 %r3, %r3, 1;\n"
      "mul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd2, %rd2, %rd1;\nst.global.u32 [%rd2], %r1;\n";
  const std::string launch =
      "{\n.param .b64 x;\nst.param.b64 [x], %rd3;\n.param .b64 y;\nst.param.b64 [y], %rd4;\n.param .b32 z;\n"
      "call.uni (z), cudaGraphLaunch, (x, y);\nld.param.b32 %r5, [z];\n}\n"
      "setp.ne.u32 %p1, %r5, 0;\n@%p1 st.global.u32 [%rd1+252], %r5;\nmov.u32 %r6, 1;\n"
      "@!%p1 red.global.add.u32 [%rd1+248], %r6;\n";
  return ".version 8.3\n.target sm_90\n.address_size 64\n"
         ".extern .func (.param .b32 r) cudaGraphLaunch(.param .b64 a, .param .b64 b);\n"
         ".visible .entry mark(.param .u64 a, .param .u32 b)\n" +
         registers + note +
         "ret;\n}\n.visible .entry start(.param .u64 a, .param .u32 b, .param .u64 c, .param .u64 d, .param .u32 e)\n" +
         registers + note +
         "ld.param.u64 %rd3, [c];\nld.param.u64 %rd4, [d];\nld.param.u32 %r4, [e];\nmov.u32 %r7, 0;\nMORE:\n" + launch +
         "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, %r4;\n@%p2 bra MORE;\nret;\n}\n"
         ".visible .entry again(.param .u64 a, .param .u32 b, .param .u32 c)\n" +
         registers + note +
         "ld.param.u32 %r4, [c];\nsetp.ge.u32 %p2, %r3, %r4;\n@%p2 bra END;\nmov.u64 %rd3, %current_graph_exec;\n"
         "mov.u64 %rd4, 0x100000000000000;\n" +
         launch + "END:\nret;\n}\n";
}

class DeviceGraphs : public Graphs, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Graphs::SetUp();
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&log_), kLog * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMemset(log_, 0, kLog * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaLibraryLoadData(&library_, text_.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    runtime().machine().use_plain(GetParam());
  }
  // A graph to which kernels are added one after the other.
  struct Chain {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t last = nullptr;
    Chain() { EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess); }
  };
  void add(Chain& c, const char* name, std::vector<void*> arguments) {
    cudaKernel_t k = nullptr;
    EXPECT_EQ(cudaLibraryGetKernel(&k, library_, name), cudaSuccess);
    const cudaKernelNodeParams p{k, {}, {}, 0, arguments.data(), nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, c.graph, &c.last, c.last != nullptr, &p), cudaSuccess);
    c.last = node;
  }
  void mark(Chain& c, int id) { add(c, "mark", {&log_, &id}); }
  void start(Chain& c, int id, cudaGraphExec_t graph, unsigned long long stream, int times = 1) {
    add(c, "start", {&log_, &id, &graph, &stream, &times});
  }
  cudaGraphExec_t ready(const Chain& c, unsigned long long flags = 0) {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, c.graph, flags), cudaSuccess);
    if (flags == kForDevice) EXPECT_EQ(cudaGraphUpload(exec, nullptr), cudaSuccess);
    return exec;
  }
  cudaGraphExec_t marks(int id) {  // for the device
    Chain c;
    mark(c, id);
    return ready(c, kForDevice);
  }
  void run(cudaGraphExec_t exec) {
    EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(all_, log_, sizeof all_, cudaMemcpyDeviceToHost), cudaSuccess);
  }
  std::vector<int> notes() const { return {all_ + 1, all_ + 1 + all_[0]}; }
  int launches() const { return all_[62]; }
  int error() const { return all_[63]; }

  static constexpr int kLog = 512;
  int* log_ = nullptr;
  int all_[kLog] = {};
  const std::string text_ = graph_module();
  cudaLibrary_t library_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Executors, DeviceGraphs, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Plain" : "Interpreter"; });

TEST_P(DeviceGraphs, ChildrenComeBeforeTheTail) {
  const cudaGraphExec_t child = marks(10), tail = marks(20);
  Chain p;
  start(p, 1, tail, kTail), start(p, 2, child, kFire), mark(p, 3);
  run(ready(p));
  EXPECT_EQ(notes(), (std::vector<int>{1, 2, 10, 3, 20}));
  EXPECT_EQ(launches(), 2);
  EXPECT_EQ(error(), 0);
}

TEST_P(DeviceGraphs, ATailsTailComesBeforeTheNextOfTheTail) {
  const cudaGraphExec_t last = marks(30), second = marks(11);
  Chain t;
  start(t, 10, last, kTail);
  Chain p;
  start(p, 1, ready(t, kForDevice), kTail), start(p, 2, second, kTail);
  run(ready(p));
  EXPECT_EQ(notes(), (std::vector<int>{1, 2, 10, 30, 11}));
}

TEST_P(DeviceGraphs, ASiblingComesBeforeItsParentsTail) {
  const cudaGraphExec_t sibling = marks(30), tail = marks(20);
  Chain child;
  start(child, 10, sibling, kSibling);
  Chain p;
  start(p, 1, tail, kTail), start(p, 2, ready(child, kForDevice), kFire);
  run(ready(p));
  EXPECT_EQ(notes(), (std::vector<int>{1, 2, 10, 30, 20}));
}

TEST_P(DeviceGraphs, AGraphLaunchesItselfAgain) {
  int id = 1, most = 50;
  Chain q;
  add(q, "again", {&log_, &id, &most});
  run(ready(q, kForDevice));
  EXPECT_EQ(all_[0], 50);
  EXPECT_EQ(launches(), 49);
  EXPECT_EQ(error(), 0);
}

// CUDA's programming guide: a graph may launch 120 graphs by fire and forget, and 255 may wait in its tail. Notes are
// 0, so those that come to log[63] leave no error there.
TEST_P(DeviceGraphs, ARunMayLaunchSoManyAndNoMore) {
  for (const auto& [stream, most] : {std::pair{kFire, 120}, std::pair{kTail, 255}})
    for (const int more : {0, 1}) {
      EXPECT_EQ(cudaMemset(log_, 0, kLog * sizeof(int)), cudaSuccess);
      Chain p;
      for (int k = 0; k < most + more; ++k) start(p, 0, marks(0), stream);
      run(ready(p));
      EXPECT_EQ(error(), more == 0 ? 0 : cudaErrorLaunchPendingCountExceeded) << most + more;
      EXPECT_EQ(all_[0], 2 * most + more);
    }
}

TEST_P(DeviceGraphs, WhatCannotBeLaunchedIsAnErrorOfTheCall) {
  const auto error_of = [&](cudaGraphExec_t exec, unsigned long long stream, int times = 1) {
    EXPECT_EQ(cudaMemset(log_, 0, kLog * sizeof(int)), cudaSuccess);
    Chain p;
    start(p, 1, exec, stream, times);
    run(ready(p));
    return error();
  };
  Chain g;
  mark(g, 10);
  cudaGraphExec_t late = nullptr;
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&late, g.graph, kForDevice), cudaSuccess);
  EXPECT_EQ(error_of(late, kFire), cudaErrorInvalidValue) << "not uploaded";
  EXPECT_EQ(cudaGraphLaunch(late, nullptr), cudaSuccess);
  EXPECT_EQ(error_of(late, kFire), 0) << "a launch by the host uploads it";
  EXPECT_EQ(error_of(late, 0), cudaErrorInvalidValue) << "a stream of another kind";
  EXPECT_EQ(error_of(nullptr, kFire), cudaErrorInvalidValue) << "none";
  EXPECT_EQ(error_of(late, kFire, 2), cudaErrorInvalidValue) << "it waits";
  EXPECT_EQ(launches(), 1);
  EXPECT_EQ(error_of(late, kTail, 2), cudaErrorInvalidValue) << "it waits in the tail";
  EXPECT_EQ(launches(), 1);
}

// An H100 reads astray, where the host's graph is.
TEST_P(DeviceGraphs, AGraphThatIsNotForTheDeviceEndsTheLaunch) {
  Chain g, p;
  mark(g, 10);
  start(p, 1, ready(g), kFire);
  EXPECT_EQ(cudaGraphLaunch(ready(p), nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  cudaDeviceReset();
}

TEST_P(DeviceGraphs, AKernelThatLaunchesGraphsIsForGraphs) {
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library_, "start"), cudaSuccess);
  int id = 1, times = 1;
  cudaGraphExec_t exec = marks(10);
  unsigned long long stream = kFire;
  void* arguments[] = {&log_, &id, &exec, &stream, &times};
  EXPECT_EQ(cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library_, "mark"), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_P(DeviceGraphs, TheDeviceRunsKernelsCopiesAndFillsOnly) {
  Chain g;
  cudaGraphNode_t node = nullptr;
  const cudaHostNodeParams host{[](void*) {}, nullptr};
  EXPECT_EQ(cudaGraphAddHostNode(&node, g.graph, nullptr, 0, &host), cudaSuccess);
  cudaGraphInstantiateParams p{};
  p.flags = kForDevice;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiateWithParams(&exec, g.graph, &p), cudaErrorInvalidValue);
  EXPECT_EQ(p.result_out, 3);
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, Chain().graph, kForDevice), cudaErrorInvalidValue) << "no nodes";
  Chain marks;
  mark(marks, 1);
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, marks.graph, kForDevice | 1), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace coalesce::cudart
