// The intrinsics that generated programs use, written from the CUDA manual's definitions for the emulated host.
#pragma once

#include <math.h>

#include "types.h"

#ifndef __CUDA_ARCH__
namespace rc {

inline int popcll(u64 x) {
  int n = 0;
  for (; x; x >>= 1) n += int(x & 1);
  return n;
}
inline int popc(u32 x) { return popcll(x); }
inline int clzll(i64 x) {
  int n = 0;
  while (n < 64 && !(u64(x) >> (63 - n) & 1)) ++n;
  return n;
}
inline int clz(i32 x) { return clzll(i64(u64(u32(x)))) - 32; }
inline int ffsll(i64 x) {
  for (int i = 0; i < 64; ++i)
    if (u64(x) >> i & 1) return i + 1;
  return 0;
}
inline int ffs_(i32 x) { return ffsll(i64(u64(u32(x)))); }
inline u64 brevll(u64 x) {
  u64 r = 0;
  for (int i = 0; i < 64; ++i) r |= (x >> i & 1) << (63 - i);
  return r;
}
inline u32 brev(u32 x) { return u32(brevll(x) >> 32); }
inline u32 byte_perm(u32 a, u32 b, u32 selector) {
  u32 r = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 which = selector >> (4 * i) & 7;
    r |= ((which < 4 ? a >> (8 * which) : b >> (8 * (which - 4))) & 0xff) << (8 * i);
  }
  return r;
}

// Shifts of hi:lo: the upper word of a shift to the left, the lower one of a shift to the right.
inline u32 funnel(u32 lo, u32 hi, u32 shift, bool left) {
  const u64 both = u64(hi) << 32 | lo;
  return left ? u32((both << shift) >> 32) : u32(both >> shift);
}
inline u32 funnelshift_l(u32 lo, u32 hi, u32 n) { return funnel(lo, hi, n % 32, true); }
inline u32 funnelshift_r(u32 lo, u32 hi, u32 n) { return funnel(lo, hi, n % 32, false); }
inline u32 funnelshift_lc(u32 lo, u32 hi, u32 n) { return funnel(lo, hi, n < 32 ? n : 32, true); }
inline u32 funnelshift_rc(u32 lo, u32 hi, u32 n) { return funnel(lo, hi, n < 32 ? n : 32, false); }

inline i32 mulhi_(i32 a, i32 b) { return i32(i64(a) * b >> 32); }
inline u32 umulhi_(u32 a, u32 b) { return u32(u64(a) * b >> 32); }
inline i64 mul64hi_(i64 a, i64 b) { return i64(i128(a) * b >> 64); }
inline u64 umul64hi_(u64 a, u64 b) { return u64(u128(a) * b >> 64); }
// Signed values of the lowest 24 bits.
inline i32 mul24_(i32 a, i32 b) { return i32(u32(i64(i32(u32(a) << 8) >> 8) * i64(i32(u32(b) << 8) >> 8))); }
inline u32 umul24_(u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }
inline u32 sad(i32 a, i32 b, u32 c) { return c + u32(a > b ? i64(a) - b : i64(b) - a); }
inline u32 usad(u32 a, u32 b, u32 c) { return c + (a > b ? a - b : b - a); }
inline i32 hadd(i32 a, i32 b) { return i32((i64(a) + b) >> 1); }
inline i32 rhadd(i32 a, i32 b) { return i32((i64(a) + b + 1) >> 1); }
inline u32 uhadd(u32 a, u32 b) { return u32((u64(a) + b) >> 1); }
inline u32 urhadd(u32 a, u32 b) { return u32((u64(a) + b + 1) >> 1); }

