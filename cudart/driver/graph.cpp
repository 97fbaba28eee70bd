// Graphs: the runtime's. Kernel nodes have the same structure in both APIs but for the dimensions' form.
#include "cudart/api/graph.h"

#include "cudart/driver/copy.h"
#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {

namespace {

cudaKernelNodeParams runtime_params(const CUDA_KERNEL_NODE_PARAMS& p, bool v2) {
  const cudaKernel_t function = p.func != nullptr || !v2 ? p.func : p.kern;
  return {function,
          {p.gridDimX, p.gridDimY, p.gridDimZ},
          {p.blockDimX, p.blockDimY, p.blockDimZ},
          p.sharedMemBytes,
          p.kernelParams,
          p.extra};
}

CUresult add_kernel(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                    const CUDA_KERNEL_NODE_PARAMS* p, bool v2) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = runtime_params(*p, v2);
  return in_context([&] { return cudaGraphAddKernelNode(out, graph, needs, count, &same); });
}

CUresult get_kernel(cudaGraphNode_t node, CUDA_KERNEL_NODE_PARAMS* out, bool v2) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaKernelNodeParams p{};
  const void* handle = nullptr;
  const CUresult result = in_context([&] {
    const cudaError_t error = cudaGraphKernelNodeGetParams(node, &p);
    return error != cudaSuccess ? error : call([&](Runtime&) {
      handle = std::get<KernelOperation>(node->operation).function;
      return cudaSuccess;
    });
  });
  if (result != CUDA_SUCCESS) return result;
  out->func = static_cast<cudaKernel_t>(const_cast<void*>(handle));
  out->gridDimX = p.gridDim.x;
  out->gridDimY = p.gridDim.y;
  out->gridDimZ = p.gridDim.z;
  out->blockDimX = p.blockDim.x;
  out->blockDimY = p.blockDim.y;
  out->blockDimZ = p.blockDim.z;
  out->sharedMemBytes = p.sharedMemBytes;
  out->kernelParams = p.kernelParams;
  out->extra = p.extra;
  if (v2) {
    out->kern = nullptr;
    out->ctx = nullptr;
  }
  return CUDA_SUCCESS;
}

}  // namespace

COALESCE_API CUresult cuGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return in_context([&] { return cudaGraphCreate(graph, flags); });
}
COALESCE_API CUresult cuGraphDestroy(cudaGraph_t graph) {
  return after_init([&] { return cudaGraphDestroy(graph); });
}
COALESCE_API CUresult cuGraphClone(cudaGraph_t* out, cudaGraph_t graph) {
  return in_context([&] { return cudaGraphClone(out, graph); });
}
COALESCE_API CUresult cuGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return in_context([&] { return cudaGraphInstantiateWithFlags(exec, graph, flags); });
}
// The older forms end with places for a failing node and a log.
COALESCE_API CUresult cuGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
  return cuGraphInstantiateWithFlags(exec, graph, 0);
}
COALESCE_ALIAS(cuGraphInstantiate_v2, cuGraphInstantiate);
COALESCE_API CUresult cuGraphExecDestroy(cudaGraphExec_t exec) {
  return after_init([&] { return cudaGraphExecDestroy(exec); });
}
COALESCE_API CUresult cuGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return in_context([&] { return cudaGraphLaunch(exec, stream); });
}
COALESCE_ALIAS(cuGraphLaunch_ptsz, cuGraphLaunch);
COALESCE_API CUresult cuGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return in_context([&] { return cudaGraphUpload(exec, stream); });
}
COALESCE_ALIAS(cuGraphUpload_ptsz, cuGraphUpload);

COALESCE_API CUresult cuGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                           size_t count, const CUDA_KERNEL_NODE_PARAMS* p) {
  return add_kernel(out, graph, needs, count, p, false);
}
COALESCE_API CUresult cuGraphAddKernelNode_v2(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                              size_t count, const CUDA_KERNEL_NODE_PARAMS* p) {
  return add_kernel(out, graph, needs, count, p, true);
}
COALESCE_API CUresult cuGraphKernelNodeGetParams(cudaGraphNode_t node, CUDA_KERNEL_NODE_PARAMS* p) {
  return get_kernel(node, p, false);
}
COALESCE_API CUresult cuGraphKernelNodeGetParams_v2(cudaGraphNode_t node, CUDA_KERNEL_NODE_PARAMS* p) {
  return get_kernel(node, p, true);
}
COALESCE_API CUresult cuGraphKernelNodeSetParams_v2(cudaGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = runtime_params(*p, true);
  return in_context([&] { return cudaGraphKernelNodeSetParams(node, &same); });
}
COALESCE_API CUresult cuGraphKernelNodeGetAttribute(cudaGraphNode_t node, int attribute, void* value) {
  return in_context([&] { return cudaGraphKernelNodeGetAttribute(node, attribute, value); });
}
COALESCE_API CUresult cuGraphKernelNodeSetAttribute(cudaGraphNode_t node, int attribute, const void* value) {
  return in_context([&] { return cudaGraphKernelNodeSetAttribute(node, attribute, value); });
}
COALESCE_API CUresult cuGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return in_context([&] { return cudaGraphKernelNodeCopyAttributes(to, from); });
}
COALESCE_API CUresult cuGraphExecKernelNodeSetParams_v2(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                        const CUDA_KERNEL_NODE_PARAMS* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = runtime_params(*p, true);
  return in_context([&] { return cudaGraphExecKernelNodeSetParams(exec, node, &same); });
}
COALESCE_API CUresult cuGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                           size_t count, const CUDA_MEMCPY3D* p, CUcontext) {
  return in_context([&] {
    return call([&](Runtime&) {
      CopyOperation c;
      if (const cudaError_t error = copy_of(p, c); error != cudaSuccess) return error;
      return add_node(out, graph, needs, count, c);
    });
  });
}
COALESCE_API CUresult cuGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                           size_t count, const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaMemsetParams same{pointer_of(p->dst), p->pitch, p->value, p->elementSize, p->width, p->height};
  return in_context([&] { return cudaGraphAddMemsetNode(out, graph, needs, count, &same); });
}
COALESCE_API CUresult cuGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                         size_t count, const cudaHostNodeParams* p) {
  return in_context([&] { return cudaGraphAddHostNode(out, graph, needs, count, p); });
}
COALESCE_API CUresult cuGraphAddEmptyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                          size_t count) {
  return in_context([&] { return cudaGraphAddEmptyNode(out, graph, needs, count); });
}
COALESCE_API CUresult cuGraphAddChildGraphNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                               size_t count, cudaGraph_t child) {
  return in_context([&] { return cudaGraphAddChildGraphNode(out, graph, needs, count, child); });
}
COALESCE_API CUresult cuGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                             size_t count) {
  return in_context([&] { return cudaGraphAddDependencies_v2(graph, from, to, nullptr, count); });
}
COALESCE_API CUresult cuGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return in_context([&] { return cudaGraphGetNodes(graph, nodes, count); });
}
COALESCE_API CUresult cuGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return in_context([&] { return cudaGraphGetRootNodes(graph, nodes, count); });
}
COALESCE_API CUresult cuGraphNodeGetType(cudaGraphNode_t node, int* type) {
  return in_context([&] { return cudaGraphNodeGetType(node, type); });
}
COALESCE_API CUresult cuGraphDestroyNode(cudaGraphNode_t node) {
  return in_context([&] { return cudaGraphDestroyNode(node); });
}

}  // namespace coalesce::cudart
