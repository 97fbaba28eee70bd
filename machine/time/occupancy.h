// How many blocks a multiprocessor holds at a time. NVIDIA's rules: CUDA occupancy calculator.
#pragma once

#include <cstdint>

#include "machine/device.h"

namespace coalesce::machine {

struct BlockNeeds {
  uint32_t threads = 1;
  uint32_t registers = 1;     // of a thread
  uint32_t shared_bytes = 0;  // static and dynamic, without the driver's own
};

enum class Limiter : uint8_t { threads, blocks, registers, shared };

struct Occupancy {
  uint32_t blocks = 0;  // resident blocks of a multiprocessor; 0: it cannot hold one
  uint32_t warps = 0;   // of these
  Limiter limiter = Limiter::threads;
  double share = 0;  // warps over the most that it holds
};

Occupancy occupancy(const Device& device, const BlockNeeds& needs);

}  // namespace coalesce::machine
