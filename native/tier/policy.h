// When a kernel is worth native code: a pure function of how far its launch has come.
#pragma once

#include <cstdint>

namespace coalesce::machine {
struct Launch;
}

namespace coalesce::native {

// The priority of a compilation. Background: in time that nothing else uses, so that no launch ends later for it.
// Foreground: a quarter of a core where all cores are busy with thread blocks.
enum class Priority : uint8_t { none, background, foreground };

// The knowledge of a kernel and of the launch that asks for its code. Work is counted in warp instructions.
struct Progress {
  uint64_t earlier = 0;           // executed by launches that have ended
  uint64_t executed = 0;          // by this one
  uint64_t done = 0, blocks = 0;  // thread blocks of this launch
  uint64_t warps_per_block = 1;
  uint64_t threads = 1;    // of the host, that run this launch
  uint64_t code_size = 1;  // instructions of the kernel
};
Progress progress_of(const machine::Launch& launch, uint64_t earlier);

// The launch's remaining work. Before the first block has ended: each warp executes every instruction once.
double remaining_work(const Progress& p);

// True if a probe of the cache pays.
bool is_worth_a_probe(const Progress& p);

// The priority of a kernel that the cache does not have. `wanted_before`: an earlier process asked for it and ended
// before it had it.
Priority priority_of(const Progress& p, bool wanted_before);

}  // namespace coalesce::native
