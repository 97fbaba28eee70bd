// Accumulators: the work on elements, apart from their places. A shape's kernel (detail/shapes) decides which thread
// reads which elements and in which order partial results combine; an accumulator defines a partial result. Every
// accumulator works with every shape.
//
// An **accumulator** is a small trivially copyable struct, passed to the kernel by value, with
//
//   using element = T;    what is read (`pair<T, U>` where two inputs are)
//   using result = R;     what is written, one for each output
//   using state = S;      a partial result, in registers; trivially copyable
//   static constexpr bool indexed;   true if it uses the elements' positions
//
//   S    identity() const;
//   void add(S&, const T (&tile)[N], Positions at) const;  template over N: a tile of N elements. at(i) is the
//                                                          position of tile[i], counted from the reduction's first
//                                                          element. It grows with i, and from tile to tile.
//   void merge(S& into, const S& from) const;              associative and commutative
//   R    finish(const S&, std::int64_t count) const;       count: the number of elements, 0 or more
//
// All are __device__ and const. A tile is what a thread has in flight at once: 1 element at the ragged ends, up to 128
// (8 loads of 16 bytes) inside. Adding it as a tree, not one by one, is what makes sums pairwise.
//
// An accumulator whose state is the best element so far may also have
//
//   void share(const S& before, S&) const;
//
// called after an addition, where all lanes of a warp work on one result; `before` is the state before it. It may hand
// one lane's find to the other active lanes. Merging a state twice must then change nothing.
//
// An accumulator that merges a warp's states faster than shuffles do may have
//
//   void merge_warp(S&) const;
//
// called by all lanes of a warp; it leaves the merged state in all of them.
//
// An accumulator whose elements are added quickly may have
//
//   using part = P;                      the result of up to 8 neighbours, of 4 or 8 bytes; void: none
//   P    part_of(T) const;               of one element
//   P    join(P left, P right) const;
//   void add_part(S&, P) const;
//
// An accumulator whose result of a tile's first elements is a number of 32 bits, from which that of fewer elements can
// be subtracted (modulo 2^32), may have `static constexpr bool has_differences = true` and
//
//   unsigned int add_to_prefix(unsigned int before, const T (&x)[N]) const;              up to four more elements
//   unsigned int add_to_prefix(unsigned int before, const T (&x)[N], int count) const;   the first `count` of them
//   void         add_difference(S&, unsigned int) const;
//
// and, where four elements lie in a word, `static constexpr bool by_words = true` and
//
//   static constexpr unsigned int no_bytes;                    a word of four bytes that change nothing
//   unsigned int add_word(unsigned int x, unsigned int word) const;   no_bytes, and the results of words of four
//   unsigned int join_bytes(unsigned int, unsigned int) const;        of two such
//   S            of_bytes(unsigned int x) const;
//
// Positions are 64-bit; a count of elements is never kept in less.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace coalesce {

// Two inputs' elements at one position.
template <class T, class U>
struct pair {
  T first;
  U second;
};

// The position of tile[i]: `width` neighbours, then `step` further on.
template <int Width>
struct positions {
  std::int64_t first, step;
  __device__ constexpr std::int64_t operator()(int i) const {
    return first + static_cast<std::int64_t>(i / Width) * step + i % Width;
  }
};

namespace detail {

template <class A, class = void>
struct has_share : std::false_type {};
template <class A>
struct has_share<A, std::void_t<decltype(&A::share)>> : std::true_type {};
template <class A>
inline constexpr bool shares = has_share<A>::value;

template <class A, class = void>
struct has_merge_warp : std::false_type {};
template <class A>
struct has_merge_warp<A, std::void_t<decltype(&A::merge_warp)>> : std::true_type {};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800  // with redux
template <class A>
inline constexpr bool merges_warps = has_merge_warp<A>::value;
#else
template <class A>
inline constexpr bool merges_warps = false;
#endif

template <class A, class = void>
struct part_of_accumulator {
  static constexpr int size = 0;
};
template <class A>
struct part_of_accumulator<A, std::enable_if_t<!std::is_void_v<typename A::part>>> {
  static constexpr int size = sizeof(typename A::part);
};
template <class A>
inline constexpr int size_of_part = part_of_accumulator<A>::size;
template <class A>
inline constexpr bool has_parts = size_of_part<A> != 0;

template <class A, class = void>
inline constexpr bool has_differences = false;
template <class A>
inline constexpr bool has_differences<A, std::void_t<decltype(A::has_differences)>> = A::has_differences;

template <class A, class = void>
inline constexpr bool has_words = false;
template <class A>
inline constexpr bool has_words<A, std::void_t<decltype(A::by_words)>> = A::by_words;

template <class A>
struct shape {
  static constexpr int state_words = (sizeof(typename A::state) + 3) / 4;
  static constexpr int threads = 256;
  // 64 registers a thread where the state is small: 1024 threads with 128 bytes in flight each. Little's law asks for
  // some 40 KB a multiprocessor (4.6 TB/s at a latency under 1.2 us, by 132); this is 128 KB. Where positions are
  // looked for a tile is kept until it is known not to matter: 80 registers.
  static constexpr int blocks_per_processor = state_words < 6 && !A::indexed ? 4 : state_words <= 12 ? 3 : 2;
  static constexpr int loads = 8;
};

template <class A>
constexpr void require_accumulator() {
  static_assert(std::is_trivially_copyable_v<A>,
                "coalesce: an accumulator (or the operation or projection in it) must be trivially copyable: it is "
                "passed to the kernel by value");
  static_assert(std::is_trivially_copyable_v<typename A::element>,
                "coalesce: the element type must be trivially copyable: elements are read 16 bytes at a time");
  static_assert(std::is_trivially_copyable_v<typename A::state>,
                "coalesce: an accumulator's state must be trivially copyable: lanes hand it to each other by shuffles");
}

}  // namespace detail
}  // namespace coalesce
