// Integer intrinsics; those of several values in one word are in simd.h.
#pragma once

#include "vectors.h"

#define COALESCE_FN static __device__ COALESCE_INLINE

COALESCE_FN int __popc(unsigned int x) { return __builtin_popcount(x); }
COALESCE_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
COALESCE_FN int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned int>(x)) : 32; }
COALESCE_FN int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
COALESCE_FN int __ffs(int x) { return __builtin_ffs(x); }
COALESCE_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
COALESCE_FN unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
COALESCE_FN unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
// Three bits of the selector choose each byte; the fourth, with which prmt repeats a byte's sign, is not used.
COALESCE_FN unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
  return static_cast<unsigned int>(
      __nvvm_prmt(static_cast<int>(a), static_cast<int>(b), static_cast<int>(selector & 0x7777u)));
}
COALESCE_FN unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  return static_cast<unsigned int>(__nvvm_fns(mask, base, offset));
}

COALESCE_FN int __mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
COALESCE_FN unsigned int __umulhi(unsigned int a, unsigned int b) { return __nvvm_mulhi_ui(a, b); }
COALESCE_FN long long __mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
COALESCE_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
COALESCE_FN int mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
COALESCE_FN unsigned int umulhi(unsigned int a, unsigned int b) { return __nvvm_mulhi_ui(a, b); }
COALESCE_FN long long mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
COALESCE_FN unsigned long long umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
COALESCE_FN int __mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
COALESCE_FN unsigned int __umul24(unsigned int a, unsigned int b) { return __nvvm_mul24_ui(a, b); }
COALESCE_FN int mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
COALESCE_FN unsigned int umul24(unsigned int a, unsigned int b) { return __nvvm_mul24_ui(a, b); }

COALESCE_FN unsigned int __sad(int a, int b, unsigned int c) {
  return c + (a > b ? static_cast<unsigned int>(a) - static_cast<unsigned int>(b)
                    : static_cast<unsigned int>(b) - static_cast<unsigned int>(a));
}
COALESCE_FN unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) { return c + (a > b ? a - b : b - a); }
// Averages that cannot overflow; the r forms round up.
COALESCE_FN int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
COALESCE_FN int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
COALESCE_FN unsigned int __uhadd(unsigned int a, unsigned int b) { return (a & b) + ((a ^ b) >> 1); }
COALESCE_FN unsigned int __urhadd(unsigned int a, unsigned int b) { return (a | b) - ((a ^ b) >> 1); }

// Shifts of the 64-bit value hi:lo; l and r take the shift modulo 32, lc and rc clamp it at 32.
#define COALESCE_FUNNEL(name, ptx)                                                      \
  COALESCE_FN unsigned int name(unsigned int lo, unsigned int hi, unsigned int shift) { \
    unsigned int r;                                                                     \
    asm("shf." ptx ".b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(shift));    \
    return r;                                                                           \
  }
COALESCE_FUNNEL(__funnelshift_l, "l.wrap")
COALESCE_FUNNEL(__funnelshift_r, "r.wrap")
COALESCE_FUNNEL(__funnelshift_lc, "l.clamp")
COALESCE_FUNNEL(__funnelshift_rc, "r.clamp")
#undef COALESCE_FUNNEL

// Dot products of four bytes, or of two 16-bit halves with two bytes, added to c.
#define COALESCE_DOT(name, ptx, T)                                  \
  COALESCE_FN T name(T a, T b, T c) {                               \
    T r;                                                            \
    asm(ptx " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
    return r;                                                       \
  }
COALESCE_DOT(__dp4a, "dp4a.s32.s32", int)
COALESCE_DOT(__dp4a, "dp4a.u32.u32", unsigned int)
COALESCE_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int)
COALESCE_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int)
COALESCE_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int)
COALESCE_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int)
#undef COALESCE_DOT
COALESCE_FN int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c);
}
COALESCE_FN unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  return __dp4a(__builtin_bit_cast(unsigned int, a), __builtin_bit_cast(unsigned int, b), c);
}

#undef COALESCE_FN
