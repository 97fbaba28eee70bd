// Complex numbers as two floats or two doubles.
#pragma once
#include "coalesce_cuda/plain_names_away.h"
#include "cuda_runtime.h"
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
#define COALESCE_COMPLEX(C, R, suffix, of, real, imag, hypotenuse)                                  \
  static __host__ __device__ inline R real(C z) { return z.x; }                                     \
  static __host__ __device__ inline R imag(C z) { return z.y; }                                     \
  static __host__ __device__ inline C of(R x, R y) { return C{x, y}; }                              \
  static __host__ __device__ inline C cuConj##suffix(C z) { return C{z.x, -z.y}; }                  \
  static __host__ __device__ inline C cuCadd##suffix(C a, C b) { return C{a.x + b.x, a.y + b.y}; }  \
  static __host__ __device__ inline C cuCsub##suffix(C a, C b) { return C{a.x - b.x, a.y - b.y}; }  \
  static __host__ __device__ inline C cuCmul##suffix(C a, C b) {                                    \
    return C{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                         \
  }                                                                                                 \
  static __host__ __device__ inline C cuCdiv##suffix(C a, C b) {                                    \
    /* scaled by the larger part, so that the squares cannot overflow */                            \
    const R bx = b.x < 0 ? -b.x : b.x, by = b.y < 0 ? -b.y : b.y, s = R(1) / (bx + by);             \
    const R ax = a.x * s, ay = a.y * s, cx = b.x * s, cy = b.y * s, d = R(1) / (cx * cx + cy * cy); \
    return C{(ax * cx + ay * cy) * d, (ay * cx - ax * cy) * d};                                     \
  }                                                                                                 \
  static __host__ __device__ inline R cuCabs##suffix(C z) { return hypotenuse(z.x, z.y); }          \
  static __host__ __device__ inline C cuCfma##suffix(C a, C b, C c) { return cuCadd##suffix(cuCmul##suffix(a, b), c); }
COALESCE_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, cuCrealf, cuCimagf, hypotf)
COALESCE_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, cuCreal, cuCimag, hypot)
#undef COALESCE_COMPLEX
static __host__ __device__ inline cuComplex make_cuComplex(float x, float y) { return cuComplex{x, y}; }
#include "coalesce_cuda/plain_names_back.h"
