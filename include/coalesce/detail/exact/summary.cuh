// Accumulators of a summary, each for one reading: the least and the largest element with their positions; of integers
// their exact sum and sum of squares, too.
#pragma once

#include <coalesce/detail/accumulators/extremes.cuh>
#include <coalesce/detail/exact/variance.hpp>

namespace coalesce::detail {

struct both_found {
  found low, high;
};

// The least and the largest element's keys and positions in one reading.
template <class T>
struct both_positions {
  using element = T;
  using result = both_found;
  using state = both_found;
  static constexpr bool indexed = true;
  using smallest = extreme_position<T, smaller>;
  using largest = extreme_position<T, larger>;

  __device__ state identity() const { return {smallest().identity(), largest().identity()}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At at) const {
    const auto least = first_of_tile<smaller, false>(tile);
    const auto most = first_of_tile<larger, false>(tile);
    smallest().add_best(s.low, least, tile, at);
    largest().add_best(s.high, most, tile, at);
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    smallest().merge(into.low, from.low);
    largest().merge(into.high, from.high);
  }
  __device__ __forceinline__ void merge_warp(state& s) const {
    smallest().merge_warp(s.low);
    largest().merge_warp(s.high);
  }
  __device__ result finish(const state& s, std::int64_t) const { return s; }
};

template <class T>
inline constexpr bool is_summed_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// sum += an integer of two words; `Words` words in two's complement, the least first.
template <int Words>
__device__ __forceinline__ void add_to_words(std::uint64_t (&sum)[Words], std::uint64_t low, std::uint64_t high,
                                             std::uint64_t above) {
  std::uint64_t carry = 0;
#pragma unroll
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t more = i == 0 ? low : i == 1 ? high : above, partial = sum[i] + more;
    sum[i] = partial + carry;
    carry = (partial < more) | (sum[i] < carry);
  }
}

struct integers_found {
  both_found extremes;
  std::uint64_t sum[2], squares[3];  // room for 2^63 elements of 64 bits
};

// Integers of 8 to 64 bits.
template <class T>
struct summary_of_integers {
  using element = T;
  using result = integers_found;
  using state = integers_found;
  static constexpr bool indexed = true;

  __device__ state identity() const { return {both_positions<T>().identity(), {0, 0}, {0, 0, 0}}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At at) const {
    if constexpr (sizeof(T) <= 2) {  // 128 squares of 16 bits fit in 64
      std::int64_t sum = 0;
      std::uint64_t squares = 0;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const std::int64_t x = tile[i];
        sum += x;
        squares += static_cast<std::uint64_t>(x * x);
      }
      add_signed(s.sum, sum);
      add_to_words(s.squares, squares, 0, 0);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const auto bits = static_cast<std::uint64_t>(tile[i]);
        const bool negative = std::is_signed_v<T> && static_cast<std::int64_t>(bits) < 0;
        const std::uint64_t size = negative ? 0 - bits : bits, sign = negative ? ~std::uint64_t(0) : 0;
        std::uint64_t high = 0;
        const std::uint64_t low = sizeof(T) == 4 ? size * size : coalesce::exact::multiplied(size, size, high);
        add_to_words(s.sum, bits, sign, sign);
        add_to_words(s.squares, low, high, 0);
      }
    }
    both_positions<T>().add(s.extremes, tile, at);
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    add_to_words(into.sum, from.sum[0], from.sum[1], 0);
    add_to_words(into.squares, from.squares[0], from.squares[1], from.squares[2]);
    both_positions<T>().merge(into.extremes, from.extremes);
  }
  __device__ result finish(const state& s, std::int64_t) const { return s; }

 private:
  __device__ __forceinline__ static void add_signed(std::uint64_t (&sum)[2], std::int64_t x) {
    add_to_words(sum, static_cast<std::uint64_t>(x), x < 0 ? ~std::uint64_t(0) : 0, 0);
  }
};

}  // namespace coalesce::detail
