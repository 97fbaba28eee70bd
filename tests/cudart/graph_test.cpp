// Graphs built node by node, and graphs captured from streams.
#include <cstring>
#include <numeric>
#include <vector>

#include "api.h"
#include "cudart/api/graph_abi.h"

namespace coalesce::cudart {

extern "C" {
cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphClone(cudaGraph_t*, cudaGraph_t);
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t);
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, size_t*);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t, cudaGraphNode_t*, size_t*);
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t, cudaGraphNode_t*, cudaGraphNode_t*, void*, size_t*);
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t*, cudaGraphNode_t, cudaGraph_t);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, int*);
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*, const void*,
                                        size_t);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaKernelNodeParams*);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, void*, const void*,
                                     size_t, cudaMemcpyKind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaMemsetParams*);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                 const cudaHostNodeParams*);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaGraph_t);
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                     cudaMemAllocNodeParams*);
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, void*);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t, cudaKernelNodeParams*);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t, cudaGraphNode_t, const cudaKernelNodeParams*);
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t, cudaGraphNode_t, unsigned);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo*);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaDeviceGetGraphMemAttribute(int, int, void*);
cudaError_t cudaStreamBeginCapture(cudaStream_t, int);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaStreamIsCapturing(cudaStream_t, int*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned);
}

namespace {

enum { kKernelNode = 0, kCopyNode = 1, kFillNode = 2, kHostNode = 3, kChildNode = 4 };

class Graphs : public WithModule {
 protected:
  void SetUp() override {
    WithModule::SetUp();
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device_), kInts * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMemset(device_, 0xff, kInts * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  // *device_[at] = value
  cudaGraphNode_t kernel_node(cudaGraph_t graph, int at, int value, std::vector<cudaGraphNode_t> needs = {}) {
    int* to = device_ + at;
    void* arguments[] = {&to, &value};
    const cudaKernelNodeParams p{&store_, {}, {}, 0, arguments, nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, needs.data(), needs.size(), &p), cudaSuccess);
    return node;
  }
  cudaError_t store_on(cudaStream_t stream, int at, int value) {
    int* to = device_ + at;
    void* arguments[] = {&to, &value};
    return cudaLaunchKernel(&store_, {}, {}, arguments, 0, stream);
  }
  cudaGraphExec_t ready(cudaGraph_t graph, unsigned long long flags = 0) {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, flags), cudaSuccess);
    return exec;
  }
  int at(int index) {
    int value = 0;
    EXPECT_EQ(cudaMemcpy(&value, device_ + index, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
  static size_t count(cudaGraph_t graph) {
    size_t n = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &n), cudaSuccess);
    return n;
  }

  static constexpr size_t kInts = 16;
  int* device_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(Graphs, RunEveryKindOfNodeInTheOrderOfTheEdges) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  int seen[4] = {};
  // Made in the wrong order: only the edges say what comes first.
  cudaGraphNode_t read = nullptr, fill = nullptr, host = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&read, graph, nullptr, 0, seen, device_, sizeof seen, cudaMemcpyDeviceToHost),
            cudaSuccess);
  const auto store = kernel_node(graph, 1, 42);
  const cudaMemsetParams zeros{device_, 0, 0x01020304, 4, 3, 1};
  ASSERT_EQ(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zeros), cudaSuccess);
  struct Told {
    const int* seen;
    int value;
  } told{seen, 0};
  const cudaHostNodeParams tell{[](void* data) {
                                  auto* t = static_cast<Told*>(data);
                                  t->value = t->seen[1];
                                },
                                &told};
  ASSERT_EQ(cudaGraphAddHostNode(&host, graph, &read, 1, &tell), cudaSuccess);
  const cudaGraphNode_t from[] = {fill, store}, to[] = {store, read};
  ASSERT_EQ(cudaGraphAddDependencies_v2(graph, from, to, nullptr, 2), cudaSuccess);
  EXPECT_EQ(at(1), -1) << "a graph that is built has not run";

  const auto exec = ready(graph);
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_EQ(seen[0], 0x01020304);
  EXPECT_EQ(seen[1], 42);
  EXPECT_EQ(seen[2], 0x01020304);
  EXPECT_EQ(seen[3], -1);
  EXPECT_EQ(told.value, 42);

  const cudaGraphNode_t back[] = {host}, first[] = {fill};
  EXPECT_EQ(cudaGraphAddDependencies_v2(graph, back, first, nullptr, 1), cudaErrorInvalidValue) << "a cycle";
  size_t roots = 0, edges = 0;
  EXPECT_EQ(cudaGraphGetRootNodes(graph, nullptr, &roots), cudaSuccess);
  EXPECT_EQ(roots, 1u);
  EXPECT_EQ(cudaGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  EXPECT_EQ(edges, 3u);
}

