// Shared by loads, stores and atomics: address spaces of generic addresses, bounds, costs of atomics.
#pragma once

#include "machine/execute/warp.h"

namespace coalesce::machine {

struct SpaceMasks {  // lanes whose generic address + offset lies in each space
  uint32_t global = 0, shared = 0, local = 0, param = 0;
};
SpaceMasks space_masks(const uint64_t* address, uint64_t offset, uint32_t mask);

// Checks, counts and marks the atomic's accesses; fills host[lane] for the lanes of `mask`.
void global_atomic_where(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t site,
                         uint64_t* host);
void shared_atomic_where(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site,
                         uint64_t* host);
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
