// The words that CUDA adds to C++, in terms of clang's attributes. Works for `clang++ -x cuda` and, where a host
// compiler reads cuda_runtime_api.h alone, as nothing at all.
#pragma once

#include <stddef.h>

#ifdef __CUDA__
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 5
#define __CUDACC_VER_BUILD__ 0
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#if __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#else
#define __grid_constant__  // a copy of the parameter then; the same values
#endif
// One variable behind one name on both sides: the device's variable lies where the host's counterpart of it does. The
// section tells the runtime which ones those are (managed.h).
#ifdef __CUDA_ARCH__
#define __managed__ __attribute__((device))
#else
#define __managed__ __attribute__((device)) __attribute__((section("coalesce_managed"), aligned(256)))
#endif
#else
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __launch_bounds__(...)
#define __grid_constant__
#endif

#define __forceinline__ __inline__ __attribute__((always_inline))
// For what stands for one instruction: always inlined, and without lines of its own, so that the profile shows the line
// that called it.
#define COALESCE_INLINE __inline__ __attribute__((always_inline, nodebug))
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDART_CB
#define CUDARTAPI_CDECL

#define CUDART_VERSION 12050
#define __CUDART_API_VERSION CUDART_VERSION
