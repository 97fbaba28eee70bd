// Textures for both APIs.
#pragma once

#include "cudart/api/texture_abi.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {

// cudaCreateTextureObject. `mixes_integers`: a linear filter may be asked for texels that are read as integers, as the
// driver's API allows.
cudaError_t create_texture(unsigned long long* handle, const cudaResourceDesc* resource, const cudaTextureDesc* texture,
                           const void* view, bool mixes_integers);

}  // namespace coalesce::cudart
