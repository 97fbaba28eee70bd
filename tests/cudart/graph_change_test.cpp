// Kernels that change kernel nodes of executable graphs (cudaGraphKernelNodeSetParam and its like), as an H100 does.
#include "cudart/core/runtime.h"
#include "graph.h"

namespace coalesce::cudart {
extern "C" {
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t, int, const void*);
}

namespace {

constexpr int kUpdatable = 13;  // cudaLaunchAttributeDeviceUpdatableKernelNode

// show(log, id): log[1] counts its blocks, log[2] is its id. change(log, node, what, x, y, z) puts the error into
// log[0]; what: 0 parameter, at, from, bytes; 1 enabled; 2 grid; 3 several, from, how many.
std::string change_module() {
  const auto call = [](const std::string& name, const std::string& arguments, int count) {
    std::string text = "{\n" + arguments + ".param .b32 e;\ncall.uni (e), " + name + ", (";
    for (int k = 0; k < count; ++k) text += (k ? ", p" : "p") + std::to_string(k);
    return text + ");\nld.param.b32 %r1, [e];\n}\nbra END;\n";
  };
  const auto word = [](int k, const std::string& value) {
    const std::string name = "p" + std::to_string(k);
    return ".param .b64 " + name + ";\nst.param.b64 [" + name + "], " + value + ";\n";
  };
  return ".version 8.3\n.target sm_90\n.address_size 64\n"
         ".extern .func (.param .b32 r) cudaGraphKernelNodeSetParam(.param .b64 a, .param .b64 b, .param .b64 c, "
         ".param .b64 d);\n"
         ".extern .func (.param .b32 r) cudaGraphKernelNodeSetEnabled(.param .b64 a, .param .b32 b);\n"
         ".extern .func (.param .b32 r) cudaGraphKernelNodeSetGridDim(.param .b64 a, .param .align 4 .b8 b[12]);\n"
         ".extern .func (.param .b32 r) cudaGraphKernelNodeUpdatesApply(.param .b64 a, .param .b64 b);\n"
         ".visible .entry show(.param .u64 a, .param .u32 b)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
         "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [b];\nred.global.add.u32 [%rd1+4], 1;\n"
         "st.global.u32 [%rd1+8], %r1;\nret;\n}\n"
         ".visible .entry change(.param .u64 a, .param .u64 n, .param .u32 w, .param .u64 x, .param .u64 y, .param "
         ".u64 z)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [a];\n"
         "ld.param.u64 %rd2, [n];\nld.param.u32 %r2, [w];\nld.param.u64 %rd3, [x];\nld.param.u64 %rd4, [y];\n"
         "ld.param.u64 %rd5, [z];\ncvt.u32.u64 %r3, %rd3;\ncvt.u32.u64 %r4, %rd4;\ncvt.u32.u64 %r5, %rd5;\n"
         "setp.eq.u32 %p1, %r2, 1;\n@%p1 bra ENABLE;\nsetp.eq.u32 %p1, %r2, 2;\n@%p1 bra GRID;\n"
         "setp.eq.u32 %p1, %r2, 3;\n@%p1 bra MANY;\n" +
         call("cudaGraphKernelNodeSetParam", word(0, "%rd2") + word(1, "%rd3") + word(2, "%rd4") + word(3, "%rd5"), 4) +
         "ENABLE:\n" +
         call("cudaGraphKernelNodeSetEnabled", word(0, "%rd2") + ".param .b32 p1;\nst.param.b32 [p1], %r3;\n", 2) +
         "GRID:\n" +
         call("cudaGraphKernelNodeSetGridDim",
              word(0, "%rd2") +
                  ".param .align 4 .b8 p1[12];\nst.param.b32 [p1], %r3;\nst.param.b32 [p1+4], "
                  "%r4;\nst.param.b32 [p1+8], %r5;\n",
              2) +
         "MANY:\n" + call("cudaGraphKernelNodeUpdatesApply", word(0, "%rd3") + word(1, "%rd4"), 2) +
         "END:\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
}

class ChangedNodes : public Graphs, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Graphs::SetUp();
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&log_), sizeof all_), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&bytes_, 256), cudaSuccess);
    ASSERT_EQ(cudaLibraryLoadData(&library_, text_.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    runtime().machine().use_plain(GetParam());
    EXPECT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
  }
  cudaGraphNode_t add(const char* name, std::vector<void*> arguments, cudaGraphNode_t needs) {
    cudaKernel_t k = nullptr;
    EXPECT_EQ(cudaLibraryGetKernel(&k, library_, name), cudaSuccess);
    const cudaKernelNodeParams p{k, {}, {}, 0, arguments.data(), nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph_, &needs, needs != nullptr, &p), cudaSuccess);
    return node;
  }
  struct Updatable {
    int on = 1;
    uint64_t handle = 0;
    char rest[48] = {};
  };
  // A graph of two kernels, of which the first changes the second one. `none`: the handle is 0.
  struct Found {
    int error, blocks, id;
    bool operator==(const Found&) const = default;
  };
  Found changed(uint32_t what, uint64_t x, uint64_t y = 0, uint64_t z = 0, bool none = false) {
    int id = 7;
    cudaGraphNode_t shows = add("show", {&log_, &id}, nullptr);
    Updatable u;
    EXPECT_EQ(cudaGraphKernelNodeSetAttribute(shows, kUpdatable, &u), cudaSuccess);
    EXPECT_NE(u.handle, 0u);
    handle_ = none ? 0 : u.handle;
    cudaGraphNode_t first = add("change", {&log_, &handle_, &what, &x, &y, &z}, nullptr);
    EXPECT_EQ(cudaGraphAddDependencies_v2(graph_, &first, &shows, nullptr, 1), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphUpload(exec_, nullptr), cudaSuccess);
    return run();
  }
  Found run() {
    EXPECT_EQ(cudaMemset(log_, 0, sizeof all_), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec_, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(all_, log_, sizeof all_, cudaMemcpyDeviceToHost), cudaSuccess);
    return {all_[0], all_[1], all_[2]};
  }
  uint64_t on_device(const void* from, std::size_t count) {
    EXPECT_EQ(cudaMemcpy(bytes_, from, count, cudaMemcpyHostToDevice), cudaSuccess);
    return reinterpret_cast<uint64_t>(bytes_);
  }

  int* log_ = nullptr;
  void* bytes_ = nullptr;
  int all_[4] = {};
  uint64_t handle_ = 0;
  const std::string text_ = change_module();
  cudaLibrary_t library_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Executors, ChangedNodes, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Plain" : "Interpreter"; });

