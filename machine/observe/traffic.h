// The transactions of a warp's access: the rules of docs/counters.md as functions. Pure; exact; no state.
// Every function takes the 32 lanes' byte addresses and the mask of active lanes; inactive lanes' addresses are ignored
// (but must be readable: always 32 of them). Tables aligned to 64 bytes are read fastest; any alignment is right.
// `width` is bytes per lane: 1, 2, 4, 8, 16 (32 for 256-bit forms). Addresses that are not multiples of the width are
// counted exactly too, slowly: real accesses fault before they are counted.
//
// These run for every executed warp instruction. An engine uses the cheapest that its knowledge permits:
//   affine address, known base and stride   global_cost_contiguous, global_cost_uniform, shared_cost_affine: no table
//   table of addresses                      global_cost etc., which try the common shapes themselves
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace coalesce::machine {

struct GlobalCost {
  uint32_t sectors = 0;  // distinct 32-byte sectors
  uint32_t lines = 0;    // distinct 128-byte lines
  uint32_t bytes = 0;    // distinct bytes the lanes asked for
  bool operator==(const GlobalCost&) const = default;
};
GlobalCost global_cost(const uint64_t* address, uint32_t mask, uint32_t width);
// The same in closed form for lanes at base + lane*width (all lanes of `mask`), no table of addresses.
inline GlobalCost global_cost_contiguous(uint64_t base, uint32_t mask, uint32_t width);
GlobalCost global_cost_with_gaps(uint64_t base, uint32_t mask, uint32_t width);  // the same, where lanes are missing
// All active lanes at one aligned address.
constexpr GlobalCost global_cost_uniform(uint32_t mask, uint32_t width) {
  return mask ? GlobalCost{1, 1, width} : GlobalCost{};
}
// atom/red: the sectors of all passes that the lanes take (traffic.cpp). A word is `width` bytes, at least 4. A pass is
// of one line; of cas, which has two operands to carry, of half a line (pass_bytes 64).
GlobalCost global_atomic_cost(const uint64_t* address, uint32_t mask, uint32_t width, uint32_t pass_bytes);

// cp.async past L1 (.cg): of lanes with one destination the highest counts, and what goes from one line into one sector
// of shared memory is one sector, each such pair apart (tests/truth/copies.jsonl).
GlobalCost global_copy_cost(const uint64_t* from, const uint64_t* to, uint32_t mask, uint32_t width);

struct SharedCost {
  uint32_t wavefronts = 0;
  // Wavefronts had there been no conflict: as many as the lanes' bytes fill passes of 128 bytes, and never more than
  // there were (broadcasts and merged groups take fewer). So in all of tests/truth/banks.jsonl.
  uint32_t ideal = 0;
  bool operator==(const SharedCost&) const = default;
};
SharedCost shared_load_cost(const uint32_t* address, uint32_t mask, uint32_t width);
SharedCost shared_store_cost(const uint32_t* address, uint32_t mask, uint32_t width);
// 64-bit atomics are judged by half-warps like 64-bit stores (tests/truth/atomics.jsonl). Callers double that of cas.
SharedCost shared_atomic_cost(const uint32_t* address, uint32_t mask, uint32_t width);
// Wavefronts of each of sixteen atomics on words, all lanes on, by the words' numbers (addresses / 4).
constexpr uint32_t kAtomicsTogether = 16;
void shared_atomic_wavefronts(const uint32_t (*word)[32], uint32_t* wavefronts);
// cp.async by way of L1 (.ca): in each group of lanes that a store's lanes are judged in, as many as share a bank, of
// their sources or of their destinations, with one of them (tests/truth/copies.jsonl).
SharedCost shared_copy_cost(const uint64_t* from, const uint64_t* to, uint32_t mask, uint32_t width);
// Lane l at base + l*stride (bytes, modulo 2^32): closed form where lanes are contiguous, else by way of a table.
SharedCost shared_load_cost_affine(uint32_t base, uint32_t stride, uint32_t mask, uint32_t width);
SharedCost shared_store_cost_affine(uint32_t base, uint32_t stride, uint32_t mask, uint32_t width);

// Local memory is interleaved by lane at 4 bytes: `offset` is each lane's byte offset in its own local memory.
uint32_t local_sectors(const uint32_t* offset, uint32_t mask, uint32_t width);

inline GlobalCost global_cost_contiguous(uint64_t base, uint32_t mask, uint32_t width) {
  if (mask != ~0u) return global_cost_with_gaps(base, mask, width);
  const uint64_t last = base + uint64_t{32} * width - 1;
  return {static_cast<uint32_t>((last >> 5) - (base >> 5) + 1), static_cast<uint32_t>((last >> 7) - (base >> 7) + 1),
          32 * width};
}

// ---- What shape a table of addresses has -------------------------------------------------------------------------

// Active lanes at base + lane*width for one base. `mask` must not be 0. The base is address[first] - first*width.
[[gnu::always_inline]] inline bool contiguous(const uint64_t* address, uint32_t mask, uint32_t width) {
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const uint64_t base = address[first] - uint64_t{first} * width;
  uint64_t wrong = 0;
  if (mask == ~0u) {
    for (uint32_t i = 0; i < 32; ++i) wrong |= address[i] ^ (base + uint64_t{i} * width);
    return wrong == 0;
  }
  for (uint32_t i = 0; i < 32; ++i) {
    wrong |= (address[i] ^ (base + uint64_t{i} * width)) & (uint64_t{0} - (mask >> i & 1));
  }
  return wrong == 0;
}

// The same for 32-bit addresses, and with any step: active lanes at base + lane*step modulo 2^32.
[[gnu::always_inline]] inline bool affine(const uint32_t* address, uint32_t mask, uint32_t step) {
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const uint32_t base = address[first] - first * step;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 32; ++i) wrong |= (address[i] ^ (base + i * step)) & (0u - (mask >> i & 1));
  return wrong == 0;
}
[[gnu::always_inline]] inline bool contiguous(const uint32_t* address, uint32_t mask, uint32_t width) {
  return affine(address, mask, width);
}
[[gnu::always_inline]] inline bool uniform(const uint64_t* address, uint32_t mask) {
  return contiguous(address, mask, 0);
}
[[gnu::always_inline]] inline bool uniform(const uint32_t* address, uint32_t mask) { return affine(address, mask, 0); }

// ---- For tests and benchmarks ------------------------------------------------------------------------------------

// The ways this build can count with: "portable" always, "avx512" where it was compiled for it. The functions above are
// the last one's. All agree on every input.
struct TrafficImplementation {
  const char* name;
  GlobalCost (*global_cost)(const uint64_t*, uint32_t, uint32_t);
  GlobalCost (*global_atomic_cost)(const uint64_t*, uint32_t, uint32_t, uint32_t);
  SharedCost (*shared_load_cost)(const uint32_t*, uint32_t, uint32_t);
  SharedCost (*shared_store_cost)(const uint32_t*, uint32_t, uint32_t);
  SharedCost (*shared_atomic_cost)(const uint32_t*, uint32_t, uint32_t);
  uint32_t (*local_sectors)(const uint32_t*, uint32_t, uint32_t);
};
std::span<const TrafficImplementation> traffic_implementations();

}  // namespace coalesce::machine
