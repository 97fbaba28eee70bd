// Where elements come from: one array or two, and what is made of an element on its way (a projection). A kernel asks a
// source for single elements and for vectors of 16 bytes; it never sees the memory itself.
#pragma once

#include <coalesce/detail/accumulator.cuh>
#include <cstring>

namespace coalesce::detail {

// How many elements one load of 16 bytes brings; 1 for types that do not divide 16 bytes.
template <class T>
inline constexpr int elements_in_vector = 16 % sizeof(T) == 0 ? 16 / static_cast<int>(sizeof(T)) : 1;

// N neighbouring elements as they come from memory: elements of 1 or 2 bytes stay packed until they are used.
template <int Bytes>
struct packed;
template <>
struct packed<16> {
  uint4 bits;
};
template <>
struct packed<8> {
  uint2 bits;
};
template <>
struct packed<4> {
  unsigned int bits;
};
template <>
struct packed<2> {
  unsigned short bits;
};
template <class T>
struct single {
  T bits;
};
template <int N, class T>
using packet = std::conditional_t<N == 1, single<T>, packed<N == 1 ? 16 : N* static_cast<int>(sizeof(T))>>;

// Loads a vector of memory that no thread writes meanwhile, at an address that is a multiple of N elements. Vectors of
// 16 bytes are read once and bypass L1. Volatile, and not `.nc`: a launch that starts
// early must not read before it has waited for the one ahead (launch.cuh), nor what a cache still has from before. (An
// H200 is as fast.)
template <int N, class T>
__device__ __forceinline__ packet<N, T> fetch_elements(const T* from) {
  packet<N, T> result;
  if constexpr (N > 1 && sizeof(result) == 16) {
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(result.bits.x), "=r"(result.bits.y), "=r"(result.bits.z), "=r"(result.bits.w)
                 : "l"(from));
  } else {
    result.bits = *reinterpret_cast<const decltype(result.bits)*>(from);
  }
  return result;
}
// The same of long rows that begin anywhere: whatever of a line is asked for, L2 has all of it loaded, so that
// neighbours that begin or end within a line do not load it by halves.
template <int N, class T>
__device__ __forceinline__ packet<N, T> fetch_elements_in_lines(const T* from) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  packet<N, T> result;
  if constexpr (N > 1 && sizeof(result) == 16) {
    asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(result.bits.x), "=r"(result.bits.y), "=r"(result.bits.z), "=r"(result.bits.w)
                 : "l"(from));
    return result;
  } else if constexpr (N > 1 && sizeof(result) == 8) {
    asm volatile("ld.global.L2::128B.v2.u32 {%0, %1}, [%2];" : "=r"(result.bits.x), "=r"(result.bits.y) : "l"(from));
    return result;
  }
