// make_float4(x, y, z, w) and its family.
#pragma once

#include "vectors.h"

#define COALESCE_MAKE(name, type)                                                                        \
  static __host__ __device__ inline name##1 make_##name##1(type x) { return {x}; }                       \
  static __host__ __device__ inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  static __host__ __device__ inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  static __host__ __device__ inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

COALESCE_MAKE(char, signed char)
COALESCE_MAKE(uchar, unsigned char)
COALESCE_MAKE(short, short)
COALESCE_MAKE(ushort, unsigned short)
COALESCE_MAKE(int, int)
COALESCE_MAKE(uint, unsigned int)
COALESCE_MAKE(long, long)
COALESCE_MAKE(ulong, unsigned long)
COALESCE_MAKE(longlong, long long)
COALESCE_MAKE(ulonglong, unsigned long long)
COALESCE_MAKE(float, float)
COALESCE_MAKE(double, double)
#undef COALESCE_MAKE
