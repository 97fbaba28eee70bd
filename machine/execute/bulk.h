// The common part of bulk copies of bytes and of tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/isa/service.h"

namespace coalesce::machine {

inline constexpr uint64_t kBulkUnit = 16;  // bytes: of sizes and addresses

// The thread ends the launch where the address is no multiple. `what`: "a bulk copy to", say.
void need_multiple(ServiceThread& t, uint64_t address, uint64_t multiple, const char* what);
// Bytes have come: the mbarrier object expects so many fewer.
void complete_bytes(ServiceThread& t, uint64_t object, uint64_t bytes);
// The sectors that a copy of a row moves, as an H100 counts them (tests/truth/tensor_sectors.txt; the rule:
// tests/hardware/tensor_sectors.py). The row is `length` bytes from `shared` on, in shared memory; the tensor has those
// from `low` to `high`, and byte 0 would lie at `global`.
uint64_t sectors_of_row(uint64_t shared, uint64_t global, uint64_t length, uint64_t low, uint64_t high, bool loads);
// The same of a load to one of several blocks. Such a part ends where a line of global memory does, and costs two
// sectors at least, or three where the elements do not stay as they are: outside of the tensor; all, if `changes`;
// those that a unit of 16 bytes has from `end` on.
uint64_t sectors_to_blocks(uint64_t shared, uint64_t global, uint64_t length, uint64_t low, uint64_t high, uint64_t end,
                           bool changes);
// Each element of `bytes` bytes: to = to OP from.
void reduce(const BulkForm& form, std::byte* to, const std::byte* from, uint64_t bytes);
// Where a byte of the own block's shared memory is in the block of rank `other`.
uint64_t in_block(uint64_t generic, uint32_t own, uint32_t other);

}  // namespace coalesce::machine
