// Mean and variance, and statistics of all kinds in one reading.
//
// Every thread subtracts the first element it met (the shift) from all its elements, in double, and adds up the
// differences and their squares: cancellation then only costs digits where that element is far from the others, and no
// element is further from the mean than sqrt(n) standard deviations. States of different shifts are merged by their
// means (Chan, Golub, LeVeque 1979). Relative error of the variance: below n 2^-50. Of half and bfloat16, whose tiles
// are added in float: the mean within 2^-21, the variance within 42 * 2^-24 of the range and of its square.
#pragma once

#include <coalesce/detail/accumulators/extremes.cuh>
#include <coalesce/detail/accumulators/sum.cuh>

namespace coalesce::detail {

// Shift: a type that has every element. Count: double, or unsigned int where there are fewer elements than 2^32. Narrow
// where columns have a state each, in registers: 24 bytes. Else as doubles: nothing is converted for each tile.
template <class Shift, class Count>
struct moments {
  double sum, squares;  // of x - shift
  Shift shift;
  Count count;

  // `inverse`: of the count.
  __device__ double mean(double inverse) const { return static_cast<double>(shift) + sum * inverse; }
  // The sum of the squared distances from the mean.
  __device__ double spread(double inverse) const { return squares - sum * (sum * inverse); }

  // The other's sums are brought to this one's shift: no division, and fused, so that they lose nothing more.
  __device__ __forceinline__ void merge(const moments& other) {
    const double away = count == 0 ? 0 : static_cast<double>(other.shift) - static_cast<double>(shift);
    const double more = static_cast<double>(other.count);
    shift = count == 0 ? other.shift : shift;
    squares += fma(away, fma(away, more, 2 * other.sum), other.squares);
    sum += fma(away, more, other.sum);
    count += other.count;
  }
  // Brings all lanes' moments to one shift at once, so that only three sums wait for shuffles.
  __device__ __forceinline__ void merge_warp() {
    constexpr unsigned int all = 0xffffffffu;
    const unsigned int some = __ballot_sync(all, count != 0);
    const Shift common = warp::from_lane(shift, some ? __ffs(static_cast<int>(some)) - 1 : 0);
    const double away = count == 0 ? 0 : static_cast<double>(shift) - static_cast<double>(common);
    const double here = static_cast<double>(count);
    squares = fma(away, fma(away, here, 2 * sum), squares);
    sum = fma(away, here, sum);
    shift = common;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      count += warp::exchange(count, step);
      sum += warp::exchange(sum, step);
      squares += warp::exchange(squares, step);
    }
  }
};

// `count`: of the moments, but known outside of them where it is the same for many, so that it is divided by once.
struct the_variance {
  template <class Moments>
  __device__ double operator()(const Moments& m, double count, double freedom) const {
    const double inverse = 1 / count, scale = 1 / (count - freedom);
    return count > freedom ? m.spread(inverse) * scale : not_a_number<double>();
  }
};
struct the_deviation {
  template <class Moments>
  __device__ double operator()(const Moments& m, double count, double freedom) const {
    return sqrt(the_variance()(m, count, freedom));
  }
};

template <class T, class Result, class Finish, bool IgnoreNan = false, bool Few = false>
struct moment {
  using element = T;
  using result = Result;
  static constexpr bool indexed = false;
  static constexpr bool in_float = sizeof(value_type<T>) <= 4 && !(std::is_integral_v<T> && sizeof(T) == 4);
  using shift_type = std::conditional_t<Few && in_float, float, double>;
  using state = moments<shift_type, std::conditional_t<Few, unsigned int, double>>;

  double freedom;  // what is subtracted from the count: 0 for the variance of all, 1 for an estimate from a sample

