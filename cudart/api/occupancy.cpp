// How many blocks of a kernel fit on a multiprocessor, and what follows from that.
#include "cudart/api/occupancy.h"

#include <algorithm>

#include "cudart/api/launch.h"

namespace coalesce::cudart {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kRegisterUnit = 256;  // registers are given to a warp in multiples of this
constexpr uint32_t kPartitions = 4;      // each multiprocessor's registers belong to four schedulers

constexpr uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t shared_unit(const machine::Device& device) { return device.major >= 8 ? 128 : 256; }
uint64_t most_shared(const machine::Device& device) {
  return std::max(device.shared_per_block, device.shared_per_block_optin);
}

// Registers of a warp; and whether a block of so many warps has them.
uint64_t registers_of_warp(const machine::KernelInfo& kernel) {
  return round_up(uint64_t{std::max(kernel.registers, 1u)} * kWarp, kRegisterUnit);
}
bool fits_registers(const machine::Device& device, const machine::KernelInfo& kernel, uint32_t warps) {
  return registers_of_warp(kernel) * round_up(warps, kPartitions) <= device.registers_per_block;
}

template <typename Body>
cudaError_t with_known(const void* function, Body&& body) {
  return with_kernel(function, [&](Runtime& r, Kernel& kernel) {
    r.registry().know_machine_code(kernel);
    return body(r, kernel);
  });
}

}  // namespace

// The rule of the programming guide's chapter on occupancy: the smallest of four limits. An H100 leaves launch bounds
// out of it.
uint32_t blocks_per_multiprocessor(const machine::Device& device, const machine::KernelInfo& kernel,
                                   uint32_t block_threads, uint64_t dynamic_shared) {
  if (block_threads == 0 || block_threads > device.threads_per_block) return 0;
  const uint32_t warps = (block_threads + kWarp - 1) / kWarp;
  uint64_t blocks = std::min(device.blocks_per_multiprocessor, device.threads_per_multiprocessor / kWarp / warps);

  if (!fits_registers(device, kernel, warps)) return 0;
  const uint64_t resident = device.registers_per_multiprocessor / kPartitions / registers_of_warp(kernel) * kPartitions;
  blocks = std::min(blocks, resident / warps);

  const uint64_t shared = round_up(
      uint64_t{kernel.static_shared_bytes} + dynamic_shared + device.shared_reserved_per_block, shared_unit(device));
  if (kernel.static_shared_bytes + dynamic_shared > most_shared(device)) return 0;
  if (shared != 0) blocks = std::min(blocks, device.shared_per_multiprocessor / shared);
  return static_cast<uint32_t>(blocks);
}

uint32_t most_threads(const machine::Device& device, const machine::KernelInfo& kernel) {
  uint32_t warps = device.threads_per_block / kWarp;
  while (warps > 1 && !fits_registers(device, kernel, warps)) --warps;
  return std::min(kernel.max_threads, warps * kWarp);
}

BestBlock best_block(const machine::Device& device, const machine::KernelInfo& kernel,
                     const std::function<uint64_t(uint32_t)>& shared_of, uint32_t limit) {
  const uint32_t bound = most_threads(device, kernel), most = limit == 0 ? bound : std::min(limit, bound);
  BestBlock best;
  for (uint32_t rounded = (most + kWarp - 1) / kWarp * kWarp; rounded > 0; rounded -= kWarp) {
    const uint32_t threads = std::min(most, rounded);
    const uint32_t blocks = blocks_per_multiprocessor(device, kernel, threads, shared_of(threads));
    if (threads * blocks > best.threads * best.blocks) best = {threads, blocks};
  }
  return best;
}

// An H100 does not take off what the driver keeps for itself in each block.
std::optional<uint64_t> available_shared(const machine::Device& device, const machine::KernelInfo& kernel,
                                         uint32_t blocks, uint32_t threads) {
  if (blocks_per_multiprocessor(device, kernel, threads, 0) < blocks) return std::nullopt;
  const uint64_t each = device.shared_per_multiprocessor / blocks / shared_unit(device) * shared_unit(device);
  return std::min(each, most_shared(device)) -
         std::min<uint64_t>({each, most_shared(device), kernel.static_shared_bytes});
}

COALESCE_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                                int block_threads,
                                                                                size_t dynamic_shared, unsigned flags) {
  if (blocks == nullptr || block_threads <= 0 || flags > 1) return note(cudaErrorInvalidValue);
  return with_known(function, [&](Runtime& r, const Kernel& kernel) {
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
  return with_known(function, [&](Runtime& r, const Kernel& kernel) {
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
  return with_known(function, [&](Runtime& r, const Kernel& kernel) {
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
  return with_known(function, [&](Runtime& r, const Kernel& kernel) {
    const auto free = available_shared(*r.device(), *kernel.info, static_cast<uint32_t>(blocks),
                                       static_cast<uint32_t>(block_threads));
    *bytes = free.value_or(0);
    return free ? cudaSuccess : cudaErrorInvalidValue;
  });
}

}  // namespace coalesce::cudart