// nvcc's stubs launch by a handle of the kernel; the program knows its own symbol only.
TEST_F(Graphs, ACapturedLaunchByHandleNamesTheProgramsSymbol) {
  cudaKernel_t handle = nullptr;
  ASSERT_EQ(__cudaGetKernel(&handle, &store_), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
  int* to = device_;
  int value = 9;
  void* arguments[] = {&to, &value};
  ASSERT_EQ(__cudaLaunchKernel(handle, {}, {}, arguments, 0, stream_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  size_t one = 1;
  ASSERT_EQ(cudaGraphGetNodes(graph, &node, &one), cudaSuccess);
  cudaKernelNodeParams p{};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &p), cudaSuccess);
  EXPECT_EQ(p.func, &store_);
  EXPECT_EQ(cudaGraphKernelNodeGetParams(node, nullptr), cudaErrorInvalidValue);
}

TEST_F(Graphs, ArgumentsAreCopiedWhenTheNodeIsMade) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  const auto node = kernel_node(graph, 0, 7);  // its arguments are gone by now
  cudaKernelNodeParams p{};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &p), cudaSuccess);
  EXPECT_EQ(p.func, &store_);
  EXPECT_EQ(*static_cast<int*>(p.kernelParams[1]), 7);
  const auto exec = ready(graph);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(at(0), 7);

  int* to = device_;
  int value = 8;
  void* arguments[] = {&to, &value};
  p.kernelParams = arguments;
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(exec, node, &p), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(at(0), 8);
  EXPECT_EQ(cudaGraphNodeSetEnabled(exec, node, 0), cudaSuccess);
  ASSERT_EQ(cudaMemset(device_, 0, 4), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(at(0), 0);
}

TEST_F(Graphs, ClonesAndChildrenAreCopies) {
  cudaGraph_t inner = nullptr, outer = nullptr, copy = nullptr;
  ASSERT_EQ(cudaGraphCreate(&inner, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&outer, 0), cudaSuccess);
  const auto node = kernel_node(inner, 2, 5);
  ASSERT_EQ(cudaGraphClone(&copy, inner), cudaSuccess);
  cudaGraphNode_t child = nullptr, twin = nullptr;
  ASSERT_EQ(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, inner), cudaSuccess);
  ASSERT_EQ(cudaGraphNodeFindInClone(&twin, node, copy), cudaSuccess);
  EXPECT_NE(twin, node);
  ASSERT_EQ(cudaGraphDestroyNode(node), cudaSuccess);
  EXPECT_EQ(count(inner), 0u);
  EXPECT_EQ(count(copy), 1u);
  const auto exec = ready(outer);
  EXPECT_EQ(cudaGraphDestroy(inner), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(outer), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(at(2), 5);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(inner), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroyNode(node), cudaErrorInvalidValue);
}

