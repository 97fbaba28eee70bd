// Random small kernels: structured control flow over a handful of variables, with everything the executors treat
// specially near at hand (uniform and affine values, loops, block-local temporaries, early exits).
//
// Every kernel ends, has no data race (but for reductions whose result nobody reads before a barrier), and never meets
// a barrier in divergent code. Parameters: out, in, acc (u64), n, m (u32), and bag (bytes)
// where the breadth is not `reference`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/execute/ops/ops.h"

namespace coalesce::machine::test {

enum class Breadth : uint8_t {
  reference,  // a small language, in bounds only, whose result does not depend on the order of warps
  // Every row of the table of operations on odd operands (NaN payloads, subnormals, limits), every width of memory
  // access, atomics of all types with their old values used, more of what lanes do together; one kernel in 16 may
  // fault.
  all,
  // The same, but one statement and no registers besides those that it names: compiled in a fraction of the time.
  small,
};

// Sums under spin locks, taken by each lane for itself, anywhere in the kernel; or as one reduction each. All else is
// the same in both (and nothing in them asks which lanes are together), so that they leave the same memory. One small
// block; kLocks pairs of a lock and a sum lie behind the words of acc.
enum class Sums : uint8_t { none, locked, reduced };

struct GeneratedKernel {
  std::string ptx;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
};

inline constexpr uint32_t kInWords = 4096, kAccWords = 256, kLocks = 4, kOutBytesPerThread = 88;

GeneratedKernel generate_kernel(uint64_t seed, Breadth breadth = Breadth::reference, Sums sums = Sums::none);

// The bytes of the parameter `bag`, the last one of kernels that are not for the reference.
inline constexpr std::size_t kBagBytes = 1024, kBagAlignment = 16;
std::vector<uint8_t> generated_bag();

// The input that `in` points to.
std::vector<uint32_t> generated_input(Breadth breadth);

}  // namespace coalesce::machine::test
