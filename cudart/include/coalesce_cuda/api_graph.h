// Graphs of work: built node by node or captured from a stream, then launched as one. In the form of CUDA 12.
#pragma once

#include "api_types.h"

// clang-format off
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel = 0, cudaGraphNodeTypeMemcpy = 1, cudaGraphNodeTypeMemset = 2, cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4, cudaGraphNodeTypeEmpty = 5, cudaGraphNodeTypeWaitEvent = 6,
  cudaGraphNodeTypeEventRecord = 7, cudaGraphNodeTypeExtSemaphoreSignal = 8, cudaGraphNodeTypeExtSemaphoreWait = 9,
  cudaGraphNodeTypeMemAlloc = 10, cudaGraphNodeTypeMemFree = 11
};
enum cudaGraphExecUpdateResult {
  cudaGraphExecUpdateSuccess = 0, cudaGraphExecUpdateError = 1, cudaGraphExecUpdateErrorTopologyChanged = 2,
  cudaGraphExecUpdateErrorNodeTypeChanged = 3, cudaGraphExecUpdateErrorFunctionChanged = 4,
  cudaGraphExecUpdateErrorParametersChanged = 5, cudaGraphExecUpdateErrorNotSupported = 6,
  cudaGraphExecUpdateErrorUnsupportedFunctionChange = 7, cudaGraphExecUpdateErrorAttributesChanged = 8
};
enum cudaStreamUpdateCaptureDependenciesFlags {
  cudaStreamAddCaptureDependencies = 0, cudaStreamSetCaptureDependencies = 1
};
enum cudaGraphInstantiateFlags {
  cudaGraphInstantiateFlagAutoFreeOnLaunch = 1, cudaGraphInstantiateFlagUpload = 2,
  cudaGraphInstantiateFlagDeviceLaunch = 4, cudaGraphInstantiateFlagUseNodePriority = 8
};
// clang-format on

struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim, blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};
struct cudaMemsetParams {
  void* dst;
  size_t pitch;
  unsigned int value, elementSize;
  size_t width, height;
};
struct cudaHostNodeParams {
  cudaHostFn_t fn;
  void* userData;
};
typedef struct cudaGraphExecUpdateResultInfo_st {
  cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode, errorFromNode;
} cudaGraphExecUpdateResultInfo;

extern "C" {
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);

// Nodes; each waits for the `count` nodes at `needs`.
#define COALESCE_ADD(kind) \
  cudaError_t cudaGraphAdd##kind(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count
COALESCE_ADD(KernelNode), const cudaKernelNodeParams* parameters);
COALESCE_ADD(MemcpyNode), const cudaMemcpy3DParms* parameters);
COALESCE_ADD(MemcpyNode1D), void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
COALESCE_ADD(MemcpyNodeToSymbol), const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind);
COALESCE_ADD(MemcpyNodeFromSymbol), void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind);
COALESCE_ADD(MemsetNode), const cudaMemsetParams* parameters);
COALESCE_ADD(HostNode), const cudaHostNodeParams* parameters);
COALESCE_ADD(EmptyNode));
COALESCE_ADD(EventRecordNode), cudaEvent_t event);
COALESCE_ADD(EventWaitNode), cudaEvent_t event);
COALESCE_ADD(ChildGraphNode), cudaGraph_t child);
COALESCE_ADD(MemFreeNode), void* pointer);
#undef COALESCE_ADD
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph);
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event);
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event);
#define COALESCE_PARAMETERS(kind, T)                                                     \
  cudaError_t cudaGraph##kind##NodeGetParams(cudaGraphNode_t node, T* parameters);       \
  cudaError_t cudaGraph##kind##NodeSetParams(cudaGraphNode_t node, const T* parameters); \
  cudaError_t cudaGraphExec##kind##NodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const T* parameters);
COALESCE_PARAMETERS(Kernel, cudaKernelNodeParams)
COALESCE_PARAMETERS(Memcpy, cudaMemcpy3DParms)
COALESCE_PARAMETERS(Memset, cudaMemsetParams)
COALESCE_PARAMETERS(Host, cudaHostNodeParams)
#undef COALESCE_PARAMETERS
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from,
                                               size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child);
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event);

// Edges. CUDA 13 changed what the plain names take; the _v2 ones mean the same in both, with edges' data that may be
// left out.
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, void* data,
                                 size_t* count);
cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* nodes, void* data, size_t* count);
cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t* nodes, void* data, size_t* count);
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const void* data, size_t count);
cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                           const void* data, size_t count);

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled);
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int* enabled);
cudaError_t cudaDeviceGraphMemTrim(int device);
}  // extern "C"

static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                            size_t* count) {
  return cudaGraphGetEdges_v2(graph, from, to, 0, count);
}
static inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  return cudaGraphNodeGetDependencies_v2(node, nodes, 0, count);
}
static inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  return cudaGraphNodeGetDependentNodes_v2(node, nodes, 0, count);
}
static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to, size_t count) {
  return cudaGraphAddDependencies_v2(graph, from, to, 0, count);
}
static inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to, size_t count) {
  return cudaGraphRemoveDependencies_v2(graph, from, to, 0, count);
}
// CUDA 11's form, whose last arguments receive the node that failed and a message. This form sets neither.
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                               cudaGraphNode_t* /*failed*/, char* log, size_t room) {
  if (log && room) *log = 0;
  return cudaGraphInstantiate(executable, graph, 0ull);
}
