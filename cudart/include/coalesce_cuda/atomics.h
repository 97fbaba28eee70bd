// Read-modify-write operations, for the device, the block (_block) and the whole system (_system).
#pragma once

#include "qualifiers.h"

// name, builtin's scope infix, PTX scope
#define COALESCE_SCOPES(M) \
  M(, , "gpu")             \
  M(_block, cta_, "cta")   \
  M(_system, sys_, "sys")

#define COALESCE_ATOMIC(name, scope, infix, op, suffix, T, as)                          \
  static __device__ COALESCE_INLINE T atomic##name##scope(T* address, T value) {        \
    return (T)__nvvm_atom_##infix##op##_gen_##suffix((as volatile*)address, (as)value); \
  }
#define COALESCE_ATOMIC_BITS(name, scope, infix, op)                         \
  COALESCE_ATOMIC(name, scope, infix, op, i, int, int)                       \
  COALESCE_ATOMIC(name, scope, infix, op, i, unsigned int, int)              \
  COALESCE_ATOMIC(name, scope, infix, op, ll, long long, long long)          \
  COALESCE_ATOMIC(name, scope, infix, op, ll, unsigned long long, long long) \
  COALESCE_ATOMIC(name, scope, infix, op, ll, unsigned long, long long)
#define COALESCE_ATOMIC_ORDER(name, scope, infix, op)                     \
  COALESCE_ATOMIC(name, scope, infix, op, i, int, int)                    \
  COALESCE_ATOMIC(name, scope, infix, op, ui, unsigned int, unsigned int) \
  COALESCE_ATOMIC(name, scope, infix, op, ll, long long, long long)       \
  COALESCE_ATOMIC(name, scope, infix, op, ull, unsigned long long, unsigned long long)
#define COALESCE_ATOMIC_CAS(scope, infix, suffix, T, as)                                               \
  static __device__ COALESCE_INLINE T atomicCAS##scope(T* address, T expected, T desired) {            \
    return (T)__nvvm_atom_##infix##cas_gen_##suffix((as volatile*)address, (as)expected, (as)desired); \
  }

#define COALESCE_ATOMICS(scope, infix, ptx_scope)                                                                     \
  COALESCE_ATOMIC_BITS(Add, scope, infix, add)                                                                        \
  COALESCE_ATOMIC(Add, scope, infix, add, f, float, float)                                                            \
  COALESCE_ATOMIC(Add, scope, infix, add, d, double, double)                                                          \
  COALESCE_ATOMIC_BITS(Exch, scope, infix, xchg)                                                                      \
  static __device__ COALESCE_INLINE float atomicExch##scope(float* address, float value) {                            \
    return __builtin_bit_cast(                                                                                        \
        float, __nvvm_atom_##infix##xchg_gen_i((int volatile*)address, __builtin_bit_cast(int, value)));              \
  }                                                                                                                   \
  COALESCE_ATOMIC_ORDER(Min, scope, infix, min)                                                                       \
  COALESCE_ATOMIC_ORDER(Max, scope, infix, max)                                                                       \
  COALESCE_ATOMIC_BITS(And, scope, infix, and)                                                                        \
  COALESCE_ATOMIC_BITS(Or, scope, infix, or)                                                                          \
  COALESCE_ATOMIC_BITS(Xor, scope, infix, xor)                                                                        \
  COALESCE_ATOMIC(Inc, scope, infix, inc, ui, unsigned int, unsigned int)                                             \
  COALESCE_ATOMIC(Dec, scope, infix, dec, ui, unsigned int, unsigned int)                                             \
  COALESCE_ATOMIC_CAS(scope, infix, i, int, int)                                                                      \
  COALESCE_ATOMIC_CAS(scope, infix, i, unsigned int, int)                                                             \
  COALESCE_ATOMIC_CAS(scope, infix, ll, long long, long long)                                                         \
  COALESCE_ATOMIC_CAS(scope, infix, ll, unsigned long long, long long)                                                \
  COALESCE_ATOMIC_CAS(scope, infix, ll, unsigned long, long long)                                                     \
  static __device__ COALESCE_INLINE unsigned short atomicCAS##scope(unsigned short* address, unsigned short expected, \
                                                                    unsigned short desired) {                         \
    unsigned short old;                                                                                               \
    asm volatile("atom." ptx_scope ".cas.b16 %0, [%1], %2, %3;"                                                       \
                 : "=h"(old)                                                                                          \
                 : "l"(address), "h"(expected), "h"(desired)                                                          \
                 : "memory");                                                                                         \
    return old;                                                                                                       \
  }                                                                                                                   \
  static __device__ COALESCE_INLINE int atomicSub##scope(int* address, int value) {                                   \
    return atomicAdd##scope(address, (int)(0u - (unsigned int)value));                                                \
  }                                                                                                                   \
  static __device__ COALESCE_INLINE unsigned int atomicSub##scope(unsigned int* address, unsigned int value) {        \
    return atomicAdd##scope(address, 0u - value);                                                                     \
  }
COALESCE_SCOPES(COALESCE_ATOMICS)
#undef COALESCE_ATOMICS
#undef COALESCE_ATOMIC_CAS
#undef COALESCE_ATOMIC_ORDER
#undef COALESCE_ATOMIC_BITS
#undef COALESCE_ATOMIC
#undef COALESCE_SCOPES
