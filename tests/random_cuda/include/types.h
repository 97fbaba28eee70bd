// Types of generated programs, on the device and on the host: short names, conversions and divisions that are defined
// for every value, and the bits of a value with one NaN for all.
#pragma once

#include <stdint.h>
#include <string.h>

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;
typedef float f32;
typedef double f64;

// Device functions are ordinary functions of the host pass, and a kernel is one beside the kernel that is launched.
#ifdef __CUDA_ARCH__
#define HD __device__
#define KERNEL(name, bounds, parameters) __global__ void bounds name parameters
#define GRID_CONSTANT __grid_constant__
#define CONSTANT __constant__ const
#define TABLE __device__ const
#define SHARED __shared__
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#else
#define HD
#ifdef __CUDACC__
#define KERNEL(name, bounds, parameters)    \
  __global__ void bounds name parameters {} \
  static void name##_on_host parameters
#else
#define KERNEL(name, bounds, parameters) static void name##_on_host parameters
#endif
#define GRID_CONSTANT
#define CONSTANT static const
#define TABLE static const
#define SHARED static
#define DYNAMIC_SHARED(name) unsigned char* const name = rc::dynamic_shared()
#endif

namespace rc {

// Quotients for every pair of values: by zero the dividend, and by -1 its negative, which may wrap.
template <class T>
HD T quotient(T a, T b) {
  if (b == 0) return a;
  if (T(-1) < T(0) && b == T(-1)) return T(T(0) - u128(a));
  return T(a / b);
}
template <class T>
HD T remainder(T a, T b) {
  if (b == 0 || (T(-1) < T(0) && b == T(-1))) return T(0);
  return T(a % b);
}

// A float's or double's value as an integer where it fits, and its exponent's sign where not.
template <class T, class F>
HD T whole(F x) {
  const F limit = sizeof(T) == 1 ? F(127) : sizeof(T) == 2 ? F(32767) : sizeof(T) == 4 ? F(2147483520.0) : F(9e18);
  if (x >= F(0) && x <= limit) return T(x);
  if (T(-1) < T(0) && x < F(0) && x >= -limit) return T(x);
  return x > F(0) ? T(1) : T(0);
}

// A function, because g++ 12 makes a negation of 0.0 - f64(u) in one expression: of u = 0 a negative zero.
template <class T>
HD T difference(T a, T b) {
  return a - b;
}
template <class To, class From>
HD To cast_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}

// The bits of a value. Which NaN an operation gives is not the same on all devices.
HD inline u32 bits(f32 x) { return x != x ? 0x7fc00000u : cast_bits<u32>(x); }
HD inline u64 bits(f64 x) { return x != x ? 0x7ff8000000000000ull : cast_bits<u64>(x); }
HD inline u64 bits(u128 x) { return u64(x) ^ (u64(x >> 64) * 0x9e3779b97f4a7c15ull); }
HD inline u64 bits(i128 x) { return bits(u128(x)); }
HD inline u64 bits(i64 x) { return u64(x); }
HD inline u64 bits(u64 x) { return x; }
HD inline u32 bits(i32 x) { return u32(x); }
HD inline u32 bits(u32 x) { return x; }
HD inline u32 bits(i16 x) { return u32(x); }
HD inline u32 bits(u16 x) { return x; }
HD inline u32 bits(i8 x) { return u32(x); }
HD inline u32 bits(u8 x) { return x; }
HD inline u32 bits(bool x) { return x; }

template <class T>
HD u64 mix(u64 sum, T x) {
  sum = (sum ^ u64(bits(x))) * 0x9e3779b97f4a7c15ull;
  return sum ^ (sum >> 29);
}

}  // namespace rc