  __device__ state identity() const { return {0, 0, 0, 0}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At) const {
    add_moments<IgnoreNan>(s, tile);
  }
  // Integers of up to 16 bits: a tile's sums are exact as integers. half and bfloat16: the distances from a tile's
  // first element, in float; float and double: in double from the start.
  template <bool Ignore, int N>
  __device__ __forceinline__ static void add_moments(state& s, const T (&tile)[N]) {
    if constexpr (in_words<T, N>) {
      s.count += N;
      s.sum += sum_of_bytes(tile);
      s.squares += squares_of_bytes(tile);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
      int sum = 0;
      std::conditional_t<sizeof(T) == 1, unsigned int, unsigned long long> squares = 0;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const int x = tile[i];
        sum += x;
        squares += static_cast<unsigned int>(x) * static_cast<unsigned int>(x);  // 65535^2 is no int
      }
      s.count += N;
      s.sum += sum;
      s.squares += static_cast<double>(squares);
    } else if constexpr (is_half<T> && !Ignore && N >= 8) {
      const float center = static_cast<float>(tile[0]);
      const float_moments all = moments_as_tree<0, N>(tile, center);
      const double rest = all.sum, squares = all.squares;
      if (s.count == 0) s.shift = center;
      const double away = static_cast<double>(center) - static_cast<double>(s.shift);
      s.count += N;
      s.sum += fma(away, static_cast<double>(N), rest);
      s.squares += fma(away, fma(away, static_cast<double>(N), 2 * rest), squares);
    } else {
      add_doubles<Ignore>(s, tile);
    }
  }
  // Moments of x - center, in float: four squares are a chain of fused additions, all else is a tree.
  struct float_moments {
    float sum, squares;
  };
  template <int First, int N, int Size>
  __device__ __forceinline__ static float_moments moments_as_tree(const T (&tile)[Size], float center) {
    if constexpr (N <= 4) {
      float apart[N];
#pragma unroll
      for (int i = 0; i < N; ++i) apart[i] = static_cast<float>(tile[First + i]) - center;
      float squares = apart[0] * apart[0];
#pragma unroll
      for (int i = 1; i < N; ++i) squares = fmaf(apart[i], apart[i], squares);
      return {sum_as_tree<0, N>(apart), squares};
    } else {
      const float_moments left = moments_as_tree<First, N / 2>(tile, center);
      const float_moments right = moments_as_tree<First + N / 2, N - N / 2>(tile, center);
      return {left.sum + right.sum, left.squares + right.squares};
    }
  }
  template <bool Ignore, int N>
  __device__ __forceinline__ static void add_doubles(state& s, const T (&tile)[N]) {
    if (s.count == 0) s.shift = first_number<Ignore>(tile);
    const double shift = s.shift;
    // Two chains of additions, so that each is waited for half as long. The first begins with what there was.
    constexpr int chains = N < 4 ? 1 : 2;
    double sum[2] = {s.sum, 0}, squares[2] = {s.squares, 0};
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const double x = static_cast<double>(static_cast<value_type<T>>(tile[i]));
      const double apart = Ignore && x != x ? 0 : x - shift;
      if (Ignore) s.count += x == x;
      sum[i % chains] = i == 1 && chains == 2 ? apart : sum[i % chains] + apart;
      squares[i % chains] = i == 1 && chains == 2 ? apart * apart : fma(apart, apart, squares[i % chains]);
    }
    s.sum = chains == 2 ? sum[0] + sum[1] : sum[0];
    s.squares = chains == 2 ? squares[0] + squares[1] : squares[0];
    if (!Ignore) s.count += N;
  }
  template <bool Ignore, int N>
  __device__ __forceinline__ static shift_type first_number(const T (&tile)[N]) {
    shift_type first = static_cast<shift_type>(static_cast<value_type<T>>(tile[0]));
    if constexpr (Ignore) {
#pragma unroll
      for (int i = N - 1; i >= 0; --i) {
        const shift_type x = static_cast<shift_type>(static_cast<value_type<T>>(tile[i]));
        if (x == x) first = x;
      }
      if (first != first) first = 0;
    }
    return first;
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const { into.merge(from); }
  __device__ __forceinline__ void merge_warp(state& s) const { s.merge_warp(); }
  __device__ Result finish(const state& s, std::int64_t count) const {
    return static_cast<Result>(Finish()(s, static_cast<double>(IgnoreNan ? s.count : count), freedom));
  }
};
template <class T, class Result, class Finish, bool IgnoreNan>
struct of_few<moment<T, Result, Finish, IgnoreNan, false>> {
  using type = moment<T, Result, Finish, IgnoreNan, true>;
  static type from(const moment<T, Result, Finish, IgnoreNan, false>& a) { return {a.freedom}; }
};

}  // namespace coalesce::detail

namespace coalesce {

// The result of `stats`. Of no elements: count 0, mean and variance NaN, positions -1, min and max the ends of the
// range. NaN propagates to min, max, mean and variance.
template <class T>
struct statistics {
  std::int64_t count;
  T min, max;
  typename detail::real_result<T>::type mean, variance;  // of all: divided by count
  std::int64_t argmin, argmax;
};

namespace detail {

template <class T, bool IgnoreNan = false, bool Few = false>
struct all_statistics {
  using element = T;
  using result = statistics<T>;
  static constexpr bool indexed = true;
  template <class Order>
  using position = extreme_position<T, Order, IgnoreNan>;
  using smallest = std::conditional_t<Few, typename of_few<position<smaller>>::type, position<smaller>>;
  using largest = std::conditional_t<Few, typename of_few<position<larger>>::type, position<larger>>;
  using mean = moment<T, double, the_variance, IgnoreNan>;
  struct state {
    typename smallest::state low;
    typename largest::state high;
    typename mean::state numbers;
  };

