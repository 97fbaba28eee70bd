// Nodes by kind: made, looked at, changed, in graphs and in executable graphs.
#include <algorithm>
#include <cstring>

#include "cudart/api/graph.h"
#include "cudart/api/graph_abi.h"
#include "cudart/api/version.h"
#include "cudart/core/registry.h"

namespace coalesce::cudart {

namespace {

cudaError_t describe(Runtime& r, const cudaKernelNodeParams* p, Operation& out) {
  if (p == nullptr || (p->kernelParams != nullptr && p->extra != nullptr)) return cudaErrorInvalidValue;
  std::vector<uint8_t> packed;
  if (p->extra != nullptr) {
    if (const cudaError_t error = from_extra(p->extra, packed); error != cudaSuccess) return error;
  }
  KernelOperation k;
  const cudaError_t error =
      prepare(r, p->func, {p->gridDim, p->blockDim, p->sharedMemBytes}, p->kernelParams, packed, k);
  out = std::move(k);
  return error;
}

cudaError_t describe(Runtime& r, const cudaMemcpy3DParms* p, Operation& out) {
  CopyOperation c;
  if (const cudaError_t error = copy_of(p, c); error != cudaSuccess) return error;
  uint64_t to_bytes = 0, from_bytes = 0;
  Where to{}, from{};
  if (c.box.empty() || !box_span(c.box, c.to, to_bytes) || !box_span(c.box, c.from, from_bytes) ||
      !classify(r, c.to.address, to_bytes, to) || !classify(r, c.from.address, from_bytes, from))
    return cudaErrorInvalidValue;
  out = c;
  return cudaSuccess;
}

cudaError_t describe(Runtime& r, const cudaMemsetParams* p, Operation& out) {
  if (p == nullptr || p->dst == nullptr) return cudaErrorInvalidValue;
  if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) return cudaErrorInvalidValue;
  if (p->height > 1 && p->pitch < p->width * p->elementSize) return cudaErrorInvalidValue;
  const FillOperation fill{
      {p->width * p->elementSize, p->height}, {address_of(p->dst), p->pitch}, p->value, p->elementSize};
  uint64_t bytes = 0;
  Where where{};
  if (fill.box.empty() || !box_span(fill.box, fill.to, bytes) || !classify(r, fill.to.address, bytes, where) ||
      !on_device(where))
    return cudaErrorInvalidValue;
  out = fill;
  return cudaSuccess;
}

cudaError_t describe(Runtime&, const cudaHostNodeParams* p, Operation& out) {
  if (p == nullptr || p->fn == nullptr) return cudaErrorInvalidValue;
  out = HostOperation{p->fn, p->userData};
  return cudaSuccess;
}

cudaError_t describe_child(cudaGraph_t child, Operation& out) {
  if (!is_graph(child)) return cudaErrorInvalidValue;
  // Memory nodes belong to one graph only, as with CUDA.
  for (const auto& node : child->nodes) {
    if (node->type() == NodeType::allocate || node->type() == NodeType::free) return cudaErrorNotSupported;
  }
  out = ChildOperation{clone(*child)};
  return cudaSuccess;
}

// The program describes a copy of one line as a box of one row.
cudaMemcpy3DParms line(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  p.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  p.dstPtr = {to, bytes, bytes, 1};
  p.extent = {bytes, 1, 1};
  p.kind = kind;
  return p;
}

cudaError_t line_of_symbol(Runtime& r, const void* symbol, size_t offset, bool to_symbol, void* other, size_t bytes,
                           cudaMemcpyKind kind, cudaMemcpy3DParms& out) {
  CopyOperation c;
  if (const auto error = copy_of_symbol(r, "a copy node", symbol, offset, to_symbol, other, bytes, kind, c))
    return error;
  out = line(reinterpret_cast<void*>(c.to.address), reinterpret_cast<void*>(c.from.address), bytes, kind);
  return cudaSuccess;
}

template <typename Params>
cudaError_t add(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count, const Params* p) {
  return call([&](Runtime& r) {
    Operation operation;
    if (const cudaError_t error = describe(r, p, operation); error != cudaSuccess) return error;
    const cudaError_t error = add_node(out, graph, needs, count, std::move(operation));
    if constexpr (std::is_same_v<Params, cudaMemcpy3DParms>) {
      if (error == cudaSuccess) (*out)->copy = *p;
    }
    return error;
  });
}

cudaError_t add_plain(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                      Operation operation) {
  return call([&](Runtime&) { return add_node(out, graph, needs, count, std::move(operation)); });
}

// Changes a node of that type. With `exec`, the node's twin there.
template <typename Params>
cudaError_t change(Runtime& r, cudaGraphExec_t exec, bool in_exec, cudaGraphNode_t node, const Params* p) {
  if (!is_node(node)) return cudaErrorInvalidValue;
  if (in_exec) {
    if (!is_exec(exec)) return cudaErrorInvalidValue;
    node = find_node(*exec->graph, node->id);
    if (node == nullptr) return cudaErrorInvalidValue;
  }
  Operation operation;
  if (const cudaError_t error = describe(r, p, operation); error != cudaSuccess) return error;
  if (operation.index() != node->operation.index()) return cudaErrorInvalidValue;
  node->operation = std::move(operation);
  if constexpr (std::is_same_v<Params, cudaMemcpy3DParms>) node->copy = *p;
  return cudaSuccess;
}
template <typename Params>
cudaError_t change(cudaGraphNode_t node, const Params* p) {
  return call([&](Runtime& r) { return change(r, nullptr, false, node, p); });
}
template <typename Params>
cudaError_t change(cudaGraphExec_t exec, cudaGraphNode_t node, const Params* p) {
  return call([&](Runtime& r) { return change(r, exec, true, node, p); });
}

template <typename T, typename Body>
cudaError_t look(cudaGraphNode_t node, Body&& body) {
  return call([&](Runtime& r) {
    if (!is_node(node)) return cudaErrorInvalidValue;
    auto* operation = std::get_if<T>(&node->operation);
    return operation != nullptr ? body(r, *node, *operation) : cudaErrorInvalidValue;
  });
}

}  // namespace

