// The numbers to add: the elements of one array, or the products of two arrays' elements. An input gives its numbers
// singly or by vectors of 16 bytes; a number is a float or double that is exactly the element or product. Products of
// two doubles stay pairs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <coalesce/detail/exact/bins.cuh>

namespace coalesce::exact {

template <>
struct format<__half> : format<half_bits> {};
template <>
struct format<__nv_bfloat16> : format<bfloat16_bits> {};

}  // namespace coalesce::exact

namespace coalesce::detail::exact {

struct two_vectors {
  uint4 a, b;
};
struct two_doubles {
  double a, b;
};

__device__ __forceinline__ uint4 load_once(const void* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

__device__ __forceinline__ double joined(unsigned low, unsigned high) {
  return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
}
__device__ __forceinline__ float2 both(unsigned two, __half) {
  __half2 h;
  memcpy(&h, &two, sizeof(h));
  return __half22float2(h);
}
__device__ __forceinline__ float2 both(unsigned two, __nv_bfloat16) {
  return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
}
__device__ __forceinline__ float number_of(float x) { return x; }
__device__ __forceinline__ double number_of(double x) { return x; }
__device__ __forceinline__ float number_of(__half x) { return __half2float(x); }
__device__ __forceinline__ float number_of(__nv_bfloat16 x) {
  return __uint_as_float(static_cast<unsigned>(to_bits(x)) << 16);
}

// Properties of a number beside its value.
template <class Number>
__device__ __forceinline__ unsigned flags_of(Number x) {
  const auto b = to_bits(x);
  const auto magnitude = static_cast<typename format<Number>::bits>(b & ~sign_bit<Number>);
  if (magnitude > infinity<Number>) return nan_seen;
  if (magnitude == infinity<Number>) return b == magnitude ? plus_infinity : minus_infinity;
  return b == sign_bit<Number> ? negative_zero : something;
}

template <class T>
__device__ __forceinline__ uint4 part_of_vector(const T* first, int from, int to) {
  T part[16 / sizeof(T)];
#pragma unroll
  for (int k = 0; k < static_cast<int>(16 / sizeof(T)); ++k) part[k] = k >= from && k < to ? first[k] : T(0.0f);
  uint4 v;
  memcpy(&v, part, sizeof(v));
  return v;
}

// Elements.
template <class T>
struct elements {
  using element = T;
  using vector = uint4;
  using number = decltype(number_of(T()));
  static constexpr range values = format<T>::sum;
  static constexpr int width = 16 / sizeof(T), inputs = 1;
  static constexpr bool products = false;
  const T* data;

  __device__ elements from(std::int64_t offset, std::int64_t) const { return {data + offset}; }
  bool other_aligned() const { return true; }
  __host__ __device__ int before() const {
    return static_cast<int>((16 - reinterpret_cast<std::uintptr_t>(data) % 16) % 16 / sizeof(T));
  }
  __device__ __forceinline__ vector load(std::int64_t i) const { return load_once(data + i); }
  __device__ __forceinline__ vector load_aligned(std::int64_t i) const { return load_once(data + i); }
  __device__ __forceinline__ bool all_aligned(std::int64_t) const { return true; }
  __device__ __forceinline__ vector half_of_vector() const {  // the first 8 bytes, and zeros
    vector v{};
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(data));
    return v;
  }
  __device__ __forceinline__ vector single(std::int64_t i) const {  // one element and zeros
    const T x = data[i];  // as what it is: copying from memory would go byte by byte
    vector v{};
    memcpy(&v, &x, sizeof(x));
    return v;
  }
  // The vector of elements i ...: those from `from` up to `to`, and zeros.
  __device__ __forceinline__ vector part(std::int64_t i, int from, int to) const {
    return part_of_vector(data + i, from, to);
  }
  __device__ __forceinline__ number at(std::int64_t i, std::int64_t) const { return number_of(data[i]); }
  __device__ __forceinline__ unsigned flags(std::int64_t i, std::int64_t) const { return flags_of(data[i]); }

  template <class Body>
  static __device__ __forceinline__ void numbers(const vector& v, Body body) {
    if constexpr (sizeof(T) == 8) {
      body(joined(v.x, v.y), joined(v.z, v.w));
    } else if constexpr (sizeof(T) == 4) {
      body(__uint_as_float(v.x), __uint_as_float(v.y));
      body(__uint_as_float(v.z), __uint_as_float(v.w));
    } else {
      const float2 p = both(v.x, T()), q = both(v.y, T()), r = both(v.z, T()), s = both(v.w, T());
      body(p.x, p.y);
      body(q.x, q.y);
      body(r.x, r.y);
      body(s.x, s.y);
    }
  }
};

// Products of elements at the same position. Halves' products are exact in float, those of bfloat16 and float in
// double.
template <class T>
struct products_of {
  using element = T;
  using vector = two_vectors;
  using number =
      std::conditional_t<sizeof(T) == 8, two_doubles, std::conditional_t<std::is_same_v<T, __half>, float, double>>;
  static constexpr range values = format<T>::dot;
  static constexpr int width = 16 / sizeof(T), inputs = 2;
  static constexpr bool products = true;
  const T* data;
  const T* other;

