// Sums and products.
//
// Error of a floating-point sum of n elements x, u being half an ulp of 1 in the type of the tile (2^-24, 2^-53): a
// tile of up to 128 elements is added as a tree of depth 7 at most, and tiles are added up in twice the precision, so
//
//   |result - exact| <= (7 u + n 2^-50 u') sum|x| + rounding of the result,   u' = 2^-3 for float, 2^-53 for double
//
// whatever the order of the tiles: the bound does not grow with n as long as n < 2^26. (half and bfloat16 are added as
// floats.)
#pragma once

#include <coalesce/detail/accumulators/bytes.cuh>
#include <coalesce/detail/source.cuh>

namespace coalesce::detail {

// The sum of x[First] ... x[First + N - 1] as a balanced tree. A recursion, not a loop over a shrinking array, which
// not every compiler unrolls far enough to keep it in registers.
template <int First, int N, class T, int Size>
__device__ __forceinline__ T sum_as_tree(const T (&x)[Size]) {
  if constexpr (N == 1) {
    return x[First];
  } else {
    return sum_as_tree<First, N / 2>(x) + sum_as_tree<First + N / 2, N - N / 2>(x);
  }
}

// A double with what its additions lost. The sum of Infs is right in `high`; `low` is then NaN.
struct compensated {
  double high = 0, low = 0;

  __device__ __forceinline__ void add(double x) { low += add_high(x); }
  __device__ __forceinline__ void merge(const compensated& other) {
    const double both = low + other.low;
    low = both + add_high(other.high);
  }
  __device__ double value() const { return high - high == 0 ? high + low : high; }

 private:
  // The rounding error of an addition in three additions instead of six, from the smaller operand (Dekker 1971; of
  // equally large ones either will do). Folds of many warps wait for additions of doubles.
  __device__ __forceinline__ double add_high(double x) {
    const bool longer = magnitude(x) > magnitude(high);
    const double large = longer ? x : high, small = longer ? high : x, sum = high + x;
    high = sum;
    return small - (sum - large);
  }
  __device__ __forceinline__ static unsigned int magnitude(double x) {
    return static_cast<unsigned int>(__double2hiint(x)) & 0x7fffffffu;
  }
};

struct uncompensated {
  double high = 0;
  __device__ __forceinline__ void add(double x) { high += x; }
  __device__ __forceinline__ void merge(const uncompensated& other) { high += other.high; }
  __device__ double value() const { return high; }
};

template <class T>
struct integer_total {
  T total = 0;
  __device__ __forceinline__ void add(T x) {
    total = static_cast<T>(static_cast<std::uint64_t>(total) + static_cast<std::uint64_t>(x));
  }
  __device__ __forceinline__ void merge(const integer_total& other) { add(other.total); }
  __device__ T value() const { return total; }
};

// Finish: from the total and the count of elements to the result.
struct the_total {
  template <class T>
  __device__ T operator()(T total, std::int64_t) const {
    return total;
  }
};
struct over_count {
  template <class T>
  __device__ double operator()(T total, std::int64_t count) const {
    return static_cast<double>(total) / static_cast<double>(count);
  }
};
struct square_root {
  template <class T>
  __device__ double operator()(T total, std::int64_t) const {
    return sqrt(static_cast<double>(total));
  }
};
struct is_positive {
  __device__ bool operator()(std::int64_t total, std::int64_t) const { return total > 0; }
};
struct is_count {
  __device__ bool operator()(std::int64_t total, std::int64_t count) const { return total == count; }
};

// Result: what is written; a double result of floats has its tiles added up in double as well.
template <class T, class Result, class Finish = the_total, bool IgnoreNan = false>
struct sum {
  using element = T;
  using result = Result;
  static constexpr bool indexed = false;
  using tile_sum = std::conditional_t<is_floating<T> && std::is_same_v<Result, double>, double, tile_type<T>>;
  using total = std::conditional_t<
      !is_floating<T>, integer_total<total_type<T>>,
      std::conditional_t<std::is_same_v<T, double> && std::is_same_v<Result, double>, compensated, uncompensated>>;
  struct counted {
    total sum;
    std::int64_t count;
  };
  static constexpr bool counts = IgnoreNan && std::is_same_v<Finish, over_count>;
  using state = std::conditional_t<counts, counted, total>;

  __device__ static total& sum_in(total& s) { return s; }
  __device__ static total& sum_in(counted& s) { return s.sum; }

