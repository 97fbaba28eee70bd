// threadIdx, blockIdx, blockDim, gridDim, warpSize. Each is an object of which only the address could ever be taken:
// its members are properties that read the special register, so nothing is stored and nothing loaded.
#pragma once

#include "vectors.h"

#define COALESCE_INDEX(variable, reg)                                                                   \
  struct coalesce_##variable##_t {                                                                      \
    __declspec(property(get = get_x)) unsigned int x;                                                   \
    __declspec(property(get = get_y)) unsigned int y;                                                   \
    __declspec(property(get = get_z)) unsigned int z;                                                   \
    static __device__ COALESCE_INLINE unsigned int get_x() { return __nvvm_read_ptx_sreg_##reg##_x(); } \
    static __device__ COALESCE_INLINE unsigned int get_y() { return __nvvm_read_ptx_sreg_##reg##_y(); } \
    static __device__ COALESCE_INLINE unsigned int get_z() { return __nvvm_read_ptx_sreg_##reg##_z(); } \
    __device__ COALESCE_INLINE operator dim3() const { return dim3(get_x(), get_y(), get_z()); }        \
    __device__ COALESCE_INLINE operator uint3() const { return uint3{get_x(), get_y(), get_z()}; }      \
    coalesce_##variable##_t& operator=(const coalesce_##variable##_t&) = delete;                        \
  };                                                                                                    \
  extern const __device__ __attribute__((weak)) coalesce_##variable##_t variable

COALESCE_INDEX(threadIdx, tid);
COALESCE_INDEX(blockIdx, ctaid);
COALESCE_INDEX(blockDim, ntid);
COALESCE_INDEX(gridDim, nctaid);
#undef COALESCE_INDEX

__attribute__((unused)) static __device__ constexpr int warpSize = 32;