#endif
  return fetch_elements<N>(from);
}
// The same where `there`; `into` is left as it is elsewhere. Where a compiler makes the predicate it may load to other
// registers and wait for the first vector, to move it, before it asks for the second.
template <int N, class T>
__device__ __forceinline__ void fetch_elements_if(bool there, const T* from, packet<N, T>& into) {
  if constexpr (N > 1 && sizeof(into) == 16) {
    asm volatile(
        "{\n.reg .pred there;\nsetp.ne.u32 there, %5, 0;\n"
        "@there ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
        : "+r"(into.bits.x), "+r"(into.bits.y), "+r"(into.bits.z), "+r"(into.bits.w)
        : "l"(from), "r"(static_cast<unsigned int>(there)));
  } else if (there) {
    into = fetch_elements<N>(from);
  }
}
// Loads elements begin ... end - 1 of such a vector; the others are 0.
template <int N, class T>
__device__ __forceinline__ packet<N, T> fetch_part_of(const T* from, int begin, int end) {
  packet<N, T> result;
  T elements[N];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (k >= begin && k < end) {
      elements[k] = from[k];
    } else {
      memset(static_cast<void*>(elements + k), 0, sizeof(T));
    }
  }
  memcpy(static_cast<void*>(&result.bits), elements, sizeof(elements));
  return result;
}
template <int N, class T>
__device__ __forceinline__ void unpack_elements(const packet<N, T>& from, T (&to)[N]) {
  memcpy(static_cast<void*>(&to), &from.bits, sizeof(to));
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
  using memory = T;
  static constexpr int inputs = 1;
  static constexpr int bytes = sizeof(T);                                  // of memory, for one element
  static constexpr int first_bytes = sizeof(T);                            // of the first input's
  static constexpr bool projects = !std::is_same_v<Projection, as_it_is>;  // what memory has is no element yet

  const T* data;
  Projection project;

  __device__ std::int64_t address() const { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data)); }
  __device__ element at(std::int64_t i) const { return project(data[i]); }
  // The element at offset i of the first input and j of the second.
  __device__ element at_both(std::int64_t i, std::int64_t) const { return at(i); }
  __host__ __device__ array from(std::int64_t offset) const { return {data + offset, project}; }
  __host__ __device__ array from_both(std::int64_t offset, std::int64_t) const { return from(offset); }
  // Elements before the first whole vector of N, a power of two; with N * sizeof(T) = 128, before the first line.
  template <int N = width>
  __device__ __forceinline__ int head() const {
    return N == 1 ? 0 : elements_before(data, N * sizeof(T), sizeof(T));
  }
  // Host: where element i lies.
  std::uintptr_t first_address(std::int64_t i) const {
    return reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(i) * sizeof(T);
  }
  // Host: whether head<N>() will be 0.
  template <int N>
  bool begins_aligned() const {
    return N == 1 || reinterpret_cast<std::uintptr_t>(data) % (N * sizeof(T)) == 0;
  }
  // The N elements from i on, N up to width; i - head<N>() is a multiple of N.
  template <int N = width>
  using vector_of = packet<N, T>;
  template <int N = width>
  __device__ __forceinline__ vector_of<N> fetch(std::int64_t i) const {
    return fetch_elements<N>(data + i);
  }
  template <int N = width>
  __device__ __forceinline__ vector_of<N> fetch_in_lines(std::int64_t i) const {
    return fetch_elements_in_lines<N>(data + i);
  }
  __device__ __forceinline__ void fetch_if(bool there, std::int64_t i, vector_of<>& into) const {
    fetch_elements_if<width>(there, data + i, into);
  }
  // Asks for the line of element i; nothing is read yet.
  __device__ __forceinline__ void prefetch(std::int64_t i) const {
    asm volatile("prefetch.global.L2 [%0];" : : "l"(data + i));
  }
  // Loads elements begin ... end - 1 of the vector at i; the others are not read.
  template <int N>
  __device__ __forceinline__ vector_of<N> fetch_part(std::int64_t i, int begin, int end) const {
    return fetch_part_of<N>(data + i, begin, end);
  }
  template <int N = width>
  __device__ __forceinline__ void unpack(const vector_of<N>& from, element* to) const {
    if constexpr (std::is_same_v<Projection, as_it_is>) {
      memcpy(static_cast<void*>(to), &from.bits, N * sizeof(T));
    } else {
      T raw[N];
      unpack_elements<N>(from, raw);
#pragma unroll
      for (int k = 0; k < N; ++k) to[k] = project(raw[k]);
    }
  }
};

// Two arrays, element by element.
template <class T, class U, class Projection>
struct arrays {
  using element = decltype(std::declval<const Projection&>()(std::declval<T>(), std::declval<U>()));
  static constexpr int width =
      elements_in_vector<T> < elements_in_vector<U> ? elements_in_vector<T> : elements_in_vector<U>;
  using memory = void;
  static constexpr bool projects = true;
  static constexpr int inputs = 2;
  static constexpr int bytes = sizeof(T) + sizeof(U);
  static constexpr int first_bytes = sizeof(T);

  const T* first;
  const U* second;
  Projection project;

  __device__ std::int64_t address() const {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) |
                                     reinterpret_cast<std::uintptr_t>(second));
  }
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
  std::uintptr_t first_address(std::int64_t i) const {
    return reinterpret_cast<std::uintptr_t>(first) + static_cast<std::uintptr_t>(i) * sizeof(T);
  }
  template <int N>
  bool begins_aligned() const {
    return N == 1 || reinterpret_cast<std::uintptr_t>(first) % (N * sizeof(T)) == 0;
  }
  template <int N = width>
  struct vector_of {
    packet<N, T> first;
    packet<N, U> second;
  };
  template <int N = width>
  __device__ __forceinline__ vector_of<N> fetch(std::int64_t i) const {
    vector_of<N> result;
    result.first = fetch_elements<N>(first + i);
    if (reinterpret_cast<std::uintptr_t>(second + i) % (N * sizeof(U)) == 0) {
      result.second = fetch_elements<N>(second + i);
    } else {
      U single[N];
#pragma unroll
      for (int k = 0; k < N; ++k) single[k] = second[i + k];
      memcpy(static_cast<void*>(&result.second.bits), single, sizeof(single));
    }
    return result;
  }
  template <int N = width>
  __device__ __forceinline__ vector_of<N> fetch_in_lines(std::int64_t i) const {
    return fetch<N>(i);
  }
  __device__ __forceinline__ void fetch_if(bool there, std::int64_t i, vector_of<>& into) const {
    if (there) into = fetch(i);
  }
  __device__ __forceinline__ void prefetch(std::int64_t) const {}
  template <int N>
  __device__ __forceinline__ vector_of<N> fetch_part(std::int64_t i, int begin, int end) const {
    return {fetch_part_of<N>(first + i, begin, end), fetch_part_of<N>(second + i, begin, end)};
  }
  template <int N = width>
  __device__ __forceinline__ void unpack(const vector_of<N>& from, element* to) const {
    T a[N];
    U b[N];
    unpack_elements<N>(from.first, a);
    unpack_elements<N>(from.second, b);
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = project(a[k], b[k]);
  }
};

}  // namespace coalesce::detail