COALESCE_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                                size_t count, const cudaKernelNodeParams* p) {
  return add(out, graph, needs, count, p);
}
COALESCE_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                                size_t count, const cudaMemcpy3DParms* p) {
  return add(out, graph, needs, count, p);
}
COALESCE_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                                  size_t count, void* to, const void* from, size_t bytes,
                                                  cudaMemcpyKind kind) {
  const cudaMemcpy3DParms p = line(to, from, bytes, kind);
  return add(out, graph, needs, count, &p);
}
COALESCE_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                                size_t count, const cudaMemsetParams* p) {
  return add(out, graph, needs, count, p);
}
COALESCE_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                              size_t count, const cudaHostNodeParams* p) {
  return add(out, graph, needs, count, p);
}
COALESCE_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                               size_t count) {
  return add_plain(out, graph, needs, count, EmptyOperation{});
}
COALESCE_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                                     const cudaGraphNode_t* needs, size_t count, cudaEvent_t event) {
  if (event == nullptr) return note(cudaErrorInvalidValue);
  return add_plain(out, graph, needs, count, RecordOperation{event});
}
COALESCE_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                                   const cudaGraphNode_t* needs, size_t count, cudaEvent_t event) {
  if (event == nullptr) return note(cudaErrorInvalidValue);
  return add_plain(out, graph, needs, count, WaitOperation{event});
}
COALESCE_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                                    const cudaGraphNode_t* needs, size_t count, cudaGraph_t child) {
  return call([&](Runtime&) {
    Operation operation;
    if (const cudaError_t error = describe_child(child, operation); error != cudaSuccess) return error;
    return add_node(out, graph, needs, count, std::move(operation));
  });
}
COALESCE_API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  if (graph == nullptr) return note(cudaErrorInvalidValue);
  return look<ChildOperation>(node, [&](Runtime&, Node&, const ChildOperation& c) {
    *graph = c.graph.get();
    return cudaSuccess;
  });
}

