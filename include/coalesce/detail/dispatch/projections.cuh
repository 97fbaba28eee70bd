// Projections: functions of an element before it is accumulated. They are host code too where a type is deduced,
// because nvcc's host pass has no body, and so no type, of a device function.
#pragma once

#include <coalesce/detail/number.cuh>

namespace coalesce::detail {

struct absolute {
  template <class T>
  __host__ __device__ auto operator()(T x) const {
    if constexpr (is_complex<T>) {
      typename complex_parts<T>::type parts[2];
      memcpy(parts, &x, sizeof(parts));
      return hypot(parts[0], parts[1]);
    } else if constexpr (is_floating<T>) {
      const value_type<T> v = static_cast<value_type<T>>(x);
      return v < 0 ? -v : v;
    } else if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {  // unsigned, where the absolute value of the smallest number has room
      using positive = std::make_unsigned_t<T>;
      return static_cast<positive>(x < 0 ? positive(0) - static_cast<positive>(x) : static_cast<positive>(x));
    }
  }
};

// The type of exact products, where there is one: the square of a float fits in a double, that of a half in a float.
// bfloat16 has the range of float.
template <class T>
using product_type =
    typename std::conditional_t<std::is_same_v<T, __half>, tag<float>,
                                std::conditional_t<is_floating<T>, tag<double>, tag<total_type<T>>>>::type;

struct squared {
  template <class T>
  __host__ __device__ auto operator()(T x) const {
    if constexpr (is_complex<T>) {
      typename complex_parts<T>::type parts[2];
      memcpy(parts, &x, sizeof(parts));
      const double real = parts[0], imaginary = parts[1];
      return fma(real, real, imaginary * imaginary);
    } else {
      const product_type<T> v = static_cast<product_type<T>>(static_cast<value_type<T>>(x));
      return static_cast<product_type<T>>(v * v);
    }
  }
};

struct multiplied {
  template <class T, class U>
  __host__ __device__ auto operator()(T x, U y) const {
    static_assert(is_number<T> && is_number<U>, "coalesce: dot takes numbers; for other types call transform_reduce");
    using product = decltype(product_type<T>() * product_type<U>());
    return static_cast<product>(static_cast<value_type<T>>(x)) * static_cast<product>(static_cast<value_type<U>>(y));
  }
};

struct not_zero {
  template <class T>
  __device__ bool operator()(T x) const {
    return static_cast<value_type<T>>(x) != value_type<T>(0);
  }
};

template <class Predicate>
struct as_bool {
  Predicate predicate;
  template <class T>
  __device__ bool operator()(T x) const {
    return static_cast<bool>(predicate(x));
  }
};

}  // namespace coalesce::detail
