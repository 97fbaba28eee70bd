// How many transactions a warp's access costs: the rules of docs/counters.md as functions. Pure; exact; no state.
// Every function takes the 32 lanes' byte addresses and the mask of active lanes; inactive lanes' addresses are ignored.
// `width` is bytes per lane: 1, 2, 4, 8, 16 (32 for 256-bit forms).
#pragma once

#include <cstdint>

namespace coalesce::machine {

struct GlobalCost {
  uint32_t sectors = 0;  // distinct 32-byte sectors
  uint32_t lines = 0;    // distinct 128-byte lines
  uint32_t bytes = 0;    // distinct bytes the lanes asked for
};
GlobalCost global_cost(const uint64_t* address, uint32_t mask, uint32_t width);
// The same in closed form for lanes at base + lane*width (all lanes of `mask`), no table of addresses.
GlobalCost global_cost_contiguous(uint64_t base, uint32_t mask, uint32_t width);
// atom/red: per sector the largest number of lanes on one word, summed.
GlobalCost global_atomic_cost(const uint64_t* address, uint32_t mask, uint32_t width);

struct SharedCost {
  uint32_t wavefronts = 0;
  uint32_t ideal = 0;  // wavefronts had there been no conflict
};
SharedCost shared_load_cost(const uint32_t* address, uint32_t mask, uint32_t width);
SharedCost shared_store_cost(const uint32_t* address, uint32_t mask, uint32_t width);
SharedCost shared_atomic_cost(const uint32_t* address, uint32_t mask, uint32_t width);

// Local memory is interleaved by lane at 4 bytes: `offset` is each lane's byte offset in its own local memory.
uint32_t local_sectors(const uint32_t* offset, uint32_t mask, uint32_t width);

}  // namespace coalesce::machine