// Symbols: the kind says the direction of the other side; null nodes of the executable graph keep theirs.
COALESCE_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                                        const cudaGraphNode_t* needs, size_t count, const void* symbol,
                                                        const void* from, size_t bytes, size_t offset,
                                                        cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  const cudaError_t error = call(
      [&](Runtime& r) { return line_of_symbol(r, symbol, offset, true, const_cast<void*>(from), bytes, kind, p); });
  return error != cudaSuccess ? error : add(out, graph, needs, count, &p);
}
COALESCE_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                                          const cudaGraphNode_t* needs, size_t count, void* to,
                                                          const void* symbol, size_t bytes, size_t offset,
                                                          cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  const cudaError_t error =
      call([&](Runtime& r) { return line_of_symbol(r, symbol, offset, false, to, bytes, kind, p); });
  return error != cudaSuccess ? error : add(out, graph, needs, count, &p);
}

COALESCE_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  return look<KernelOperation>(node, [&](Runtime& r, Node& n, KernelOperation& k) {
    Kernel* kernel = nullptr;
    if (const cudaError_t error = r.registry().find_kernel(k.function, kernel); error != cudaSuccess) return error;
    n.arguments.clear();
    for (const auto& parameter : kernel->info->parameters) n.arguments.push_back(k.packed.data() + parameter.offset);
    // nvcc's stubs launch by the kernel's handle; the program compares with its own symbol.
    *p = {const_cast<void*>(kernel->host != nullptr ? kernel->host : k.function),
          k.launch.grid,
          k.launch.block,
          static_cast<unsigned>(k.launch.dynamic_shared),
          n.arguments.empty() ? nullptr : n.arguments.data(),
          nullptr};
    return cudaSuccess;
  });
}
COALESCE_ALIAS(cudaGraphKernelNodeGetParams_v2, cudaGraphKernelNodeGetParams);
COALESCE_API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  return look<CopyOperation>(node, [&](Runtime&, const Node& n, const CopyOperation&) {
    *p = n.copy;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  return look<FillOperation>(node, [&](Runtime&, const Node&, const FillOperation& f) {
    *p = {reinterpret_cast<void*>(f.to.address), f.to.pitch, f.value, f.element, f.box.width / f.element, f.box.height};
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  return look<HostOperation>(node, [&](Runtime&, const Node&, const HostOperation& h) {
    *p = {h.function, h.data};
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  if (event == nullptr) return note(cudaErrorInvalidValue);
  return look<RecordOperation>(node, [&](Runtime&, const Node&, const RecordOperation& e) {
    *event = e.event;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  if (event == nullptr) return note(cudaErrorInvalidValue);
  return look<WaitOperation>(node, [&](Runtime&, const Node&, const WaitOperation& e) {
    *event = e.event;
    return cudaSuccess;
  });
}

#define COALESCE_CHANGE(name, Params)                                                                     \
  COALESCE_API cudaError_t cudaGraph##name##NodeSetParams(cudaGraphNode_t node, const Params* p) {        \
    return change(node, p);                                                                               \
  }                                                                                                       \
  COALESCE_API cudaError_t cudaGraphExec##name##NodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, \
                                                              const Params* p) {                          \
    return change(exec, node, p);                                                                         \
  }
COALESCE_CHANGE(Kernel, cudaKernelNodeParams)
COALESCE_CHANGE(Memcpy, cudaMemcpy3DParms)
COALESCE_CHANGE(Memset, cudaMemsetParams)
COALESCE_CHANGE(Host, cudaHostNodeParams)
#undef COALESCE_CHANGE

COALESCE_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                                        cudaMemcpyKind kind) {
  const cudaMemcpy3DParms p = line(to, from, bytes, kind);
  return change(node, &p);
}
COALESCE_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                            const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy3DParms p = line(to, from, bytes, kind);
  return change(exec, node, &p);
}

COALESCE_API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                                  size_t count, cudaMemAllocNodeParams* p) {
  if (p == nullptr || p->bytesize == 0) return note(cudaErrorInvalidValue);
  if (p->poolProps.handleTypes != 0) return note(cudaErrorNotSupported);
  if (p->poolProps.location.type != 1 || p->poolProps.location.id != 0) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    AllocateOperation a;
    if (const cudaError_t error = make_graph_memory(r, p->bytesize, a.memory); error != cudaSuccess) return error;
    p->dptr = a.memory->pointer;
    return add_node(out, graph, needs, count, std::move(a));
  });
}
COALESCE_API cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  return look<AllocateOperation>(node, [&](Runtime&, const Node&, const AllocateOperation& a) {
    *p = {};
    p->poolProps.allocType = 1;
    p->poolProps.location = {1, 0};
    p->bytesize = a.memory->bytes;
    p->dptr = a.memory->pointer;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                                 size_t count, void* pointer) {
  return call([&](Runtime&) {
    if (!is_graph_memory(pointer)) return cudaErrorInvalidValue;
    return add_node(out, graph, needs, count, FreeOperation{pointer});
  });
}
COALESCE_API cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* out) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return look<FreeOperation>(node, [&](Runtime&, const Node&, const FreeOperation& f) {
    *static_cast<void**>(out) = f.pointer;
    return cudaSuccess;
  });
}

