// Loads, stores and atomics by address space: their handlers, and the parts that several spaces share.
#pragma once

#include <string>

#include "machine/execute/warp.h"

namespace coalesce::machine {

struct SpaceMasks {  // lanes whose generic address + offset lies in each space
  uint32_t global = 0, shared = 0, local = 0, param = 0;
};
SpaceMasks space_masks(const uint64_t* address, uint64_t offset, uint32_t mask);

// The fault of one lane: what the access does, its size and its address, then `where` ("outside ..."), which a
// misaligned address does not need.
[[noreturn]] void fault_at(const Access& a, Warp& w, Fault fault, uint64_t address, uint32_t lane,
                           const std::string& where);

// ---- Handlers of loads and stores (memory_handler() chooses) -----------------------------------------------------

void global_access(const Step& s, Context& context);
void constant_access(const Step& s, Context& context);
void shared_load(const Step& s, Context& context);
void shared_store(const Step& s, Context& context);
void local_access(const Step& s, Context& context);
void param_access(const Step& s, Context& context);
void param_uniform(const Step& s, Context& context);  // one address for all lanes
void generic_load(const Step& s, Context& context);
void generic_store(const Step& s, Context& context);

// ---- One warp's lanes of `mask`, at 32 addresses to which the access's offset is still to be added ------------------

void global_lanes(const Access& a, Warp& w, const uint64_t* address, uint32_t mask);
void shared_lanes(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site, bool load);
void local_lanes(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t site);  // kNone: uncounted
void param_lanes(const Access& a, Warp& w, const uint64_t* address, uint32_t mask);

// The access's 32 addresses as 64-bit values: where they lie, or widened into `table`.
inline const uint64_t* address_table(const Access& a, Warp& w, uint64_t* table) {
  if (a.address_is_64) return w.at<uint64_t>(a.address);
  for (uint32_t l = 0; l < kLanes; ++l) table[l] = w.at<uint32_t>(a.address)[l];
  return table;
}

// Where the lanes' generic addresses lie in their window, without the instruction's own offset: a register may lie
// outside of the window that it and the offset together are in.
inline void into_window(const Access& a, const uint64_t* address, uint64_t* offsets) {
  const auto own = static_cast<uint64_t>(a.offset);
  for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = ((address[l] + own) & (kWindowSize - 1)) - own;
}

// ---- Atomics -----------------------------------------------------------------------------------------------------

// Checks, counts and marks the atomic's accesses; fills host[lane] for the lanes of `mask`.
void global_atomic_where(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t site,
                         uint64_t* host);
void shared_atomic_where(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site,
                         uint64_t* host);
void local_atomic_where(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint64_t* host);  // uncounted
[[noreturn]] void fault_no_space(const Access& a, Warp& w, uint64_t address, uint32_t lane);

Handler atomic_handler(const MemoryOp& op);
Handler request_handler();  // Kind::request

// `work` for each of the warps that run a step together, as far as they have lanes.
template <class Work>
void each_warp(Context& context, Work work) {
  Warp* w = &static_cast<Warp&>(context);
  for (uint32_t left = w->together; left; --left, ++w)
    if (w->active) work(*w);
}

}  // namespace coalesce::machine