// Piece i, of `size` bits, of a word.
inline i64 piece(u32 x, int i, int size, bool is_signed) {
  const u32 p = x >> (i * size) & ((1u << size) - 1);
  return is_signed && p >> (size - 1) ? i64(p) - (i64(1) << size) : i64(p);
}
inline i32 dp4a(i32 a, i32 b, i32 c) {
  i64 sum = c;
  for (int i = 0; i < 4; ++i) sum += piece(u32(a), i, 8, true) * piece(u32(b), i, 8, true);
  return i32(u32(u64(sum)));
}
inline u32 dp4a(u32 a, u32 b, u32 c) {
  u64 sum = c;
  for (int i = 0; i < 4; ++i) sum += u64(piece(a, i, 8, false) * piece(b, i, 8, false));
  return u32(sum);
}
inline i32 dp2a(i32 a, i32 b, i32 c, int first) {
  i64 sum = c;
  for (int i = 0; i < 2; ++i) sum += piece(u32(a), i, 16, true) * piece(u32(b), first + i, 8, true);
  return i32(u32(u64(sum)));
}
inline i32 dp2a_lo(i32 a, i32 b, i32 c) { return dp2a(a, b, c, 0); }
inline i32 dp2a_hi(i32 a, i32 b, i32 c) { return dp2a(a, b, c, 2); }

template <class F>
u32 by_pieces(u32 a, u32 b, int size, bool is_signed, const F& f) {
  u32 r = 0;
  for (int i = 0; i < 32 / size; ++i)
    r |= (u32(f(piece(a, i, size, is_signed), piece(b, i, size, is_signed))) & ((1u << size) - 1)) << (i * size);
  return r;
}
inline i64 within(i64 x, i64 least, i64 most) { return x < least ? least : x > most ? most : x; }
#define RC_PIECES(name, is_signed, expression)                                                              \
  inline u32 name##2(u32 x, u32 y) {                                                                        \
    constexpr i64 most = is_signed ? 32767 : 65535, least = is_signed ? -32768 : 0;                         \
    return by_pieces(x, y, 16, is_signed, [](i64 a, i64 b) { return within(a, least, most), expression; }); \
  }                                                                                                         \
  inline u32 name##4(u32 x, u32 y) {                                                                        \
    constexpr i64 most = is_signed ? 127 : 255, least = is_signed ? -128 : 0;                               \
    return by_pieces(x, y, 8, is_signed, [](i64 a, i64 b) { return within(a, least, most), expression; });  \
  }
RC_PIECES(vadd, false, a + b)
RC_PIECES(vsub, false, a - b)
RC_PIECES(vaddss, true, within(a + b, least, most))
RC_PIECES(vaddus, false, within(a + b, least, most))
RC_PIECES(vsubss, true, within(a - b, least, most))
RC_PIECES(vsubus, false, within(a - b, least, most))
RC_PIECES(vmaxs, true, a > b ? a : b)
RC_PIECES(vmaxu, false, a > b ? a : b)
RC_PIECES(vmins, true, a < b ? a : b)
RC_PIECES(vminu, false, a < b ? a : b)
RC_PIECES(vabsdiffu, false, a > b ? a - b : b - a)
RC_PIECES(vavgu, false, (a + b + 1) >> 1)
RC_PIECES(vhaddu, false, (a + b) >> 1)
RC_PIECES(vcmpeq, false, a == b ? -1 : 0)
RC_PIECES(vcmpgts, true, a > b ? -1 : 0)
RC_PIECES(vcmpleu, false, a <= b ? -1 : 0)
RC_PIECES(vsetne, false, a != b)
RC_PIECES(vsetlts, true, a < b)
RC_PIECES(vsetgeu, false, a >= b)
inline u32 vneg2(u32 a) { return vsub2(0, a); }
inline u32 vneg4(u32 a) { return vsub4(0, a); }
inline u32 vsadu4(u32 a, u32 b) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) sum += u32(llabs(piece(a, i, 8, false) - piece(b, i, 8, false)));
  return sum;
}

inline f32 fadd(f32 a, f32 b) { return a + b; }
inline f32 fmul(f32 a, f32 b) { return a * b; }
inline f32 fdiv(f32 a, f32 b) { return a / b; }

// A rounded number as an integer, and the limits for what lies outside. NaN is 0, or of a double the highest bit alone
// (PTX manual, cvt).
template <class T, class F>
T limited(F x) {
  const F end = ldexp(F(1), int(sizeof(T)) * 8 - (T(-1) < T(0)));  // the first value too large
  if (x != x) return sizeof(F) == 8 ? T(T(1) << (sizeof(T) * 8 - 1)) : T(0);
  if (x >= end) return T(-1) < T(0) ? T(~(T(1) << (sizeof(T) * 8 - 1))) : T(-1);
  if (T(-1) < T(0)) return x < -end ? T(T(1) << (sizeof(T) * 8 - 1)) : T(x);
  return x < F(0) ? T(0) : T(x);
}

}  // namespace rc

