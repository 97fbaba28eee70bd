// These functions of CUDA 13 have names that took other arguments before: places instead of numbers of devices, edges
// with data. Both forms are offered; the runtime has them under other names in all its versions. Edges' data may be
// left out (0).
#pragma once

#include "api_graph.h"
#include "api_types.h"

struct cudaGraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};

// A node of any kind: `type` says which of these counts.
struct cudaMemcpyNodeParams {
  int flags, reserved[3];
  cudaMemcpy3DParms copyParams;
};
struct cudaChildGraphNodeParams {
  cudaGraph_t graph;
};
struct cudaEventWaitNodeParams {
  cudaEvent_t event;
};
struct cudaEventRecordNodeParams {
  cudaEvent_t event;
};
struct cudaMemFreeNodeParams {
  void* dptr;
};
struct cudaGraphNodeParams {
  cudaGraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    cudaKernelNodeParams kernel;
    cudaMemcpyNodeParams memcpy;
    cudaMemsetParams memset;
    cudaHostNodeParams host;
    cudaChildGraphNodeParams graph;
    cudaEventWaitNodeParams eventWait;
    cudaEventRecordNodeParams eventRecord;
    cudaMemFreeNodeParams free;
  };
  long long reserved2;
};
static_assert(sizeof(cudaGraphNodeParams) == 256, "as the runtime reads it");

extern "C" {
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                const cudaGraphEdgeData* data, size_t count, cudaGraphNodeParams* parameters);
cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                   const cudaGraphEdgeData* data, size_t count, unsigned int flags);
cudaError_t cudaMemAdvise_v2(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation place);
cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t bytes, cudaMemLocation place, unsigned int flags,
                                    cudaStream_t stream);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                                        const cudaGraphEdgeData** data, size_t* count);
}

static inline cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                        cudaMemLocation place) {
  return cudaMemAdvise_v2(pointer, bytes, advice, place);
}
static inline cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation place,
                                               unsigned int flags, cudaStream_t stream = 0) {
  return cudaMemPrefetchAsync_v2(pointer, bytes, place, flags, stream);
}
static inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                   unsigned long long* id = 0, cudaGraph_t* graph = 0,
                                                   const cudaGraphNode_t** nodes = 0,
                                                   const cudaGraphEdgeData** data = 0, size_t* count = 0) {
  return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, data, count);
}
static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                            cudaGraphEdgeData* data, size_t* count) {
  return cudaGraphGetEdges_v2(graph, from, to, data, count);
}
static inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                       cudaGraphEdgeData* data, size_t* count) {
  return cudaGraphNodeGetDependencies_v2(node, nodes, data, count);
}
static inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                         cudaGraphEdgeData* data, size_t* count) {
  return cudaGraphNodeGetDependentNodes_v2(node, nodes, data, count);
}
static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to, const cudaGraphEdgeData* data,
                                                   size_t count) {
  return cudaGraphAddDependencies_v2(graph, from, to, data, count);
}
static inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to, const cudaGraphEdgeData* data,
                                                      size_t count) {
  return cudaGraphRemoveDependencies_v2(graph, from, to, data, count);
}
static inline cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                           const cudaGraphEdgeData* data, size_t count,
                                           cudaGraphNodeParams* parameters) {
  return cudaGraphAddNode_v2(node, graph, needs, data, count, parameters);
}
static inline cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                           size_t count, cudaGraphNodeParams* parameters) {
  return cudaGraphAddNode_v2(node, graph, needs, 0, count, parameters);
}
static inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                              const cudaGraphEdgeData* data, size_t count,
                                                              unsigned int flags = 0) {
  return cudaStreamUpdateCaptureDependencies_v2(stream, nodes, data, count, flags);
}
static inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count,
                                                              unsigned int flags = 0) {
  return cudaStreamUpdateCaptureDependencies_v2(stream, nodes, 0, count, flags);
}
