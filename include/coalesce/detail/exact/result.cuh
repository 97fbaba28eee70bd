// Writes an exact sum as an element.
#pragma once

#include <coalesce/detail/exact/input.cuh>
#include <coalesce/detail/exact/window_sum.cuh>

namespace coalesce::detail::exact {

// The value to read from the sum, and its destination.
template <class R>
struct result_to {
  R* out;
  reading how;
};

// The general way: rarely gone, and long. So it stands once, not in every kernel.
template <class R>
__device__ __noinline__ R result_of(head number, bool zero, unsigned flags, reading how, std::uint64_t count) {
  typename format<R>::bits bits;
  if (!read_special<R>(flags, zero, how, count, bits)) bits = read_head<R>(number, how, count);
  return from_bits<R>(bits);
}

// s, and e below half its last bit: the double next to s + e that says on which side of s it lies. Rounding it to a
// type with two bits less is rounding s + e.
__device__ __forceinline__ double towards_odd(double s, double e) {
  const long long bits = __double_as_longlong(s);
  const bool even = (bits & 1) == 0, outwards = (e > 0) == (s > 0);
  return e != 0 && even ? __longlong_as_double(bits + (outwards ? 1 : -1)) : s;
}

__device__ __forceinline__ void narrowed(float x, double& to) { to = widened(x); }
__device__ __forceinline__ void narrowed(float x, float& to) { to = x; }
__device__ __forceinline__ void narrowed(float x, __half& to) { to = __float2half_rn(x); }
__device__ __forceinline__ void narrowed(float x, __nv_bfloat16& to) {
  const unsigned bits = __float_as_uint(x);
  to = from_bits<__nv_bfloat16>(static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16));
}
__device__ __forceinline__ void narrowed(double x, double& to) { to = x; }
__device__ __forceinline__ void narrowed(double x, float& to) { asm("cvt.rn.f32.f64 %0, %1;" : "=f"(to) : "d"(x)); }
__device__ __forceinline__ unsigned odd_float(double x) {
  float cut;
  asm("cvt.rz.f32.f64 %0, %1;" : "=f"(cut) : "d"(x));
  return __float_as_uint(cut) | (widened(cut) != x ? 1u : 0u);
}
__device__ __forceinline__ void narrowed(double x, __half& to) { to = __float2half_rn(__uint_as_float(odd_float(x))); }
__device__ __forceinline__ void narrowed(double x, __nv_bfloat16& to) { narrowed(__uint_as_float(odd_float(x)), to); }

// (high:low) * 2^exponent, not 0, rounded once: by a few instructions where it is a sum of usual size, else in general.
template <class R>
__device__ __forceinline__ R window_result(unsigned long long low, unsigned long long high, int exponent, reading how,
                                           std::uint64_t count) {
  const bool usual = how == reading::sum && exponent >= -1022 && exponent < 900;
  const double scale = __hiloint2double((exponent + 1023) << 20, 0);
  R result;
  // Less than 2^53: a double.
  const long long all = static_cast<long long>(low);
  if (usual && static_cast<long long>(high) == all >> 63 && all >> 53 == all >> 63) {
    narrowed(__dmul_rn(static_cast<double>(all), scale), result);
    return result;
  }
  // a * 2^48 + b with |a| <= 2^53: both parts are exact doubles.
  const long long a = static_cast<long long>(high << 16 | low >> 48);
  const bool fits = static_cast<long long>(high) >> 37 == static_cast<long long>(high) >> 63;
  if (usual && fits) {
    const double top = static_cast<double>(a) * 0x1p48, rest = static_cast<double>(low & 0xffffffffffffull);
    const double s = __dadd_rn(top, rest), part = __dsub_rn(s, top);
    const double e = __dadd_rn(__dsub_rn(top, __dsub_rn(s, part)), __dsub_rn(rest, part));
    narrowed(__dmul_rn(sizeof(R) == 8 ? s : towards_odd(s, e), scale), result);
    return result;
  }
  head number{};
  number.negative = high >> 63 != 0;
  number.high = number.negative ? ~high + (low == 0 ? 1 : 0) : high;
  number.low = number.negative ? ~low + 1 : low;
  number.exponent = exponent;
  return result_of<R>(aligned(number), false, something, how, count);
}

}  // namespace coalesce::detail::exact