  __device__ state identity() const { return {smallest().identity(), largest().identity(), {0, 0, 0, 0}}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At at) const {
    // Branches come last, so that no element of the tile has to be kept before.
    const auto least = first_of_tile<smaller, IgnoreNan>(tile);
    const auto most = first_of_tile<larger, IgnoreNan>(tile);
    mean::template add_moments<IgnoreNan>(s.numbers, tile);
    smallest().add_best(s.low, least, tile, at);
    largest().add_best(s.high, most, tile, at);
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    smallest().merge(into.low, from.low);
    largest().merge(into.high, from.high);
    into.numbers.merge(from.numbers);
  }
  __device__ __forceinline__ void share(const state& before, state& s) const {
    smallest().share(before.low, s.low);
    largest().share(before.high, s.high);
  }
  __device__ __forceinline__ void merge_warp(state& s) const {
    smallest().merge_warp(s.low);
    largest().merge_warp(s.high);
    s.numbers.merge_warp();
  }
  __device__ result finish(const state& s, std::int64_t count) const {
    using real = typename real_result<T>::type;
    const std::int64_t numbers = IgnoreNan ? static_cast<std::int64_t>(s.numbers.count) : count;
    const double inverse = 1 / static_cast<double>(numbers);
    return {numbers,
            static_cast<T>(smallest::value_of(s.low)),
            static_cast<T>(largest::value_of(s.high)),
            static_cast<real>(s.numbers.mean(inverse)),
            static_cast<real>(s.numbers.spread(inverse) * inverse),
            smallest().finish(s.low, count),
            largest().finish(s.high, count)};
  }
};
template <class T, bool IgnoreNan>
struct of_few<all_statistics<T, IgnoreNan, false>> {
  using type = all_statistics<T, IgnoreNan, true>;
  static type from(const all_statistics<T, IgnoreNan, false>&) { return {}; }
};

// log(sum of exp(x)), without overflow: relative to the largest element so far.
template <class T, class Result, bool IgnoreNan = false>
struct log_of_sum {
  using element = T;
  using result = Result;
  static constexpr bool indexed = false;
  using value = value_type<T>;
  struct state {
    value largest;
    double sum;  // of exp(x - largest)
  };

  __device__ static float exponential(float x) { return expf(x); }
  __device__ static double exponential(double x) { return exp(x); }
  // exp(x - largest), 1 for the largest itself even where it is infinite.
  __device__ static value scaled(value x, value largest) { return x == largest ? value(1) : exponential(x - largest); }

  __device__ state identity() const { return {lowest<value>(), 0}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At) const {
    value x[N];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = static_cast<value>(tile[i]);
    const value best = earlier<larger, IgnoreNan>(s.largest, earliest<larger, IgnoreNan, 0, N>(x));
    value sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      // -inf adds nothing, also where it is the largest.
      if (!(IgnoreNan && is_nan(x[i])) && x[i] != lowest<value>()) sum += scaled(x[i], best);
    }
    s.sum = (s.sum == 0 ? 0 : s.sum * static_cast<double>(scaled(s.largest, best))) + static_cast<double>(sum);
    s.largest = best;
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    const value best = earlier<larger, IgnoreNan>(into.largest, from.largest);
    const double left = into.sum == 0 ? 0 : into.sum * static_cast<double>(scaled(into.largest, best));
    const double right = from.sum == 0 ? 0 : from.sum * static_cast<double>(scaled(from.largest, best));
    into = {best, left + right};
  }
  __device__ Result finish(const state& s, std::int64_t) const {
    return static_cast<Result>(s.sum == 0 ? static_cast<double>(s.largest)
                                          : static_cast<double>(s.largest) + log(s.sum));
  }
};

// Any operation. `start` is combined with the elements once; without an identity a state says whether it has a value
// yet.
template <class T, class Value, class Operation, bool Ordered = false>
struct any_operation {
  static constexpr bool is_ordered = Ordered;
  using element = T;
  using result = Value;
  static constexpr bool indexed = false;
  struct state {
    Value value;
    bool there;
  };

  Operation operation;
  Value start;

  __device__ state identity() const { return {start, false}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At) const {
    Value x[N];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = static_cast<Value>(tile[i]);
    const Value all = combine_as_tree<0, N>(x);
    s.value = s.there ? static_cast<Value>(operation(s.value, all)) : all;
    s.there = true;
  }
  template <int First, int N, int Size>
  __device__ __forceinline__ Value combine_as_tree(const Value (&x)[Size]) const {
    if constexpr (N == 1) {
      return x[First];
    } else {
      return static_cast<Value>(
          operation(combine_as_tree<First, N / 2>(x), combine_as_tree<First + N / 2, N - N / 2>(x)));
    }
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    if (!from.there) return;
    into.value = into.there ? static_cast<Value>(operation(into.value, from.value)) : from.value;
    into.there = true;
  }
  __device__ Value finish(const state& s, std::int64_t) const {
    return s.there ? static_cast<Value>(operation(start, s.value)) : start;
  }
};

}  // namespace detail
}  // namespace coalesce