#define __popc rc::popc
#define __popcll rc::popcll
#define __clz rc::clz
#define __clzll rc::clzll
#define __ffs rc::ffs_
#define __ffsll rc::ffsll
#define __brev rc::brev
#define __brevll rc::brevll
#define __byte_perm rc::byte_perm
#define __funnelshift_l rc::funnelshift_l
#define __funnelshift_r rc::funnelshift_r
#define __funnelshift_lc rc::funnelshift_lc
#define __funnelshift_rc rc::funnelshift_rc
#define __mulhi rc::mulhi_
#define __umulhi rc::umulhi_
#define __mul64hi rc::mul64hi_
#define __umul64hi rc::umul64hi_
#define __mul24 rc::mul24_
#define __umul24 rc::umul24_
#define __sad rc::sad
#define __usad rc::usad
#define __hadd rc::hadd
#define __rhadd rc::rhadd
#define __uhadd rc::uhadd
#define __urhadd rc::urhadd
#define __dp4a rc::dp4a
#define __dp2a_lo rc::dp2a_lo
#define __dp2a_hi rc::dp2a_hi
#define __vadd2 rc::vadd2
#define __vadd4 rc::vadd4
#define __vsub2 rc::vsub2
#define __vsub4 rc::vsub4
#define __vaddss2 rc::vaddss2
#define __vaddus4 rc::vaddus4
#define __vsubss4 rc::vsubss4
#define __vsubus2 rc::vsubus2
#define __vmaxs2 rc::vmaxs2
#define __vmaxs4 rc::vmaxs4
#define __vmaxu2 rc::vmaxu2
#define __vmaxu4 rc::vmaxu4
#define __vmins2 rc::vmins2
#define __vmins4 rc::vmins4
#define __vminu2 rc::vminu2
#define __vminu4 rc::vminu4
#define __vabsdiffu2 rc::vabsdiffu2
#define __vabsdiffu4 rc::vabsdiffu4
#define __vavgu2 rc::vavgu2
#define __vavgu4 rc::vavgu4
#define __vhaddu2 rc::vhaddu2
#define __vhaddu4 rc::vhaddu4
#define __vcmpeq2 rc::vcmpeq2
#define __vcmpeq4 rc::vcmpeq4
#define __vcmpgts2 rc::vcmpgts2
#define __vcmpgts4 rc::vcmpgts4
#define __vcmpleu4 rc::vcmpleu4
#define __vsetne2 rc::vsetne2
#define __vsetlts4 rc::vsetlts4
#define __vsetgeu2 rc::vsetgeu2
#define __vneg2 rc::vneg2
#define __vneg4 rc::vneg4
#define __vsadu4 rc::vsadu4
#define __float2int_rn(...) (rc::limited<i32>(rintf(__VA_ARGS__)))
#define __float2int_rz(...) (rc::limited<i32>(truncf(__VA_ARGS__)))
#define __float2int_ru(...) (rc::limited<i32>(ceilf(__VA_ARGS__)))
#define __float2int_rd(...) (rc::limited<i32>(floorf(__VA_ARGS__)))
#define __float2uint_rz(...) (rc::limited<u32>(truncf(__VA_ARGS__)))
#define __double2int_rn(...) (rc::limited<i32>(rint(__VA_ARGS__)))
#define __double2uint_rd(...) (rc::limited<u32>(floor(__VA_ARGS__)))
#define __float_as_uint rc::bits
#define __uint_as_float rc::cast_bits<f32>
#define __longlong_as_double rc::cast_bits<f64>
#define __fmaf_rn fmaf
#define __fma_rn fma
#define __fadd_rn rc::fadd
#define __fmul_rn rc::fmul
#define __fdiv_rn rc::fdiv
#define __fsqrt_rn sqrtf
#define __dsqrt_rn sqrt
#endif
