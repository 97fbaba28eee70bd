// The forms of CUDA 13's calls, which our headers for clang offer beside those of 12: `coalesce run --devices 2
// cuda13.cu`. nvcc 13 takes the same file.
#include <cuda_runtime.h>

#include <cstdio>

#include "../check.h"

__global__ void add(int* data, int more) { data[threadIdx.x] = data[threadIdx.x] * 10 + more; }

int main() {
  int* data;
  OK(cudaMallocManaged(&data, 32 * sizeof(int)));
  for (int i = 0; i < 32; ++i) data[i] = 0;
  const cudaMemLocation device{cudaMemLocationTypeDevice, 1}, host{cudaMemLocationTypeHost, 0};
  OK(cudaMemAdvise(data, 32 * sizeof(int), cudaMemAdviseSetPreferredLocation, device));
  OK(cudaMemPrefetchAsync(data, 32 * sizeof(int), device, 0));
  OK(cudaMemPrefetchAsync(data, 32 * sizeof(int), host, 0, cudaStreamPerThread));
  CHECK(cudaMemPrefetchAsync(reinterpret_cast<int*>(4096), sizeof(int), device, 0) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);

  // Two kernels whose order an edge decides.
  cudaGraph_t graph;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t node[2];
  int digit[] = {1, 2};
  for (int i = 0; i < 2; ++i) {
    void* arguments[] = {&data, &digit[i]};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(add);
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(32);
    parameters.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&node[i], graph, nullptr, 0, &parameters));
  }
  OK(cudaGraphAddDependencies(graph, &node[1], &node[0], nullptr, 1));
  size_t count = 0;
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  CHECK(count == 1);
  cudaGraphNode_t from, to;
  cudaGraphEdgeData edge{};
  OK(cudaGraphGetEdges(graph, &from, &to, &edge, &count));
  CHECK(from == node[1] && to == node[0] && edge.type == 0);
  OK(cudaGraphNodeGetDependencies(node[0], nullptr, nullptr, &count));
  CHECK(count == 1);
  OK(cudaGraphNodeGetDependentNodes(node[0], nullptr, nullptr, &count));
  CHECK(count == 0);
  OK(cudaGraphRemoveDependencies(graph, &node[1], &node[0], nullptr, 1));
  OK(cudaGraphAddDependencies(graph, &node[0], &node[1], &edge, 1));
  cudaGraphExec_t ready;
  OK(cudaGraphInstantiate(&ready, graph, 0));
  OK(cudaGraphLaunch(ready, nullptr));
  OK(cudaDeviceSynchronize());
  CHECK(data[5] == 12);

  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  unsigned long long id = 0;
  OK(cudaStreamGetCaptureInfo(stream, &status));
  CHECK(status == cudaStreamCaptureStatusNone);
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 32, 0, stream>>>(data, 3);
  const cudaGraphNode_t* after = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  cudaGraph_t captured = nullptr;
  OK(cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &after, &edges, &count));
  CHECK(status == cudaStreamCaptureStatusActive && captured != nullptr && count == 1 && after != nullptr);
  // A node of the program's own between two captured ones.
  cudaGraphNode_t filled;
  cudaGraphNodeParams fill{};
  fill.type = cudaGraphNodeTypeMemset;
  fill.memset.dst = data + 5;
  fill.memset.value = 7;
  fill.memset.elementSize = 4;
  fill.memset.width = fill.memset.height = 1;
  OK(cudaGraphAddNode(&filled, captured, after, edges, count, &fill));
  OK(cudaStreamUpdateCaptureDependencies(stream, &filled, nullptr, 1, cudaStreamSetCaptureDependencies));
  add<<<1, 32, 0, stream>>>(data, 4);
  OK(cudaStreamEndCapture(stream, &captured));
  CHECK(data[5] == 12);
  OK(cudaGraphGetEdges(captured, nullptr, nullptr, nullptr, &count));
  CHECK(count == 2);
  OK(cudaGraphInstantiate(&ready, captured, 0));
  OK(cudaGraphLaunch(ready, nullptr));
  OK(cudaDeviceSynchronize());
  CHECK(data[5] == 74 && data[6] == 1234);
  std::puts("ok");
}
