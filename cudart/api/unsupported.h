#pragma once

#include <atomic>

#include "cudart/core/abi.h"

namespace coalesce::cudart {

// Says once (per `said`) that the call is not supported; returns, and remembers, cudaErrorNotSupported.
cudaError_t refuse(const char* name, std::atomic<bool>& said);

}  // namespace coalesce::cudart
