// The memory that the host can still give, so that a program that asks for too much gets an error instead of being
// killed.
#pragma once

#include <cstdint>
#include <string>

namespace coalesce::machine {

struct HostMemory {
  uint64_t total = UINT64_MAX;      // bytes of the machine or of the container, whichever is less; UINT64_MAX: unknown
  uint64_t available = UINT64_MAX;  // bytes that can be taken without swapping, caches counted as free
  // The memory left for the program itself and everything else: an eighth of the total, at most 512 MiB.
  uint64_t margin() const;
  // Bytes that may be promised to allocations; never wraps.
  uint64_t spendable() const { return available > margin() ? available - margin() : 0; }
};

// Reads /proc/meminfo and the limits of all control groups (v1 and v2) this process is in. `root` is put before every
// path; "" outside tests.
HostMemory read_host_memory(const std::string& root = "");

}  // namespace coalesce::machine
