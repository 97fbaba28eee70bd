#pragma once

#include "cudart/api/operation.h"
#include "cudart/driver/abi.h"

namespace coalesce::cudart {

// The copy that a CUDA_MEMCPY3D asks for.
cudaError_t copy_of(const CUDA_MEMCPY3D* p, CopyOperation& out);

}  // namespace coalesce::cudart