// One call for all kinds, since 12. CUDA 13 gives it the edges' data, which change nothing; 12 calls that _v2.
COALESCE_API cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                             const void*, size_t count, cudaGraphNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  switch (static_cast<NodeType>(p->type)) {
    case NodeType::kernel:
      return add(out, graph, needs, count, &p->kernel);
    case NodeType::copy:
      return add(out, graph, needs, count, &p->memcpy.copyParams);
    case NodeType::fill:
      return add(out, graph, needs, count, &p->memset);
    case NodeType::host:
      return add(out, graph, needs, count, &p->host);
    case NodeType::child:
      return cudaGraphAddChildGraphNode(out, graph, needs, count, p->graph);
    case NodeType::empty:
      return cudaGraphAddEmptyNode(out, graph, needs, count);
    case NodeType::wait:
      return cudaGraphAddEventWaitNode(out, graph, needs, count, p->event);
    case NodeType::record:
      return cudaGraphAddEventRecordNode(out, graph, needs, count, p->event);
    case NodeType::allocate:
      return cudaGraphAddMemAllocNode(out, graph, needs, count, &p->alloc);
    case NodeType::free:
      return cudaGraphAddMemFreeNode(out, graph, needs, count, p->freed);
    case NodeType::conditional:
      return add_conditional(out, graph, needs, count, &p->conditional);
  }
  return note(cudaErrorNotSupported);  // semaphores of other APIs
}
COALESCE_API cudaError_t cudaGraphAddNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                          const void* data, size_t count, cudaGraphNodeParams* p) {
  if (runtime_version() >= 13000) return cudaGraphAddNode_v2(out, graph, needs, data, count, p);
  // 12: (out, graph, needs, count, params)
  return cudaGraphAddNode_v2(out, graph, needs, nullptr, reinterpret_cast<size_t>(data),
                             reinterpret_cast<cudaGraphNodeParams*>(count));
}

namespace {

cudaError_t change_any(cudaGraphExec_t exec, bool in_exec, cudaGraphNode_t node, const cudaGraphNodeParams* p) {
  if (p == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    switch (static_cast<NodeType>(p->type)) {
      case NodeType::kernel:
        return change(r, exec, in_exec, node, &p->kernel);
      case NodeType::copy:
        return change(r, exec, in_exec, node, &p->memcpy.copyParams);
      case NodeType::fill:
        return change(r, exec, in_exec, node, &p->memset);
      case NodeType::host:
        return change(r, exec, in_exec, node, &p->host);
      default:
        return cudaErrorNotSupported;
    }
  });
}

}  // namespace

COALESCE_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p) {
  return change_any(nullptr, false, node, p);
}
COALESCE_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    cudaGraphNodeParams* p) {
  return change_any(exec, true, node, p);
}

}  // namespace coalesce::cudart
