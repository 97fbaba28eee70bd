// CUDA's vector types for a host compiler that has none.
#pragma once

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
#define RC_VECTOR(name, T)                           \
  struct alignas(2 * sizeof(T)) name##2 { T x, y; }; \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 { T x, y, z, w; };
RC_VECTOR(char, signed char)
RC_VECTOR(uchar, unsigned char)
RC_VECTOR(short, short)
RC_VECTOR(ushort, unsigned short)
RC_VECTOR(int, int)
RC_VECTOR(uint, unsigned)
RC_VECTOR(float, float)
RC_VECTOR(double, double)
RC_VECTOR(longlong, long long)
RC_VECTOR(ulonglong, unsigned long long)
#undef RC_VECTOR

#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
