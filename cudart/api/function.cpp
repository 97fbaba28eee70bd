// Kernels as objects: their attributes, and how many blocks of them fit on a multiprocessor.
#include <algorithm>
#include <cstring>

#include "cudart/api/launch.h"
#include "cudart/api/version.h"

namespace coalesce::cudart {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kRegisterUnit = 256;  // registers are given to a warp in multiples of this
constexpr uint32_t kPartitions = 4;      // each multiprocessor's registers belong to four schedulers

constexpr uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

template <typename Body>
cudaError_t with(const void* function, Body&& body) {
  return call([&](Runtime& r) {
    Kernel* kernel = nullptr;
    const cudaError_t error = r.registry().find_kernel(function, kernel);
    return error != cudaSuccess ? error : body(r, *kernel);
  });
}

}  // namespace

// The rule of the programming guide's chapter on occupancy: the smallest of four limits.
uint32_t blocks_per_multiprocessor(const machine::Device& device, const machine::KernelInfo& kernel,
                                   uint32_t block_threads, uint64_t dynamic_shared) {
  if (block_threads == 0 || block_threads > kernel.max_threads) return 0;
  const uint32_t warps = (block_threads + kWarp - 1) / kWarp;
  uint64_t blocks = std::min(device.blocks_per_multiprocessor, device.threads_per_multiprocessor / kWarp / warps);

  const uint64_t per_warp = round_up(uint64_t{std::max(kernel.registers, 1u)} * kWarp, kRegisterUnit);
  if (per_warp * round_up(warps, kPartitions) > device.registers_per_block) return 0;
  const uint64_t resident = device.registers_per_multiprocessor / kPartitions / per_warp * kPartitions;
  blocks = std::min(blocks, resident / warps);

  const uint64_t unit = device.major >= 8 ? 128 : 256;
  const uint64_t shared =
      round_up(uint64_t{kernel.static_shared_bytes} + dynamic_shared + device.shared_reserved_per_block, unit);
  if (kernel.static_shared_bytes + dynamic_shared > std::max(device.shared_per_block, device.shared_per_block_optin))
    return 0;
  if (shared != 0) blocks = std::min(blocks, device.shared_per_multiprocessor / shared);
  return static_cast<uint32_t>(blocks);
}

COALESCE_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return with(function, [&](Runtime& r, const Kernel& kernel) {
    const machine::KernelInfo& info = *kernel.info;
    cudaFuncAttributes a{};
    a.sharedSizeBytes = info.static_shared_bytes;
    a.localSizeBytes = info.local_bytes;
    a.maxThreadsPerBlock = static_cast<int>(info.max_threads);
    a.numRegs = static_cast<int>(info.registers);
    a.ptxVersion = static_cast<int>(info.ptx_version);
    a.binaryVersion = static_cast<int>(10 * r.device()->major + r.device()->minor);
    a.maxDynamicSharedSizeBytes = static_cast<int>(kernel.dynamic_shared_limit);
    a.preferredShmemCarveout = kernel.carveout;
    for (std::size_t k = 0; k < 3; ++k) a.cluster[1 + k] = static_cast<int>(info.cluster[k]);
    a.cluster[5] = kernel.any_cluster;
    std::memcpy(out, &a, runtime_version() >= 12000 ? sizeof a : offsetof(cudaFuncAttributes, cluster));
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with(function, [&](Runtime& r, Kernel& kernel) {
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize: {
        const int64_t most = int64_t{r.device()->shared_per_block_optin} - kernel.info->static_shared_bytes;
        if (value < 0 || value > most) return cudaErrorInvalidValue;
        kernel.dynamic_shared_limit = static_cast<uint32_t>(value);
        return cudaSuccess;
      }
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100) return cudaErrorInvalidValue;
        kernel.carveout = value;
        return cudaSuccess;
      case cudaFuncAttributeNonPortableClusterSizeAllowed:
        kernel.any_cluster = value != 0;
        return cudaSuccess;
      case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return cudaSuccess;
      case cudaFuncAttributeClusterDimMustBeSet:
      case cudaFuncAttributeRequiredClusterWidth:
      case cudaFuncAttributeRequiredClusterHeight:
      case cudaFuncAttributeRequiredClusterDepth:
        return cudaErrorNotSupported;
    }
    return cudaErrorInvalidValue;
  });
}

COALESCE_API cudaError_t cudaFuncSetCacheConfig(const void* function, int preference) {
  if (preference < 0 || preference > 3) return note(cudaErrorInvalidValue);
  return with(function, [](Runtime&, const Kernel&) { return cudaSuccess; });
}
COALESCE_API cudaError_t cudaFuncSetSharedMemConfig(const void* function, int) {
  return with(function, [](Runtime&, const Kernel&) { return cudaSuccess; });
}