TEST_F(Graphs, UpdateTakesTheSameShapeOnly) {
  cudaGraph_t a = nullptr, b = nullptr;
  ASSERT_EQ(cudaGraphCreate(&a, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&b, 0), cudaSuccess);
  kernel_node(a, 3, 1);
  const auto second = kernel_node(b, 3, 2);
  const auto exec = ready(a);
  cudaGraphExecUpdateResultInfo info{};
  ASSERT_EQ(cudaGraphExecUpdate(exec, b, &info), cudaSuccess);
  EXPECT_EQ(info.result, 0);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(at(3), 2);
  kernel_node(b, 4, 2, {second});
  EXPECT_EQ(cudaGraphExecUpdate(exec, b, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, 2);
}

TEST_F(Graphs, MemoryNodesAllocateAndFree) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaMemAllocNodeParams p{};
  p.poolProps.allocType = 1;
  p.poolProps.location = {1, 0};
  p.bytesize = 1000;
  cudaGraphNode_t made = nullptr, filled = nullptr, freed = nullptr;
  ASSERT_EQ(cudaGraphAddMemAllocNode(&made, graph, nullptr, 0, &p), cudaSuccess);
  const cudaMemsetParams fill{p.dptr, 0, 3, 1, 1000, 1};
  ASSERT_EQ(cudaGraphAddMemsetNode(&filled, graph, &made, 1, &fill), cudaSuccess);
  const auto leaving = ready(graph);
  EXPECT_EQ(cudaFree(p.dptr), cudaErrorInvalidValue) << "nothing has allocated it";
  EXPECT_EQ(cudaGraphLaunch(leaving, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(leaving, nullptr), cudaErrorInvalidValue) << "the last run's memory is still held";
  uint64_t used = 0;
  EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, 0, &used), cudaSuccess);
  EXPECT_EQ(used, 1000u);
  unsigned char last = 0;
  EXPECT_EQ(cudaMemcpy(&last, static_cast<char*>(p.dptr) + 999, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(last, 3);
  EXPECT_EQ(cudaFreeAsync(p.dptr, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(leaving, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(p.dptr), cudaSuccess);

  ASSERT_EQ(cudaGraphAddMemFreeNode(&freed, graph, &filled, 1, p.dptr), cudaSuccess);
  const auto tidy = ready(graph);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaGraphLaunch(tidy, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, 0, &used), cudaSuccess);
  EXPECT_EQ(used, 0u);
  const auto again = ready(graph, 1);
  EXPECT_EQ(cudaGraphLaunch(again, nullptr), cudaSuccess);
  for (const auto exec : {leaving, tidy, again}) EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(&last, p.dptr, 1, cudaMemcpyDeviceToHost), cudaErrorInvalidValue) << "gone with its graphs";
}

TEST_F(Graphs, CaptureKeepsWorkInsteadOfDoingIt) {
  int seen = 0, told = 0;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream_, 0), cudaErrorIllegalState);
  int status = 0;
  EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cudaMemsetAsync(device_, 0, 16, stream_), cudaSuccess);
  EXPECT_EQ(store_on(stream_, 0, 11), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(&seen, device_, sizeof seen, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(cudaLaunchHostFunc(stream_, [](void* data) { ++*static_cast<int*>(data); }, &told), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(at(0), -1);
  EXPECT_EQ(told, 0);

  cudaGraphNode_t nodes[4];
  size_t n = 4;
  ASSERT_EQ(cudaGraphGetNodes(graph, nodes, &n), cudaSuccess);
  ASSERT_EQ(n, 4u);
  for (const int type : {kFillNode, kKernelNode, kCopyNode, kHostNode}) {
    int found = -1;
    EXPECT_EQ(cudaGraphNodeGetType(nodes[4 - n], &found), cudaSuccess);
    EXPECT_EQ(found, type);
    --n;
  }
  const auto exec = ready(graph);
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    EXPECT_EQ(told, i);
  }
  EXPECT_EQ(seen, 11);
}

TEST_F(Graphs, CaptureFollowsEventsIntoOtherStreams) {
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&fork), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&join), cudaSuccess);
  cudaGraph_t graph = nullptr;
  for (const bool joined : {false, true}) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
    EXPECT_EQ(store_on(stream_, 0, 1), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(fork, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
    EXPECT_EQ(store_on(other, 1, 2), cudaSuccess);
    EXPECT_EQ(store_on(stream_, 2, 3), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(join, other), cudaSuccess);
    if (joined) EXPECT_EQ(cudaStreamWaitEvent(stream_, join, 0), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    // Now without the false end.
    ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
    EXPECT_EQ(store_on(stream_, 0, 1), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(fork, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
    EXPECT_EQ(store_on(other, 1, 2), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(join, other), cudaSuccess);
    if (joined) EXPECT_EQ(cudaStreamWaitEvent(stream_, join, 0), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
  }
  size_t edges = 0;
  EXPECT_EQ(count(graph), 2u);
  EXPECT_EQ(cudaGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  EXPECT_EQ(edges, 1u);
  EXPECT_EQ(cudaGraphLaunch(ready(graph), nullptr), cudaSuccess);
  EXPECT_EQ(at(1), 2);
  EXPECT_EQ(store_on(other, 5, 6), cudaSuccess);
  EXPECT_EQ(at(5), 6) << "the other stream is free again";
}

TEST_F(Graphs, CaptureForbidsWaiting) {
  cudaStream_t blocking = nullptr;
  cudaEvent_t outside = nullptr, inside = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&outside), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&inside), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(outside, nullptr), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, 0), cudaErrorStreamCaptureUnsupported) << "the legacy stream";
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorIllegalState);

  const auto spoilt = [&](cudaStream_t stream, auto&& misuse, cudaError_t error) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, 0), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(inside, stream), cudaSuccess);
    EXPECT_EQ(misuse(), error);
    EXPECT_EQ(store_on(stream, 9, 9), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  };
  spoilt(stream_, [&] { return cudaStreamSynchronize(stream_); }, cudaErrorStreamCaptureUnsupported);
  spoilt(stream_, [] { return cudaDeviceSynchronize(); }, cudaErrorStreamCaptureUnsupported);
  spoilt(stream_, [&] { return cudaEventSynchronize(inside); }, cudaErrorCapturedEvent);
  spoilt(stream_, [&] { return cudaStreamWaitEvent(stream_, outside, 0); }, cudaErrorStreamCaptureIsolation);
  spoilt(blocking, [&] { return cudaMemset(device_, 0, 4); }, cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(at(9), -1);

  ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
  EXPECT_EQ(cudaMemset(device_, 0, 4), cudaSuccess) << "a non-blocking stream is none of the legacy stream's business";
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(count(graph), 0u);
}

