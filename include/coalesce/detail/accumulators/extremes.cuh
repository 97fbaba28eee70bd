// Minimum and maximum, and where they are.
//
// NaN: the result is NaN where any element is, and its position that of the first NaN; ignoring NaN, the result is that
// of the other elements. Of equal elements (-0 and +0 are equal) the first one's position counts; which of -0 and +0 a
// minimum or maximum returns is not specified, but the same in every run. Nothing at all: the other end of the range,
// position -1.
#pragma once

#include <coalesce/detail/accumulators/bytes.cuh>
#include <coalesce/detail/source.cuh>
#include <coalesce/detail/tuning.cuh>
#include <coalesce/warp/reduce.cuh>

namespace coalesce::detail {

struct smaller {
  template <class T>
  __device__ static bool before(T a, T b) {
    return a < b;
  }
  template <class T>
  __device__ static constexpr T last() {
    return highest<T>();
  }
};
struct larger {
  template <class T>
  __device__ static bool before(T a, T b) {
    return a > b;
  }
  template <class T>
  __device__ static constexpr T last() {
    return lowest<T>();
  }
};

// The one of a and b that comes first in Order, NaN before all (IgnoreNan: after all).
template <class Order, bool IgnoreNan, class T>
__device__ __forceinline__ T earlier(T a, T b) {
  constexpr bool high = std::is_same_v<Order, larger>;
  if constexpr (std::is_same_v<T, float> && IgnoreNan) {
    return high ? fmaxf(a, b) : fminf(a, b);
  } else if constexpr (std::is_same_v<T, float>) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float result;
    if constexpr (high) {
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    } else {
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    }
    return result;
#else
    return a != a || Order::before(a, b) ? a : b != b || Order::before(b, a) ? b : a;
#endif
  } else if constexpr (IgnoreNan && std::is_floating_point_v<T>) {
    return high ? fmax(a, b) : fmin(a, b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return ((a != a) | Order::before(a, b)) ? a : b;  // of a number and NaN neither is before the other
  } else {
    return Order::before(b, a) ? b : a;
  }
}

// x[First] ... x[First + N - 1] as a tree.
template <class Order, bool IgnoreNan, int First, int N, class T, int Size>
__device__ __forceinline__ T earliest(const T (&x)[Size]) {
  if constexpr (N == 1) {
    return x[First];
  } else {
    return earlier<Order, IgnoreNan>(earliest<Order, IgnoreNan, First, N / 2>(x),
                                     earliest<Order, IgnoreNan, First + N / 2, N - N / 2>(x));
  }
}

// The first in Order of a tile's elements.
template <class Order, bool IgnoreNan, class T, int N>
__device__ __forceinline__ auto first_of_tile(const T (&tile)[N]) {
  using value =
      typename std::conditional_t<(sizeof(T) < 4 && std::is_integral_v<T>), tag<int>, tag<value_type<T>>>::type;
  if constexpr (in_pairs<T, N>) {
    return static_cast<value>(extreme_of_bytes<std::is_same_v<Order, larger>>(tile));
  } else if constexpr (in_halves<T, N>) {
    T two[2];
    extremes_of_halves<std::is_same_v<Order, larger>, IgnoreNan>(tile, two);
    return earlier<Order, IgnoreNan>(static_cast<value>(two[0]), static_cast<value>(two[1]));
  } else {
    value x[N];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = static_cast<value>(tile[i]);
    return earliest<Order, IgnoreNan, 0, N>(x);
  }
}

// The first place of `best`, which is in the tile.
template <class Value, class T, int N>
__device__ __forceinline__ int place_in_tile(const T (&tile)[N], Value best) {
  if constexpr (in_pairs<T, N>) {
    return place_among_bytes(tile, best);
  } else if constexpr (marks_halves<T, N>) {
    return place_among_halves(tile, best);
  } else {
    int where = 0;
    const bool nan = is_nan(best);
#pragma unroll
    for (int i = N - 1; i >= 0; --i) {
      const Value x = static_cast<Value>(tile[i]);
      where = (x == best) | (nan & is_nan(x)) ? i : where;  // no branches
    }
    return where;
  }
}

// The largest x of the lanes in `mask`, in all of them.
__device__ __forceinline__ unsigned int largest_of_lanes(unsigned int mask, unsigned int x) {
  unsigned int result = x;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("redux.sync.max.u32 %0, %1, %2;" : "=r"(result) : "r"(x), "r"(mask));
#endif
  return result;
}
__device__ __forceinline__ unsigned long long largest_of_lanes(unsigned int mask, unsigned long long x) {
  const unsigned int mine = static_cast<unsigned int>(x >> 32), first = largest_of_lanes(mask, mine);
  const unsigned int second = largest_of_lanes(mask, mine == first ? static_cast<unsigned int>(x) : 0);
  return static_cast<unsigned long long>(first) << 32 | second;
}

// The type a number is compared in: small integers as int, so that a comparison is one instruction.
template <class T>
using compared_type =
    typename std::conditional_t<(sizeof(T) < 4 && std::is_integral_v<T>), tag<int>, tag<value_type<T>>>::type;

// A number of as many bits that grows in Order; the same for all NaN, the largest; the same for -0 and +0.
template <class T, class Order, class Value>
__device__ __forceinline__ auto order_key(Value x) {
  constexpr bool high = std::is_same_v<Order, larger>;
  using bits = std::conditional_t<sizeof(Value) == 8, unsigned long long, unsigned int>;
  using number = std::make_signed_t<bits>;
  constexpr bits sign = bits{1} << (8 * sizeof(bits) - 1);
  if constexpr (std::is_floating_point_v<Value>) {
    const Value turned = (high ? x : -x) + Value(0);
    number as_it_is;
    memcpy(&as_it_is, &turned, sizeof(turned));
    const number most = static_cast<number>(sign - 1);
    const number ordered = is_nan(x) ? most : as_it_is ^ ((as_it_is >> (8 * sizeof(bits) - 1)) & most);
    return static_cast<bits>(ordered) ^ sign;
  } else {
    const bits ordered = std::is_signed_v<Value> ? static_cast<bits>(x) ^ sign : static_cast<bits>(x);
    return high ? ordered : static_cast<bits>(~ordered);
  }
}

// The element that the key was made of; a zero has lost its sign.
template <class T, class Order, class Value, class Bits>
__device__ __forceinline__ Value of_order_key(Bits key) {
  constexpr bool high = std::is_same_v<Order, larger>;
  using number = std::make_signed_t<Bits>;
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  if constexpr (std::is_floating_point_v<Value>) {
    const number ordered = static_cast<number>(key ^ sign);
    const number as_it_was = ordered ^ ((ordered >> (8 * sizeof(Bits) - 1)) & static_cast<number>(sign - 1));
    Value x;
    memcpy(&x, &as_it_was, sizeof(x));
    return high ? x : -x;
  } else {
    const Bits ordered = high ? key : static_cast<Bits>(~key);
    return static_cast<Value>(std::is_signed_v<Value> ? ordered ^ sign : ordered);
  }
}

template <class T, class Order, bool IgnoreNan = false, class Result = T>
struct extreme {
  using element = T;
  using result = Result;
  static constexpr bool indexed = false;
  using state = compared_type<T>;

