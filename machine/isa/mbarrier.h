// The 64 bits of an mbarrier object, which programs see as opaque, and how they change.
#pragma once

#include <cstdint>

namespace coalesce::machine {

// Arrivals that are still to come; those of each phase; bytes that are still to come, in two's complement; the phase.
inline constexpr unsigned kMbarrierExpected = 20, kMbarrierBytes = 40, kMbarrierPhase = 61;
inline constexpr uint64_t kMbarrierCount = (1u << 20) - 1, kMbarrierBytesMask = (1u << 21) - 1;

inline uint64_t mbarrier_of(uint64_t count) { return count | count << kMbarrierExpected; }

// `change`: arrivals, those that drop out of later phases, and bytes to expect, where the object has its counts. The
// last arrival of a phase with no bytes to come begins the next one. No change: the object as it is.
inline uint64_t mbarrier_after(uint64_t old, uint64_t change) {
  if (change == 0) return old;
  const uint64_t pending = (old - change) & kMbarrierCount;
  const uint64_t expected = ((old >> kMbarrierExpected) - (change >> kMbarrierExpected)) & kMbarrierCount;
  const uint64_t bytes = ((old >> kMbarrierBytes) + (change >> kMbarrierBytes)) & kMbarrierBytesMask;
  const uint64_t phase = old >> kMbarrierPhase & 1;
  const bool complete = pending == 0 && bytes == 0;
  return (complete ? expected : pending) | expected << kMbarrierExpected | bytes << kMbarrierBytes |
         (phase ^ uint64_t{complete}) << kMbarrierPhase;
}

}  // namespace coalesce::machine