COALESCE_API cudaError_t cudaFuncGetName(const char** name, const void* function) {
  if (name == nullptr) return note(cudaErrorInvalidValue);
  return with(function, [&](Runtime&, const Kernel& kernel) {
    *name = kernel.name.c_str();
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr) return note(cudaErrorInvalidValue);
  return with(function, [&](Runtime&, const Kernel& kernel) {
    if (index >= kernel.info->parameters.size()) return cudaErrorInvalidValue;
    *offset = kernel.info->parameters[index].offset;
    if (size != nullptr) *size = kernel.info->parameters[index].size;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGetFuncBySymbol(const void** handle, const void* function) {
  if (handle == nullptr) return note(cudaErrorInvalidValue);
  return with(function, [&](Runtime&, const Kernel& kernel) {
    *handle = &kernel;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                                int block_threads,
                                                                                size_t dynamic_shared, unsigned flags) {
  if (blocks == nullptr || block_threads <= 0 || flags > 1) return note(cudaErrorInvalidValue);
  return with(function, [&](Runtime& r, const Kernel& kernel) {
    *blocks = static_cast<int>(
        blocks_per_multiprocessor(*r.device(), *kernel.info, static_cast<uint32_t>(block_threads), dynamic_shared));
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                       int block_threads, size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_threads, dynamic_shared, 0);
}

// Clusters of `blocks` blocks that fit, `each` blocks to a multiprocessor, as an H100 counts them: in every group of
// multiprocessors that has as many as a cluster has blocks, and of blocks no more than eight each.
static uint64_t active_clusters(const machine::Device& d, uint64_t each, uint64_t blocks) {
  constexpr uint64_t most = 8;
  const uint64_t fit = std::min(each, most);
  if (blocks == 1) return fit * d.multiprocessors;
  uint64_t clusters = 0;
  for (const uint64_t group : d.groups)
    if (group >= blocks) clusters += group * fit / blocks;
  return clusters;
}

COALESCE_API cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                        const cudaLaunchConfig_t* config) {
  if (clusters == nullptr || config == nullptr) return note(cudaErrorInvalidValue);
  const Launch l = launch_of(*config);
  if (uint64_t{l.grid.x} * l.grid.y * l.grid.z == 0) return note(cudaErrorInvalidValue);
  return with(function, [&](Runtime& r, const Kernel& kernel) {
    const machine::Device& d = *r.device();
    if (const cudaError_t error = check_cluster(d, kernel, l); error != cudaSuccess) return error;
    const dim3 c = cluster_of(kernel, l);
    const uint64_t blocks = uint64_t{c.x} * c.y * c.z;
    if (blocks > 1 && d.groups[0] == 0) return cudaErrorNotSupported;
    const uint64_t each =
        blocks_per_multiprocessor(d, *kernel.info, l.block.x * l.block.y * l.block.z, l.dynamic_shared);
    *clusters = static_cast<int>(active_clusters(d, each, blocks));
    return cudaSuccess;
  });
}

// The largest cluster that a launch of these blocks may have; 0: not even one block fits.
COALESCE_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                              const cudaLaunchConfig_t* config) {
  if (size == nullptr || config == nullptr) return note(cudaErrorInvalidValue);
  const Launch l = launch_of(*config);
  return with(function, [&](Runtime& r, const Kernel& kernel) {
    const machine::Device& d = *r.device();
    if (d.groups[0] == 0) return cudaErrorNotSupported;
    if (const cudaError_t error = check_cluster(d, kernel, l); error != cudaSuccess) return error;
    const uint64_t each =
        blocks_per_multiprocessor(d, *kernel.info, l.block.x * l.block.y * l.block.z, l.dynamic_shared);
    *size = each == 0 ? 0 : static_cast<int>(kernel.any_cluster ? kLargestCluster : kPortableCluster);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                                   int block_threads) {
  if (bytes == nullptr || blocks <= 0 || block_threads <= 0) return note(cudaErrorInvalidValue);
  return with(function, [&](Runtime& r, const Kernel& kernel) {
    const machine::Device& d = *r.device();
    const uint64_t unit = d.major >= 8 ? 128 : 256;
    const uint64_t each = d.shared_per_multiprocessor / static_cast<uint64_t>(blocks) / unit * unit;
    const uint64_t taken = uint64_t{kernel.info->static_shared_bytes} + d.shared_reserved_per_block;
    const uint64_t most = std::max(d.shared_per_block, d.shared_per_block_optin);
    *bytes =
        each > taken ? std::min(each - taken, most - std::min(most, uint64_t{kernel.info->static_shared_bytes})) : 0;
    // Even without dynamic shared memory that many blocks may not fit.
    if (blocks_per_multiprocessor(d, *kernel.info, static_cast<uint32_t>(block_threads), 0) <
        static_cast<uint32_t>(blocks)) {
      return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