  __device__ products_of from(std::int64_t offset, std::int64_t other_offset) const {
    return {data + offset, other + other_offset};
  }
  bool other_aligned() const { return reinterpret_cast<std::uintptr_t>(other) % 16 == 0; }
  __host__ __device__ int before() const {
    return static_cast<int>((16 - reinterpret_cast<std::uintptr_t>(data) % 16) % 16 / sizeof(T));
  }
  __device__ __forceinline__ vector load_aligned(std::int64_t i) const {
    return {load_once(data + i), load_once(other + i)};
  }
  // True if both arrays' vectors are aligned where those of the first are, from element `before` on.
  __device__ __forceinline__ bool all_aligned(std::int64_t before) const {
    return reinterpret_cast<std::uintptr_t>(other + before) % 16 == 0;
  }
  // Vectors are aligned in the first array; the second's elements are then read one by one if its are not.
  __device__ __forceinline__ vector load(std::int64_t i) const {
    vector v;
    v.a = load_once(data + i);
    if (reinterpret_cast<std::uintptr_t>(other + i) % 16 == 0) {
      v.b = load_once(other + i);
    } else {
      T part[width];
#pragma unroll
      for (int k = 0; k < width; ++k) part[k] = other[i + k];
      memcpy(&v.b, part, sizeof(v.b));
    }
    return v;
  }
  __device__ __forceinline__ vector part(std::int64_t i, int from, int to) const {
    return {part_of_vector(data + i, from, to), part_of_vector(other + i, from, to)};
  }
  __device__ __forceinline__ vector single(std::int64_t i) const {
    const T x = data[i], y = other[i];
    vector v{};
    memcpy(&v.a, &x, sizeof(x));
    memcpy(&v.b, &y, sizeof(y));
    return v;
  }
  static __device__ __forceinline__ number product(T x, T y) {
    if constexpr (sizeof(T) == 8)
      return two_doubles{x, y};
    else if constexpr (std::is_same_v<T, __half>)
      return __fmul_rn(number_of(x), number_of(y));
    else
      return __dmul_rn(widened(number_of(x)), widened(number_of(y)));
  }
  __device__ __forceinline__ number at(std::int64_t i, std::int64_t j) const { return product(data[i], other[j]); }
  __device__ __forceinline__ unsigned flags(std::int64_t i, std::int64_t j) const {
    if constexpr (sizeof(T) == 8) {
      const double a = data[i], b = other[j], p = __dmul_rn(a, b);
      const unsigned seen = flags_of(p);
      // Finite factors: what p rounds to says nothing.
      const bool finite = fabs(a) <= 0x1.fffffffffffffp1023 && fabs(b) <= 0x1.fffffffffffffp1023;
      return !finite ? seen : a != 0 && b != 0 ? static_cast<unsigned>(something) : seen;
    } else {
      return flags_of(at(i, j));
    }
  }

  template <class Body>
  static __device__ __forceinline__ void numbers(const vector& v, Body body) {
    if constexpr (sizeof(T) == 8) {
      body(two_doubles{joined(v.a.x, v.a.y), joined(v.b.x, v.b.y)},
           two_doubles{joined(v.a.z, v.a.w), joined(v.b.z, v.b.w)});
    } else if constexpr (sizeof(T) == 4) {
      const auto times = [](unsigned a, unsigned b) { return product(__uint_as_float(a), __uint_as_float(b)); };
      body(times(v.a.x, v.b.x), times(v.a.y, v.b.y));
      body(times(v.a.z, v.b.z), times(v.a.w, v.b.w));
    } else {
      const auto two = [&](unsigned a, unsigned b) {
        const float2 p = both(a, T()), q = both(b, T());
        if constexpr (std::is_same_v<T, __half>)
          body(__fmul_rn(p.x, q.x), __fmul_rn(p.y, q.y));
        else
          body(__dmul_rn(widened(p.x), widened(q.x)), __dmul_rn(widened(p.y), widened(q.y)));
      };
      two(v.a.x, v.b.x);
      two(v.a.y, v.b.y);
      two(v.a.z, v.b.z);
      two(v.a.w, v.b.w);
    }
  }
};

}  // namespace coalesce::detail::exact
