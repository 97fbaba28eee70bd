// Launching, for the API's several forms of it.
#pragma once

#include <algorithm>

#include "cudart/core/registry.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {

struct Launch {
  dim3 grid, block;
  size_t dynamic_shared = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
  // Kernels that kernels launch have them:
  uint32_t depth = 0;
  uint64_t earlier = 0;              // warp instructions that the others of the same host launch have executed
  std::optional<dim3> cluster = {};  // blocks; else as the kernel says, else one
  std::vector<cudaLaunchAttribute> hints = {};  // attributes that change no result
};

// Whether it may begin while the kernel before it runs (programmatic dependent launch).
inline bool overlaps(const Launch& l) {
  return std::ranges::any_of(l.hints, [](const cudaLaunchAttribute& a) {
    return a.id == cudaLaunchAttributeProgrammaticStreamSerialization &&
           a.value.programmaticStreamSerializationAllowed != 0;
  });
}

// The conditional nodes that this thread runs, one within the other, and the graphs that kernels launch: the kernels of
// them so far, and the warp instructions of those. One budget limits them all, as often as a body runs.
struct Loops {
  uint32_t depth = 0;
  uint64_t kernels = 0, instructions = 0;
};
Loops& loops();
struct InLoop {
  InLoop() { ++loops().depth; }
  ~InLoop() {
    if (--loops().depth == 0) loops() = {};
  }
  InLoop(const InLoop&) = delete;
  InLoop& operator=(const InLoop&) = delete;
};

// Graphs that kernels launch: graph_device.cpp. What a kernel is told of the graph that this thread runs; and a graph
// that it has launched.
machine::GraphAround graph_around();
void launched_by_device(const machine::DeviceWork& work);

struct KernelOperation;
struct RanAlone {
  const Kernel* kernel = nullptr;
  std::vector<machine::DeviceWork> work;  // what the kernel gives the device to do
  uint64_t instructions = 0;
};
// Runs the kernel without the work that it gives the device.
cudaError_t run_alone(Runtime& r, const KernelOperation& k, RanAlone& ran);

// Runs the kernel to its end; under the lock. `arguments`: one pointer per parameter (null: `packed` holds them as laid
// out). Returns what CUDA's launch returns: faults of the kernel itself show later (Runtime::fail).
cudaError_t launch(Runtime& r, const void* function, const Launch& l, void* const* arguments,
                   const std::vector<uint8_t>& packed = {});

// The arguments as one block, the other way to give them: extra = {1, block, 2, &bytes, 0}.
cudaError_t from_extra(void** extra, std::vector<uint8_t>& packed);

// Checks the launch against the device and the kernel, with CUDA's codes.
cudaError_t check_launch(const machine::Device& device, const Kernel& kernel, const Launch& l);

// The launch that a configuration with attributes describes.
Launch launch_of(const cudaLaunchConfig_t& config);
inline constexpr uint64_t kPortableCluster = 8, kLargestCluster = 16;  // blocks
// Whether the kernel's clusters are of a size that the device has, and the grid consists of them.
cudaError_t check_cluster(const machine::Device& device, const Kernel& kernel, const Launch& l);

// The blocks of a cluster along each axis, by the launch or the kernel.
dim3 cluster_of(const Kernel& kernel, const Launch& l);

// body(Runtime&, Kernel&) with the kernel that the program names so.
template <typename Body>
cudaError_t with_kernel(const void* function, Body&& body) {
  return call([&](Runtime& r) {
    Kernel* kernel = nullptr;
    const cudaError_t error = r.registry().find_kernel(function, kernel);
    return error != cudaSuccess ? error : body(r, *kernel);
  });
}

}  // namespace coalesce::cudart
