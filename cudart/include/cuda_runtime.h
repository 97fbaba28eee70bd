// The header that every CUDA program sees. nvcc includes its own; with clang:
//   common: clang++-19 -x cuda --cuda-path=/nonexistent -nocudainc -nocudalib -Xclang -target-sdk-version=12.5 -O3
//           -isystem <this folder> -include cuda_runtime.h
//   device: --cuda-device-only --cuda-gpu-arch=sm_90 --cuda-feature=+ptx85 -S FILE.cu -o FILE.ptx
//   host:   --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang FILE.ptx -c FILE.cu -o FILE.o
// Without --cuda-feature clang assumes the oldest PTX and refuses every *_sync operation.
// Device variants of the mathematical functions must be declared before any <cmath>, hence -include and the order here.
#pragma once
#include "coalesce_cuda/plain_names_away.h"

// The guards of the toolkit's own headers: public helper headers look for them to know what has been included.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__

#ifdef __CUDA__
// clang-format off: the order matters
#include "coalesce_cuda/managed.h"
#include "coalesce_cuda/qualifiers.h"
#include "coalesce_cuda/make_vectors.h"
#include "coalesce_cuda/math_declarations.h"
#include "coalesce_cuda/device_system.h"  // malloc and free, which clang's own <new> calls
//
#include <assert.h>
#include <math.h>

#include <cmath>
#include <cstdlib>
#include <utility>  // as the toolkit's: programs write `for (int n : {1, 2})` without including anything
//
#include "coalesce_cuda/builtins.h"
#include "coalesce_cuda/sync.h"
#include "coalesce_cuda/warp.h"
#include "coalesce_cuda/atomics.h"
#include "coalesce_cuda/loads.h"
#include "coalesce_cuda/integers.h"
#include "coalesce_cuda/simd.h"
#include "coalesce_cuda/conversions.h"
#include "coalesce_cuda/rounding.h"
#include "coalesce_cuda/math.h"
//
#include <new>  // clang's wrapper of it gives kernels new and delete over malloc and free
// clang-format on
#endif
#include "coalesce_cuda/api_templates.h"
#include "coalesce_cuda/plain_names_back.h"
