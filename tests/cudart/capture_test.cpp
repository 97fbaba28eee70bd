// Graphs captured from streams.
#include <cstring>
#include <numeric>
#include <vector>

#include "graph.h"

namespace coalesce::cudart {
namespace {

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

}  // namespace
}  // namespace coalesce::cudart
