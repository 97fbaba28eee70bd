// Attributes of kernel nodes. Those that change no result are kept as the program gave them.
#include <algorithm>
#include <cstring>

#include "cudart/api/graph.h"
#include "cudart/api/unsupported.h"

namespace coalesce::cudart {

namespace {

struct Updatable {
  int updatable;
  uint64_t handle;
};

// Writes the handle by which kernels name the node.
cudaError_t make_updatable(Node& node, const void* value) {
  Updatable words;
  std::memcpy(&words, value, sizeof words);
  if (words.updatable != 0 && words.updatable != 1) return cudaErrorInvalidValue;
  if (words.updatable == 0) return node.updatable ? cudaErrorNotSupported : cudaSuccess;
  node.updatable = true;
  words.handle = node.id;
  std::memcpy(const_cast<void*>(value), &words, sizeof words);  // NOLINT: as CUDA does
  return cudaSuccess;
}

// The attributes that a kernel node has, as an H100's driver answers, and the bytes of each.
struct NodeAttribute {
  int attribute;
  std::size_t bytes;
};
constexpr int kDomains = 9;                            // cudaLaunchAttributeMemSyncDomainMap
constexpr char kDefaultDomains[] = {0, 1};             // of ordinary launches, of remote ones
constexpr NodeAttribute kNodeAttributes[] = {{1, 28},  // cudaLaunchAttributeAccessPolicyWindow
                                             {cudaLaunchAttributeCooperative, 4},
                                             {cudaLaunchAttributeClusterDimension, 12},
                                             {5, 4},  // cudaLaunchAttributeClusterSchedulingPolicyPreference
                                             {8, 4},  // cudaLaunchAttributePriority
                                             {kDomains, 2},
                                             {10, 4},  // cudaLaunchAttributeMemSyncDomain
                                             {cudaLaunchAttributeDeviceUpdatableKernelNode, 16},
                                             {14, 4}};  // cudaLaunchAttributePreferredSharedMemoryCarveout
constexpr int kNeverRead = 16;                          // cudaLaunchAttributeNvlinkUtilCentricScheduling can be set

std::size_t attribute_bytes(int attribute) {
  const auto* const row = std::ranges::find(kNodeAttributes, attribute, &NodeAttribute::attribute);
  return row == std::end(kNodeAttributes) ? 0 : row->bytes;
}

KernelOperation* kernel_in(cudaGraphNode_t node) {
  return is_node(node) ? std::get_if<KernelOperation>(&node->operation) : nullptr;
}

cudaLaunchAttribute* hint_of(Launch& l, int attribute) {
  const auto at = std::ranges::find_if(l.hints, [&](const cudaLaunchAttribute& a) { return a.id == attribute; });
  return at == l.hints.end() ? nullptr : &*at;
}

}  // namespace

COALESCE_API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, int attribute, const void* value) {
  if (value == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    KernelOperation* const k = kernel_in(node);
    if (k == nullptr) return cudaErrorInvalidValue;
    if (attribute == cudaLaunchAttributeDeviceUpdatableKernelNode) return make_updatable(*node, value);
    if (attribute == kNeverRead) return cudaSuccess;
    const std::size_t bytes = attribute_bytes(attribute);
    if (bytes == 0) return cudaErrorInvalidValue;
    cudaLaunchAttribute a{};
    a.id = static_cast<cudaLaunchAttributeID>(attribute);
    std::memcpy(&a.value, value, bytes);
    if (attribute == cudaLaunchAttributeCooperative)
      k->launch.cooperative = a.value.cooperative != 0;
    else if (attribute == cudaLaunchAttributeClusterDimension)
      k->launch.cluster = dim3{a.value.clusterDim[0], a.value.clusterDim[1], a.value.clusterDim[2]};
    else if (cudaLaunchAttribute* const known = hint_of(k->launch, attribute))
      *known = a;
    else
      k->launch.hints.push_back(a);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, int attribute, void* value) {
  if (value == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    KernelOperation* const k = kernel_in(node);
    const std::size_t bytes = attribute_bytes(attribute);
    if (k == nullptr || bytes == 0) return cudaErrorInvalidValue;
    cudaLaunchAttribute a{};
    const dim3 cluster = k->launch.cluster.value_or(dim3{0, 0, 0});
    if (attribute == cudaLaunchAttributeCooperative) {
      a.value.cooperative = k->launch.cooperative;
    } else if (attribute == cudaLaunchAttributeClusterDimension) {
      std::memcpy(a.value.clusterDim, &cluster, sizeof cluster);
    } else if (attribute == cudaLaunchAttributeDeviceUpdatableKernelNode) {
      const Updatable is{node->updatable, node->updatable ? node->id : 0};
      std::memcpy(&a.value, &is, sizeof is);
    } else if (const cudaLaunchAttribute* const known = hint_of(k->launch, attribute)) {
      a = *known;
    } else if (attribute == kDomains) {
      std::memcpy(&a.value, kDefaultDomains, sizeof kDefaultDomains);
    }
    std::memcpy(value, &a.value, bytes);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return call([&](Runtime&) {
    KernelOperation *const k = kernel_in(to), *const source = kernel_in(from);
    if (k == nullptr || source == nullptr) return cudaErrorInvalidValue;
    k->launch.cooperative = source->launch.cooperative;
    k->launch.cluster = source->launch.cluster;
    k->launch.hints = source->launch.hints;
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