TEST_P(ChangedNodes, AParameter) {
  const int value = 123;
  EXPECT_EQ(changed(0, 8, on_device(&value, 4), 4), (Found{0, 1, 123}));
  EXPECT_EQ(run(), (Found{0, 1, 123}));
}
TEST_P(ChangedNodes, AGrid) { EXPECT_EQ(changed(2, 3, 2, 4), (Found{0, 24, 7})); }
TEST_P(ChangedNodes, ADisabledNodeDoesNotRun) { EXPECT_EQ(changed(1, 0), (Found{0, 0, 0})); }
// Two changes, of the grid and of the parameter at `offset`.
TEST_P(ChangedNodes, SeveralOrNone) {
  struct Update {
    uint64_t node;
    uint32_t field, unused;
    uint64_t words[3];
  };
  for (const bool right : {true, false}) {
    EXPECT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    const int value = 99;
    int id = 7;
    cudaGraphNode_t shows = add("show", {&log_, &id}, nullptr);
    Updatable u;
    EXPECT_EQ(cudaGraphKernelNodeSetAttribute(shows, kUpdatable, &u), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(static_cast<char*>(bytes_) + 128, &value, 4, cudaMemcpyHostToDevice), cudaSuccess);
    const Update all[] = {{u.handle, 1, 0, {5 | uint64_t{1} << 32, 1, 0}},
                          {u.handle, 2, 0, {reinterpret_cast<uint64_t>(bytes_) + 128, right ? 8u : 9u, 4}}};
    uint64_t node = 0, x = on_device(all, sizeof all), y = 2, z = 0;
    uint32_t what = 3;
    cudaGraphNode_t first = add("change", {&log_, &node, &what, &x, &y, &z}, nullptr);
    EXPECT_EQ(cudaGraphAddDependencies_v2(graph_, &first, &shows, nullptr, 1), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
    EXPECT_EQ(run(), right ? (Found{0, 5, 99}) : (Found{cudaErrorInvalidValue, 1, 7}));
  }
}
TEST_P(ChangedNodes, WhatIsWrongIsAnErrorOfTheCall) {
  EXPECT_EQ(changed(0, 9, on_device("abcd", 4), 4), (Found{cudaErrorInvalidValue, 1, 7})) << "past the parameters";
}
TEST_P(ChangedNodes, AGridWithoutBlocksIsAnError) {
  EXPECT_EQ(changed(2, 0, 1, 1), (Found{cudaErrorInvalidValue, 1, 7}));
}
TEST_P(ChangedNodes, AHandleOfNoNodeIsAnError) {
  EXPECT_EQ(changed(1, 0, 0, 0, true), (Found{cudaErrorInvalidValue, 1, 7}));
}
TEST_P(ChangedNodes, AGridThatNoLaunchMayHaveIsAnError) {
  EXPECT_EQ(changed(2, 1, 65536, 1), (Found{cudaErrorInvalidValue, 1, 7}));
}
TEST_P(ChangedNodes, SuchAGraphIsInstantiatedOnceAndNotCopied) {
  changed(1, 1);
  cudaGraphExec_t other = nullptr;
  cudaGraph_t copy = nullptr;
  cudaGraphExecUpdateResultInfo result{};
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&other, graph_, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphExecUpdate(exec_, graph_, &result), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphClone(&copy, graph_), cudaErrorNotSupported);
  int id = 1;
  cudaGraphNode_t node = add("show", {&log_, &id}, nullptr);
  Updatable u;
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(node, kUpdatable, &u), cudaSuccess);
  u.on = 0;
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(node, kUpdatable, &u), cudaErrorNotSupported);
  u.on = 2;
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(node, kUpdatable, &u), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroyNode(node), cudaErrorNotSupported);
}

}  // namespace
}  // namespace coalesce::cudart
