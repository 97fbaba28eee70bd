// Element types: the type in which they are added, and their order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>
#include <utility>

struct __half;  // include <cuda_fp16.h> or <cuda_bf16.h> before the call that uses them
struct __nv_bfloat16;

namespace std {
template <class T>
class complex;
}

namespace coalesce {

// Two numbers of type T that are a complex one. Specialise it for a complex type of your own: its `type` is that of the
// parts, which must be all that it consists of, the real part first.
template <class T>
struct complex_parts {
  using type = void;
};
template <>
struct complex_parts<float2> {  // cuComplex
  using type = float;
};
template <>
struct complex_parts<double2> {  // cuDoubleComplex
  using type = double;
};
template <class T>
struct complex_parts<std::complex<T>> {
  using type = T;
};

namespace detail {

template <class T>
inline constexpr bool is_complex = !std::is_void_v<typename complex_parts<T>::type>;
template <class T>
inline constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
inline constexpr bool is_floating = is_half<T> || std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_number = is_half<T> || std::is_arithmetic_v<T>;

template <class T>
constexpr void require_number() {
  static_assert(
      is_number<T> || is_complex<T>,
      "coalesce: this function takes numbers: int8 to int64, uint8 to uint64, half, bfloat16, float, double or "
      "complex; for a type of your own call coalesce::reduce with an operation");
}
template <class T>
constexpr void require_ordered() {
  static_assert(is_number<T>,
                "coalesce: this function compares numbers: int8 to int64, uint8 to uint64, half, bfloat16, float or "
                "double; for a type of your own call coalesce::reduce with an operation");
}

template <class T>
struct tag {
  using type = T;
};

// The type in which a number is computed with, one at a time: half and bfloat16 as float.
template <class T>
using value_type = typename std::conditional_t<is_half<T>, tag<float>, tag<T>>::type;

// The type of a sum of few (128) numbers, exact for integers.
template <class T>
constexpr auto tile_type_of() {
  if constexpr (is_half<T> || std::is_same_v<T, float>) {
    return tag<float>{};
  } else if constexpr (std::is_floating_point_v<T>) {
    return tag<double>{};
  } else if constexpr (std::is_unsigned_v<T>) {
    return std::conditional_t<(sizeof(T) < 4), tag<std::uint32_t>, tag<std::uint64_t>>{};
  } else {
    return std::conditional_t<(sizeof(T) < 4), tag<std::int32_t>, tag<std::int64_t>>{};
  }
}
template <class T>
using tile_type = typename decltype(tile_type_of<T>())::type;

// The type of a sum of any number of them.
template <class T>
using total_type = std::conditional_t<
    is_floating<T>, double,
    std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>, std::uint64_t, std::int64_t>>;

// The type in which means, variances and norms are computed and written.
template <class T>
struct real_result {
  using type = std::conditional_t<is_half<T> || std::is_same_v<T, float>, float, double>;
};
template <>
struct real_result<float2> {
  using type = float;
};
template <class T>
struct real_result<std::complex<T>> {
  using type = T;
};

template <class T>
__device__ __forceinline__ bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x != x;
  } else {
    return false;
  }
}

// The ends of the range of T, infinite where there are infinities. In bits: <limits> is not for device code.
template <class T>
__host__ __device__ constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) {
    return -static_cast<T>(__builtin_huge_val());
  } else if constexpr (std::is_unsigned_v<T>) {
    return 0;
  } else {
    return static_cast<T>(std::uint64_t{1} << (8 * sizeof(T) - 1));
  }
}
template <class T>
__host__ __device__ constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(__builtin_huge_val());
  } else {
    return static_cast<T>(~lowest<T>());
  }
}
template <class T>
__host__ __device__ constexpr T not_a_number() {
  return static_cast<T>(__builtin_nan(""));
}

}  // namespace detail
}  // namespace coalesce
