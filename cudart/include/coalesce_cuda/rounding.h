// Arithmetic with the rounding in its name (never contracted into something else), and the hardware's fast
// approximations.
#pragma once

#include "qualifiers.h"

#define COALESCE_ONE(name, builtin, T) \
  static __device__ COALESCE_INLINE T name(T a) { return __nvvm_##builtin(a); }
#define COALESCE_TWO(name, builtin, T) \
  static __device__ COALESCE_INLINE T name(T a, T b) { return __nvvm_##builtin(a, b); }
#define COALESCE_THREE(name, builtin, T) \
  static __device__ COALESCE_INLINE T name(T a, T b, T c) { return __nvvm_##builtin(a, b, c); }
// In assembly: the optimiser turns the builtins into plain operations, and fuses those.
#define COALESCE_ASM(name, instruction, letter, T)                          \
  static __device__ COALESCE_INLINE T name(T a, T b) {                      \
    T r;                                                                    \
    asm(instruction " %0, %1, %2;" : "=" letter(r) : letter(a), letter(b)); \
    return r;                                                               \
  }
#define COALESCE_SUB(name, add, T) \
  static __device__ COALESCE_INLINE T name(T a, T b) { return add(a, -b); }
// the suffix in CUDA's names, the suffix in PTX
#define COALESCE_ROUNDED(cuda, ptx)                            \
  COALESCE_ASM(__fadd_##cuda, "add." #ptx ".f32", "f", float)  \
  COALESCE_SUB(__fsub_##cuda, __fadd_##cuda, float)            \
  COALESCE_ASM(__fmul_##cuda, "mul." #ptx ".f32", "f", float)  \
  COALESCE_TWO(__fdiv_##cuda, div_##ptx##_f, float)            \
  COALESCE_ONE(__frcp_##cuda, rcp_##ptx##_f, float)            \
  COALESCE_ONE(__fsqrt_##cuda, sqrt_##ptx##_f, float)          \
  COALESCE_THREE(__fmaf_##cuda, fma_##ptx##_f, float)          \
  COALESCE_ASM(__dadd_##cuda, "add." #ptx ".f64", "d", double) \
  COALESCE_SUB(__dsub_##cuda, __dadd_##cuda, double)           \
  COALESCE_ASM(__dmul_##cuda, "mul." #ptx ".f64", "d", double) \
  COALESCE_TWO(__ddiv_##cuda, div_##ptx##_d, double)           \
  COALESCE_ONE(__drcp_##cuda, rcp_##ptx##_d, double)           \
  COALESCE_ONE(__dsqrt_##cuda, sqrt_##ptx##_d, double)         \
  COALESCE_THREE(__fma_##cuda, fma_##ptx##_d, double)
COALESCE_ROUNDED(rn, rn)
COALESCE_ROUNDED(rz, rz)
COALESCE_ROUNDED(ru, rp)
COALESCE_ROUNDED(rd, rm)
#undef COALESCE_ROUNDED
#undef COALESCE_SUB
#undef COALESCE_ASM
#undef COALESCE_THREE

COALESCE_ONE(__saturatef, saturate_f, float)
COALESCE_ONE(__frsqrt_rn, rsqrt_approx_f, float)
COALESCE_ONE(__sinf, sin_approx_f, float)
COALESCE_ONE(__cosf, cos_approx_f, float)
COALESCE_ONE(__log2f, lg2_approx_f, float)
COALESCE_ONE(__exp2f, ex2_approx_f, float)
COALESCE_TWO(__fdividef, div_approx_f, float)
COALESCE_TWO(fdividef, div_approx_f, float)
#undef COALESCE_TWO
#undef COALESCE_ONE
// The base is 2, as in hardware.
static __device__ COALESCE_INLINE float __expf(float x) { return __exp2f(x * 1.4426950408889634f); }
static __device__ COALESCE_INLINE float __exp10f(float x) { return __exp2f(x * 3.3219280948873623f); }
static __device__ COALESCE_INLINE float __logf(float x) { return __log2f(x) * 0.6931471805599453f; }
static __device__ COALESCE_INLINE float __log10f(float x) { return __log2f(x) * 0.30102999566398120f; }
static __device__ COALESCE_INLINE float __powf(float x, float y) { return __exp2f(y * __log2f(x)); }
static __device__ COALESCE_INLINE float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
static __device__ COALESCE_INLINE void __sincosf(float x, float* s, float* c) {
  *s = __sinf(x);
  *c = __cosf(x);
}
static __device__ COALESCE_INLINE float __tanhf(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