TEST_F(Graphs, ExternalEventsAreNodesOfTheirOwn) {
  constexpr unsigned kExternal = 1;
  constexpr int kWaitNode = 6, kRecordNode = 7;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaEventRecordWithFlags(event, stream_, kExternal), cudaErrorIllegalState) << "nothing is captured";
  EXPECT_EQ(cudaStreamWaitEvent(stream_, event, kExternal), cudaErrorIllegalState);

  for (const int type : {kRecordNode, kWaitNode}) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
    EXPECT_EQ(type == kRecordNode ? cudaEventRecordWithFlags(event, stream_, kExternal)
                                  : cudaStreamWaitEvent(stream_, event, kExternal),
              cudaSuccess);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    cudaGraphNode_t node = nullptr;
    size_t nodes = 1;
    ASSERT_EQ(cudaGraphGetNodes(graph, &node, &nodes), cudaSuccess);
    ASSERT_EQ(nodes, 1u);
    int found = -1;
    EXPECT_EQ(cudaGraphNodeGetType(node, &found), cudaSuccess);
    EXPECT_EQ(found, type);
  }
}

TEST_F(Graphs, AGraphLaunchedIntoACaptureIsAChild) {
  cudaGraph_t graph = nullptr, outer = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  kernel_node(graph, 6, 66);
  const auto exec = ready(graph);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, 2), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &outer), cudaSuccess);
  EXPECT_EQ(at(6), -1);
  EXPECT_EQ(cudaGraphLaunch(ready(outer), nullptr), cudaSuccess);
  EXPECT_EQ(at(6), 66);
}

TEST_F(Graphs, MemoryAllocatedInACaptureIsTheGraphs) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
  void* memory = nullptr;
  EXPECT_EQ(cudaMallocAsync(&memory, 64, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(memory, 7, 64, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(device_, memory, 64, cudaMemcpyDeviceToDevice, stream_), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  const auto exec = ready(graph);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_EQ(at(15), 0x07070707);
}

TEST_F(Graphs, HandlesThatAreNoneAreRefused) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  auto* wrong = reinterpret_cast<cudaGraph_t>(device_);
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphAddEmptyNode(&node, wrong, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(&node, graph, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec, wrong, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiateWithFlags(nullptr, graph, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(graph), nullptr), cudaErrorInvalidValue);
  const cudaKernelNodeParams p{device_, {}, {}, 0, nullptr, nullptr};
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p), cudaErrorInvalidDeviceFunction);
  const cudaKernelNodeParams big{&store_, {}, {2048, 1, 1}, 0, nullptr, nullptr};
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &big), cudaErrorInvalidConfiguration);
  EXPECT_EQ(count(graph), 0u);
}

}  // namespace
}  // namespace coalesce::cudart
