// How many blocks of a kernel fit on a multiprocessor. tests/truth/occupancy.jsonl has what an H100 says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "machine/api/machine.h"
#include "machine/device.h"

namespace coalesce::cudart {

// The blocks of the kernel that fit on one multiprocessor; 0: none.
uint32_t blocks_per_multiprocessor(const machine::Device& device, const machine::KernelInfo& kernel,
                                   uint32_t block_threads, uint64_t dynamic_shared);

// The most threads of a block, by the kernel's bounds and its registers.
uint32_t most_threads(const machine::Device& device, const machine::KernelInfo& kernel);

struct BestBlock {
  uint32_t threads = 0, blocks = 0;  // of a block, and of a multiprocessor
};
// The block size with which most threads are resident, the largest of those. `shared_of`: dynamic shared memory by the
// block's threads. `limit`: of the threads, 0: none.
BestBlock best_block(const machine::Device& device, const machine::KernelInfo& kernel,
                     const std::function<uint64_t(uint32_t)>& shared_of, uint32_t limit);

// Dynamic shared memory of each block if a multiprocessor is to hold so many; none: it cannot.
std::optional<uint64_t> available_shared(const machine::Device& device, const machine::KernelInfo& kernel,
                                         uint32_t blocks, uint32_t threads);

}  // namespace coalesce::cudart
