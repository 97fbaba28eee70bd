// Where elements come from: one array or two, and what is made of an element on its way (a projection). A kernel asks a
// source for single elements and for vectors of 16 bytes; it never sees the memory itself.
#pragma once

#include <cstring>

#include "accumulator.cuh"

namespace coalesce::detail {

// How many elements one load of 16 bytes brings; 1 for types that do not divide 16 bytes.
template <class T>
inline constexpr int elements_in_vector = 16 % sizeof(T) == 0 ? 16 / static_cast<int>(sizeof(T)) : 1;

// `Bytes` aligned bytes that this kernel reads once and nobody writes meanwhile: past L1, which would keep them in
// vain.
template <int Bytes>
struct loaded;
template <>
struct loaded<16> {
  uint4 bits;
  __device__ explicit loaded(const void* from) {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
        : "l"(from));
  }
};
template <>
struct loaded<8> {
  uint2 bits;
  __device__ explicit loaded(const void* from) : bits(*static_cast<const uint2*>(from)) {}
};
template <>
struct loaded<4> {
  unsigned bits;
  __device__ explicit loaded(const void* from) : bits(*static_cast<const unsigned*>(from)) {}
};
template <>
struct loaded<2> {
  unsigned short bits;
  __device__ explicit loaded(const void* from) : bits(*static_cast<const unsigned short*>(from)) {}
};

// N neighbouring elements whose address is a multiple of their size together.
template <int N, class T>
__device__ __forceinline__ void load_elements(const T* from, T (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = *from;
  } else {
    const loaded<N* static_cast<int>(sizeof(T))> vector(from);
    memcpy(&to, &vector.bits, sizeof(to));
  }
}

template <int N, class T>
__device__ __forceinline__ void store_elements(T* to, const T (&from)[N]) {
  if constexpr (sizeof(from) == 16) {
    uint4 bits;
    memcpy(&bits, &from, 16);
    *reinterpret_cast<uint4*>(to) = bits;
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = from[i];
  }
}

struct as_it_is {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

// How many elements of size `size` lie before the next address that is a multiple of `bytes`.
__device__ inline int elements_before(const void* data, int bytes, int size) {
  return static_cast<int>((bytes - reinterpret_cast<std::uintptr_t>(data) % bytes) % bytes) / size;
}

// One array.
template <class T, class Projection = as_it_is>
struct array {
  using element = decltype(std::declval<const Projection&>()(std::declval<T>()));
  static constexpr int width = elements_in_vector<T>;
  static constexpr int inputs = 1;
  static constexpr int bytes = sizeof(T);  // of memory, for one element

  const T* data;
  Projection project;

  __device__ element at(std::int64_t i) const { return project(data[i]); }
  // The element at offset i of the first input and j of the second.
  __device__ element at_both(std::int64_t i, std::int64_t) const { return at(i); }
  __host__ __device__ array from(std::int64_t offset) const { return {data + offset, project}; }
  __host__ __device__ array from_both(std::int64_t offset, std::int64_t) const { return from(offset); }
  // Elements before the first whole vector of N, a power of two up to width.
  template <int N = width>
  __device__ __forceinline__ int head() const {
    return N == 1 ? 0 : elements_before(data, N * sizeof(T), sizeof(T));
  }
  // Host: whether head<N>() will be 0.
  template <int N>
  bool begins_aligned() const {
    return N == 1 || reinterpret_cast<std::uintptr_t>(data) % (N * sizeof(T)) == 0;
  }
  // The N elements from i on; i - head<N>() is a multiple of N.
  template <int N = width>
  __device__ __forceinline__ void vector(std::int64_t i, element* to) const {
    T raw[N];
    load_elements<N>(data + i, raw);
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = project(raw[k]);
  }
};

// Two arrays, element by element.
template <class T, class U, class Projection>
struct arrays {
  using element = decltype(std::declval<const Projection&>()(std::declval<T>(), std::declval<U>()));
  static constexpr int width =
      elements_in_vector<T> < elements_in_vector<U> ? elements_in_vector<T> : elements_in_vector<U>;
  static constexpr int inputs = 2;
  static constexpr int bytes = sizeof(T) + sizeof(U);

  const T* first;
  const U* second;
  Projection project;

  __device__ element at(std::int64_t i) const { return project(first[i], second[i]); }
  __device__ element at_both(std::int64_t i, std::int64_t j) const { return project(first[i], second[j]); }
  __host__ __device__ arrays from(std::int64_t offset) const { return {first + offset, second + offset, project}; }
  __host__ __device__ arrays from_both(std::int64_t i, std::int64_t j) const {
    return {first + i, second + j, project};
  }
  // Vectors are aligned for the first array. Where the second array's vectors then are not, its elements are loaded one
  // by one: the same sectors, more instructions.
  template <int N = width>
  __device__ __forceinline__ int head() const {
    return N == 1 ? 0 : elements_before(first, N * sizeof(T), sizeof(T));
  }
  template <int N>
  bool begins_aligned() const {
    return N == 1 || reinterpret_cast<std::uintptr_t>(first) % (N * sizeof(T)) == 0;
  }
  template <int N = width>
  __device__ __forceinline__ void vector(std::int64_t i, element* to) const {
    T a[N];
    U b[N];
    load_elements<N>(first + i, a);
    if (reinterpret_cast<std::uintptr_t>(second + i) % (N * sizeof(U)) == 0) {
      load_elements<N>(second + i, b);
    } else {
#pragma unroll
      for (int k = 0; k < N; ++k) b[k] = second[i + k];
    }
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = project(a[k], b[k]);
  }
};

}  // namespace coalesce::detail