  __device__ static constexpr state nothing() { return static_cast<state>(Order::template last<value_type<T>>()); }
  using part = state;

  __device__ state identity() const { return nothing(); }
  __device__ __forceinline__ part part_of(T x) const { return static_cast<part>(x); }
  __device__ __forceinline__ part join(part a, part b) const { return earlier<Order, IgnoreNan>(a, b); }
  __device__ __forceinline__ void add_part(state& s, part x) const { s = earlier<Order, IgnoreNan>(s, x); }

  // Two numbers of 16 bits, in whose upper bytes the extremes of two bytes of each word are: what is in the lower ones
  // decides only between equal ones.
  static constexpr bool by_words = in_words<T, 4>;
  static constexpr unsigned int no_bytes = (static_cast<unsigned int>(nothing()) & 0xffu) * 0x01010101u;
  __device__ __forceinline__ unsigned int join_bytes(unsigned int a, unsigned int b) const {
    return extreme_of_pairs<std::is_same_v<Order, larger>,
                            std::conditional_t<std::is_signed_v<T>, short, unsigned short>>(a, b);
  }
  __device__ __forceinline__ unsigned int add_word(unsigned int x, unsigned int word) const {
    return join_bytes(x, join_bytes(word, word << 8));
  }
  __device__ __forceinline__ state of_bytes(unsigned int x) const {
    return earlier<Order, IgnoreNan>(static_cast<state>(static_cast<T>(x >> 8)),
                                     static_cast<state>(static_cast<T>(x >> 24)));
  }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At) const {
    s = earlier<Order, IgnoreNan>(s, first_of_tile<Order, IgnoreNan>(tile));
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    into = earlier<Order, IgnoreNan>(into, from);
  }
  // Comparing doubles takes long, as keys they take two redux; what a shuffle and a minimum bring is as fast.
  __device__ __forceinline__ void merge_warp(state& s) const {
    if constexpr (sizeof(state) == 8) {
      s = of_order_key<T, Order, state>(largest_of_lanes(0xffffffffu, order_key<T, Order>(s)));
    } else {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) merge(s, warp::exchange(s, step));
    }
  }
  __device__ Result finish(const state& s, std::int64_t) const { return static_cast<Result>(s); }
};

// The key of a value, and ~ its position; 0 and 0: none yet. The larger the pair, the earlier.
struct found {
  unsigned long long key, place;
};

