// Random small kernels for the differential test: structured control flow over a handful of variables, with everything
// the engine treats specially near at hand (uniform and affine values, loops, block-local temporaries, early exits).
//
// Every kernel ends, touches memory in bounds only, has no data race (but for reductions whose result nobody reads
// before a barrier), and never meets a barrier in divergent code. Parameters: out, in, acc (u64), n, m (u32).
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace coalesce::machine::test {

struct GeneratedKernel {
  std::string ptx;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
};

inline constexpr uint32_t kInWords = 4096, kAccWords = 64, kOutBytesPerThread = 64;

GeneratedKernel generate_kernel(uint64_t seed);

}  // namespace coalesce::machine::test
