// Short vectors. Alignment decides whether a warp's access becomes one wide request, so it is the ABI's: two and four
// elements are aligned to their whole size up to 16 bytes, one and three to the element's.
#pragma once
#pragma GCC system_header  // an assignment without a copy constructor is meant (below)

#include "qualifiers.h"

#define COALESCE_VECTORS(name, type, align2, align4, assign2, assign4) \
  struct name##1 { type x; };                                          \
  struct __align__(align2) name##2 {                                   \
    type x, y;                                                         \
    assign2(name##2)                                                   \
  };                                                                   \
  struct name##3 { type x, y, z; };                                    \
  struct __align__(align4) name##4 {                                   \
    type x, y, z, w;                                                   \
    assign4(name##4)                                                   \
  };

// clang copies an aggregate of 16 bytes as two halves when only memory is involved (`a[i] = b[i]`), which would be two
// requests where hardware makes one. Assigned element by element, its vectoriser makes the one wide access of it. The
// price: std::is_trivially_copyable says no to these types, and a union that holds one has no assignment of its own.
#define COALESCE_PLAIN(T)
#ifdef __CUDA__
#if __cplusplus >= 201402L
#define COALESCE_CONSTEXPR14 constexpr
#else
#define COALESCE_CONSTEXPR14  // constexpr would mean const in C++11
#endif
#define COALESCE_BY_ELEMENT2(T)                                                       \
  __host__ __device__ COALESCE_INLINE COALESCE_CONSTEXPR14 T& operator=(const T& v) { \
    const auto a = v.x, b = v.y;                                                      \
    x = a, y = b;                                                                     \
    return *this;                                                                     \
  }
#define COALESCE_BY_ELEMENT4(T)                                                       \
  __host__ __device__ COALESCE_INLINE COALESCE_CONSTEXPR14 T& operator=(const T& v) { \
    const auto a = v.x, b = v.y, c = v.z, d = v.w;                                    \
    x = a, y = b, z = c, w = d;                                                       \
    return *this;                                                                     \
  }
#else
#define COALESCE_BY_ELEMENT2 COALESCE_PLAIN
#define COALESCE_BY_ELEMENT4 COALESCE_PLAIN
#endif

COALESCE_VECTORS(char, signed char, 2, 4, COALESCE_PLAIN, COALESCE_PLAIN)
COALESCE_VECTORS(uchar, unsigned char, 2, 4, COALESCE_PLAIN, COALESCE_PLAIN)
COALESCE_VECTORS(short, short, 4, 8, COALESCE_PLAIN, COALESCE_PLAIN)
COALESCE_VECTORS(ushort, unsigned short, 4, 8, COALESCE_PLAIN, COALESCE_PLAIN)
COALESCE_VECTORS(int, int, 8, 16, COALESCE_PLAIN, COALESCE_BY_ELEMENT4)
COALESCE_VECTORS(uint, unsigned int, 8, 16, COALESCE_PLAIN, COALESCE_BY_ELEMENT4)
COALESCE_VECTORS(long, long, 16, 16, COALESCE_BY_ELEMENT2, COALESCE_BY_ELEMENT4)
COALESCE_VECTORS(ulong, unsigned long, 16, 16, COALESCE_BY_ELEMENT2, COALESCE_BY_ELEMENT4)
COALESCE_VECTORS(longlong, long long, 16, 16, COALESCE_BY_ELEMENT2, COALESCE_BY_ELEMENT4)
COALESCE_VECTORS(ulonglong, unsigned long long, 16, 16, COALESCE_BY_ELEMENT2, COALESCE_BY_ELEMENT4)
COALESCE_VECTORS(float, float, 8, 16, COALESCE_PLAIN, COALESCE_BY_ELEMENT4)
COALESCE_VECTORS(double, double, 16, 16, COALESCE_BY_ELEMENT2, COALESCE_BY_ELEMENT4)
#undef COALESCE_BY_ELEMENT2
#undef COALESCE_BY_ELEMENT4
#undef COALESCE_CONSTEXPR14
#undef COALESCE_PLAIN
#undef COALESCE_VECTORS

#ifdef __cplusplus
// A size of a grid or block: what is left out is 1.
struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
      : x(x_), y(y_), z(z_) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};
#endif