  using part = std::conditional_t<counts, void, tile_sum>;

  __device__ state identity() const { return state{}; }
  __device__ __forceinline__ tile_sum part_of(T element) const {
    const tile_sum x = static_cast<tile_sum>(static_cast<value_type<T>>(element));
    return IgnoreNan && x != x ? 0 : x;
  }
  __device__ __forceinline__ tile_sum join(tile_sum a, tile_sum b) const { return a + b; }
  __device__ __forceinline__ void add_part(state& s, tile_sum x) const { sum_in(s).add(x); }

  // Sums of a tile of small integers fit in 32 bits, and so do their differences.
  static constexpr bool has_differences = std::is_integral_v<T> && sizeof(T) <= 2 && !counts;
  template <int N, class... Count>
  __device__ __forceinline__ unsigned int add_to_prefix(unsigned int before, const T (&x)[N], Count... count) const {
    return static_cast<unsigned int>(add_few(x, static_cast<int>(before), count...));
  }
  __device__ __forceinline__ void add_difference(state& s, unsigned int x) const {
    sum_in(s).add(static_cast<tile_sum>(x));
  }

  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At) const {
    if constexpr (in_words<T, N>) {
      sum_in(s).add(sum_of_bytes(tile));
    } else {
      tile_sum x[N];
#pragma unroll
      for (int i = 0; i < N; ++i) {
        x[i] = static_cast<tile_sum>(static_cast<value_type<T>>(tile[i]));
        if constexpr (counts) s.count += x[i] == x[i];
        if constexpr (IgnoreNan) x[i] = x[i] == x[i] ? x[i] : 0;
      }
      sum_in(s).add(sum_as_tree<0, N>(x));
    }
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    if constexpr (counts) {
      into.sum.merge(from.sum);
      into.count += from.count;
    } else {
      into.merge(from);
    }
  }
  __device__ Result finish(const state& s, std::int64_t count) const {
    if constexpr (counts) {
      return static_cast<Result>(Finish()(s.sum.value(), s.count));
    } else {
      return static_cast<Result>(Finish()(s.value(), count));
    }
  }
};

// Sums of complex numbers: both parts apart. With IgnoreNan a number with one NaN part counts as NaN.
template <class T, class Result, class Finish = the_total, bool IgnoreNan = false>
struct complex_sum {
  using component = typename complex_parts<T>::type;
  using result_component = typename complex_parts<Result>::type;
  using of_parts = sum<component, result_component, Finish, false>;
  using element = T;
  using result = Result;
  static constexpr bool indexed = false;
  struct state {
    typename of_parts::state real, imaginary;
    std::int64_t ignored;
  };

  __device__ state identity() const { return state{{}, {}, 0}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At at) const {
    component parts[2 * N], real[N], imaginary[N];
    memcpy(parts, tile, sizeof(parts));
#pragma unroll
    for (int i = 0; i < N; ++i) {
      real[i] = parts[2 * i];
      imaginary[i] = parts[2 * i + 1];
      if (IgnoreNan && (is_nan(real[i]) || is_nan(imaginary[i]))) {
        real[i] = imaginary[i] = 0;
        ++s.ignored;
      }
    }
    const of_parts sums;
    sums.add(s.real, real, at);
    sums.add(s.imaginary, imaginary, at);
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    into.real.merge(from.real);
    into.imaginary.merge(from.imaginary);
    into.ignored += from.ignored;
  }
  __device__ Result finish(const state& s, std::int64_t count) const {
    const of_parts sums;
    const result_component parts[2] = {sums.finish(s.real, count - s.ignored),
                                       sums.finish(s.imaginary, count - s.ignored)};
    Result whole;
    memcpy(static_cast<void*>(&whole), parts, sizeof(whole));
    return whole;
  }
};

template <class T, class Result, bool IgnoreNan = false>
struct product {
  using element = T;
  using result = Result;
  static constexpr bool indexed = false;
  using state = std::conditional_t<is_floating<T>, double, std::uint64_t>;  // unsigned: signed ones wrap alike

  __device__ state identity() const { return 1; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At) const {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const value_type<T> x = static_cast<value_type<T>>(tile[i]);
      if (!IgnoreNan || !is_nan(x)) s *= static_cast<state>(static_cast<total_type<T>>(x));
    }
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const { into *= from; }
  __device__ Result finish(const state& s, std::int64_t) const {
    return static_cast<Result>(static_cast<total_type<T>>(s));
  }
};

}  // namespace coalesce::detail