template <class T, class Order, bool IgnoreNan = false>
struct extreme_position {
  using element = T;
  using result = std::int64_t;
  static constexpr bool indexed = true;
  using value = compared_type<T>;
  using state = found;

  __device__ static unsigned long long place_of(std::int64_t position) {
    return ~static_cast<unsigned long long>(position);
  }
  __device__ __forceinline__ static bool precedes(const state& a, const state& b) {
    return (a.key > b.key) | ((a.key == b.key) & (a.place > b.place));  // no branches: both are cheap
  }

  __device__ state identity() const { return {0, 0}; }

  // Usually nothing in a tile comes before what was found, so first only the tile's best value is looked for; where it
  // is only when it is needed.
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At at) const {
    add_best(s, first_of_tile<Order, IgnoreNan>(tile), tile, at);
  }
  template <int N, class At>
  __device__ __forceinline__ void add_best(state& s, value best, const T (&tile)[N], At at) const {
    if (IgnoreNan && is_nan(best)) return;
    const unsigned long long key = order_key<T, Order>(best);
    // The first position stands for all: equal values further on come before what lies behind it,
    // too.
    if (N > 2 && !precedes({key, place_of(at(0))}, s)) return;
    merge(s, {key, place_of(at(place_in_tile(tile, best)))});
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    if (precedes(from, into)) into = from;
  }
  __device__ __forceinline__ void share(const state& before, state& s) const {
    const unsigned int here = __activemask();
    if (__any_sync(here, s.place != before.place)) first_of_lanes(here, s);
  }
  __device__ __forceinline__ void merge_warp(state& s) const { first_of_lanes(0xffffffffu, s); }
  // All lanes in `here` take part in each exchange.
  __device__ __forceinline__ static void first_of_lanes(unsigned int here, state& s) {
    const unsigned long long key = largest_of_lanes(here, s.key);
    s.place = largest_of_lanes(here, s.key == key ? s.place : 0);
    s.key = key;
  }
  __device__ std::int64_t finish(const state& s, std::int64_t) const { return static_cast<std::int64_t>(~s.place); }
  __device__ static value value_of(const state& s) {
    if (s.place == 0) return extreme<T, Order>::nothing();
    return of_order_key<T, Order, value>(static_cast<decltype(order_key<T, Order>(value()))>(s.key)) +
           value(0);  // of zeros +0
  }
};

// The same where there are fewer than 2^32 - 1 elements, of up to 32 bits: value and position in one 64-bit number, the
// larger the earlier. Merging is then one comparison.
template <class T, class Order, bool IgnoreNan = false>
struct packed_position {
  using element = T;
  using result = std::int64_t;
  static constexpr bool indexed = true;
  using value = compared_type<T>;
  using state = unsigned long long;  // value's key, then 2^32 - 1 - position; 0: none yet
  static_assert(sizeof(value) == 4);

  __device__ __forceinline__ static unsigned int key(value x) { return order_key<T, Order>(x); }

  __device__ state identity() const { return 0; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At at) const {
    add_best(s, first_of_tile<Order, IgnoreNan>(tile), tile, at);
  }
  template <int N, class At>
  __device__ __forceinline__ void add_best(state& s, value best, const T (&tile)[N], At at) const {
    if (IgnoreNan && is_nan(best)) return;
    const state high = static_cast<state>(key(best)) << 32;
    if (N > 2 && (high | ~static_cast<unsigned int>(at(0))) <= s) return;
    const state found = high | ~static_cast<unsigned int>(at(place_in_tile(tile, best)));
    if (found > s) s = found;
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const { into = from > into ? from : into; }
  __device__ __forceinline__ void share(const state& before, state& s) const {
    const unsigned int here = __activemask();
    if (__any_sync(here, s != before)) s = largest_of_lanes(here, s);
  }
  __device__ __forceinline__ void merge_warp(state& s) const { s = largest_of_lanes(0xffffffffu, s); }
  __device__ std::int64_t finish(const state& s, std::int64_t) const {
    return s == 0 ? -1 : static_cast<std::int64_t>(~static_cast<unsigned int>(s));
  }
  __device__ static value value_of(const state& s) {
    if (s == 0) return extreme<T, Order>::nothing();
    return of_order_key<T, Order, value>(static_cast<unsigned int>(s >> 32)) + value(0);  // of zeros +0
  }
};

// An accumulator for reductions of fewer than 2^32 - 1 elements each, where there is a smaller one.
template <class A>
struct of_few {
  using type = A;
  static type from(const A& a) { return a; }
};
template <class T, class Order, bool IgnoreNan>
struct of_few<extreme_position<T, Order, IgnoreNan>> {
  using type = std::conditional_t<sizeof(compared_type<T>) == 4, packed_position<T, Order, IgnoreNan>,
                                  extreme_position<T, Order, IgnoreNan>>;
  static type from(const extreme_position<T, Order, IgnoreNan>&) { return {}; }
};

}  // namespace coalesce::detail
