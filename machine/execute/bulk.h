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
// Each element of `bytes` bytes: to = to OP from.
void reduce(const BulkForm& form, std::byte* to, const std::byte* from, uint64_t bytes);
// Where a byte of the own block's shared memory is in the block of rank `other`.
uint64_t in_block(uint64_t generic, uint32_t own, uint32_t other);

}  // namespace coalesce::machine
