// Graphs built node by node. Captured ones: capture_test.cpp.
#include "graph.h"

#include <numeric>
#include <vector>

namespace coalesce::cudart {
namespace {

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
  EXPECT_EQ(cudaGraphAddDependencies_v2(graph, back, first, nullptr, 1), cudaSuccess) << "a cycle";
  cudaGraphExec_t none = nullptr;
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&none, graph, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphRemoveDependencies_v2(graph, back, first, nullptr, 1), cudaSuccess);
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
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p), cudaErrorInvalidResourceHandle);
  const cudaKernelNodeParams big{&store_, {}, {2048, 1, 1}, 0, nullptr, nullptr};
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &big), cudaErrorInvalidValue);
  EXPECT_EQ(count(graph), 0u);
}

}  // namespace
}  // namespace coalesce::cudart
