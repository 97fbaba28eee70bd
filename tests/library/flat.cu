// Whole arrays: every function on every element type, counts around the kernels' boundaries, from any element on.
//
// The tests in CI compile it for three types; with -DTYPE=double every function is tried on that type (./dev gpu-test).
#include <algorithm>
#include <coalesce/reduce.cuh>

#include "reference.h"

namespace {

// 16 bytes are a vector, 128 a thread's turn of loads; 32, 128 and 512 threads the blocks that are alone.
template <class T>
std::vector<i64> counts() {
  const i64 vector = 16 / static_cast<i64>(sizeof(T)), turn = 8 * vector;
  return {1,
          2,
          vector - 1,
          vector,
          vector + 1,
          31,
          33,
          turn - 1,
          turn + 1,
          32 * turn + 1,
          513 * vector,
          128 * turn - 1,
          256 * turn + 1,
          512 * turn + vector + 1};
}

struct is_large {
  template <class T>
  __host__ __device__ bool operator()(T x) const {
    return x > T(1);
  }
};

template <class T>
struct Results {
  using wide =
      std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::conditional_t<floating<T>, T, std::int64_t>>;
  using fine = std::conditional_t<std::is_same_v<T, double> || !floating<T>, double, float>;
};

template <class R, class Call>
R result_of(const Call& call) {
  Array<R> out(1);
  CALL(call(out.get()));
  return out.first();
}

template <class T>
void check_stats(const T* in, i64 n, const Facts<T>& f, const What& what) {
  const auto s = result_of<coalesce::statistics<T>>([&](auto* out) { return coalesce::stats(in, n, out); });
  expect_same(s.count, n, "stats' count", what);
  expect_same(number(s.min), f.lowest, "stats' min", what);
  expect_same(number(s.max), f.highest, "stats' max", what);
  expect_same(s.argmin, f.lowest_at, "stats' argmin", what);
  expect_same(s.argmax, f.highest_at, "stats' argmax", what);
  // Relative to a first element, as the variance.
  expect_near(s.mean, f.mean(), mean_bound(f), "stats' mean", what);
  expect_near(s.variance, f.variance(), variance_bound(f), "stats' variance", what);
}

template <class T, bool AllFunctions>
void check(const std::vector<T>& host, int shift) {
  using wide = typename Results<T>::wide;
  using fine = typename Results<T>::fine;
  const i64 n = static_cast<i64>(host.size());
  const Array<T> array(host, shift);
  const T* in = array.get();
  const Facts<T> f = facts(host);
  const What what{std::to_string(n) + " " + type_name<T>() + ", shifted by " + std::to_string(shift)};

  const wide sum = result_of<wide>([&](wide* out) { return coalesce::sum(in, n, out); });
  if constexpr (floating<T>) {
    expect_near(sum, f.sum, sum_bound(f), "sum", what);
  } else {
    expect_same(sum, static_cast<wide>(f.wrapped), "sum", what);
  }
  expect_same(number(result_of<T>([&](T* out) { return coalesce::min(in, n, out); })), f.lowest, "min", what);
  expect_same(result_of<i64>([&](i64* out) { return coalesce::argmax(in, n, out); }), f.highest_at, "argmax", what);
  if constexpr (AllFunctions) {
    expect_same(number(result_of<T>([&](T* out) { return coalesce::max(in, n, out); })), f.highest, "max", what);
    expect_same(result_of<i64>([&](i64* out) { return coalesce::argmin(in, n, out); }), f.lowest_at, "argmin", what);
    const fine mean = result_of<fine>([&](fine* out) { return coalesce::mean(in, n, out); });
    // An integer's mean is of its wrapped total: exact until a sum of 64-bit ones overflows.
    if (sizeof(T) < 8 || floating<T>) expect_near(mean, f.mean(), sum_bound(f) / n, "mean", what);
    const fine variance = result_of<fine>([&](fine* out) { return coalesce::variance(in, n, out); });
    expect_near(variance, f.variance(), variance_bound(f), "variance", what);
    const fine deviation = result_of<fine>([&](fine* out) { return coalesce::stddev(in, n, out); });
    // |sqrt(a) - sqrt(b)| <= sqrt(|a - b|).
    expect_near(deviation, std::sqrt(f.variance()), std::sqrt(variance_bound(f)), "stddev", what);
    check_stats(in, n, f, what);

    const bool small = sizeof(T) < 4 || floating<T>;  // squares and absolute values fit
    if (small) {
      const wide norm1 = result_of<wide>([&](wide* out) { return coalesce::norm1(in, n, out); });
      expect_near(norm1, f.absolute, sum_bound(f), "norm1", what);
      const double squares = result_of<double>([&](double* out) { return coalesce::sum_of_squares(in, n, out); });
      expect_near(squares, f.squares, squares_bound(f), "sum_of_squares", what);
      const fine norm2 = result_of<fine>([&](fine* out) { return coalesce::norm2(in, n, out); });
      expect_near(norm2, std::sqrt(f.squares), std::sqrt(f.squares) * static_cast<real>(n + 8) * 0x1p-53L, "norm2",
                  what);
      const double dot = result_of<double>([&](double* out) { return coalesce::dot(in, in, n, out); });
      expect_near(dot, f.squares, squares_bound(f), "dot", what);
    }
    expect_same(result_of<i64>([&](i64* out) { return coalesce::count_if(in, n, is_large(), out); }),
                static_cast<i64>(std::count_if(host.begin(), host.end(), [](T x) { return number(x) > 1; })),
                "count_if", what);
    expect_same(result_of<bool>([&](bool* out) { return coalesce::any(in, n, out); }), f.nonzero > 0, "any", what);
    expect_same(result_of<bool>([&](bool* out) { return coalesce::all(in, n, out); }), f.nonzero == n, "all", what);
    if constexpr (floating<T>) {
      const fine product = result_of<fine>([&](fine* out) { return coalesce::prod(in, std::min<i64>(n, 40), out); });
      const Facts<T> few = facts(std::vector<T>(host.begin(), host.begin() + std::min<i64>(n, 40)));
      expect_near(product, few.real_product, std::fabs(few.real_product) * 40 * 0x1p-53L, "prod", what);
      const fine logarithm = result_of<fine>([&](fine* out) { return coalesce::logsumexp(in, n, out); });
      expect_near(logarithm, f.logsumexp(), 132 * tile_unit<T>() * 2, "logsumexp", what);
    } else {
      const wide product = result_of<wide>([&](wide* out) { return coalesce::prod(in, n, out); });
      expect_same(product, static_cast<wide>(f.product), "prod", what);
    }
    T host_result;
    CALL(coalesce::max_host(in, n, host_result));
    expect_same(number(host_result), f.highest, "max_host", what);
    i64 large;
    CALL(coalesce::count_if_host(in, n, is_large(), large));
    expect_same(large, result_of<i64>([&](i64* out) { return coalesce::count_if(in, n, is_large(), out); }),
                "count_if_host", what);
  }
}

// Zeros are +0 in statistics, which find them by keys.
template <class T>
void check_zeros() {
  for (const std::size_t n : {1, 5000}) {
    const Array<T> array(std::vector<T>(n, static_cast<T>(0.0f)), 0);
    const auto s = result_of<coalesce::statistics<T>>(
        [&](auto* out) { return coalesce::stats(array.get(), static_cast<i64>(n), out); });
    const What what{std::to_string(n) + " zeros of " + type_name<T>()};
    expect_same(std::signbit(static_cast<double>(number(s.min))), false, "the sign of stats' min", what);
    expect_same(std::signbit(static_cast<double>(number(s.max))), false, "the sign of stats' max", what);
  }
}

// Large states that many blocks leave for the last one; and a view of which every axis is reduced is a whole array.
template <class T>
void check_many_blocks(const std::vector<T>& host, int shift) {
  using fine = typename Results<T>::fine;
  const i64 n = static_cast<i64>(host.size()), rows = 5, columns = n / rows;
  const Array<T> array(host, shift);
  const Facts<T> f = facts(host);
  const What what{std::to_string(n) + " " + type_name<T>() + " in many blocks"};
  const coalesce::view<T> all(array.get(), {rows, columns});
  check_stats(array.get(), n, f, what);
  const fine variance = result_of<fine>([&](fine* out) { return coalesce::variance(array.get(), n, out); });
  expect_near(variance, f.variance(), variance_bound(f), "variance", what);
  const fine of_view = result_of<fine>([&](fine* out) { return coalesce::variance(all, {0, 1}, out); });
  expect_same(of_view, variance, "variance of both axes", what);
  const i64 position = result_of<i64>([&](i64* out) { return coalesce::argmax(all, {0, 1}, out); });
  expect_same(position, f.highest_at, "argmax of both axes", what);
}

template <class T, bool AllFunctions>
void check_type() {
  Random random(sizeof(T));
  for (const i64 count : counts<T>()) check<T, AllFunctions>(values<T>(count, random), 0);
  const int width = static_cast<int>(16 / sizeof(T));
  for (int shift = 1; shift < width; shift += width / 4 + 1)
    check<T, AllFunctions>(values<T>(7000 + shift, random), shift);
  for (int k = 0; k < 4; ++k) {
    check<T, AllFunctions>(values<T>(random.between(1, 30000), random), static_cast<int>(random.between(0, width)));
  }
  // A block on each multiprocessor, and two of which each has several turns of loads.
  if constexpr (!AllFunctions) {
    for (const i64 bytes : {1200000, 9000000}) {
      if (bytes < 1500000 || sizeof(T) == 1) check<T, false>(values<T>(bytes / sizeof(T), random), 1);
    }
  }
  if constexpr (AllFunctions) {
    check_zeros<T>();
    check_many_blocks<T>(values<T>(80000 / sizeof(T) * 5, random), 1);
    check_many_blocks<T>(values<T>(240000 / sizeof(T) * 5, random), 0);
  }
  // Ties everywhere: the first one counts.
  std::vector<T> few(5000);
  for (T& x : few) x = static_cast<T>(static_cast<float>(random.between(0, 2)));
  check<T, AllFunctions>(few, 1);
}

// Two types in one call, complex numbers, and types of one's own.
struct Longest {  // 12 bytes: no power of two
  int length, from;
  unsigned char tag[4];
};
struct longer {
  __device__ Longest operator()(const Longest& a, const Longest& b) const {
    return a.length > b.length || (a.length == b.length && a.from < b.from) ? a : b;
  }
};
struct distance {
  __device__ float operator()(float x, float y) const { return fabsf(x - y); }
};
struct as_double {
  __device__ double operator()(float x) const { return x; }
};
struct plus {
  __device__ double operator()(double a, double b) const { return a + b; }
};

[[maybe_unused]] void check_two_inputs() {
  Random random(11);
  for (const i64 n : {1, 77, 5000, 20001}) {
    const std::vector<float> a = values<float>(n, random), b = values<float>(n, random);
    const Array<float> x(a, 1), y(b, 2);
    real dot = 0, absolute = 0, distances = 0;
    for (i64 i = 0; i < n; ++i) {
      dot += number(a[i]) * number(b[i]), absolute += std::fabs(number(a[i]) * number(b[i]));
      distances += std::fabs(static_cast<real>(a[i] - b[i]));  // rounded to float, as the projection does
    }
    const What what{std::to_string(n) + " pairs of float"};
    const float result = result_of<float>([&](float* out) { return coalesce::dot(x.get(), y.get(), n, out); });
    expect_near(result, dot, static_cast<real>(n + 8) * 0x1p-53L * absolute, "dot", what);
    const double sum = result_of<double>(
        [&](double* out) { return coalesce::transform_reduce(x.get(), y.get(), n, out, plus(), distance(), 0.0); });
    expect_near(sum, distances, static_cast<real>(n) * 0x1p-53L * distances, "transform_reduce", what);
    float dot_host;
    CALL(coalesce::dot_host(x.get(), y.get(), n, dot_host));
    expect_same(dot_host, result, "dot_host", what);
    double sum_host, plain_host;
    CALL(coalesce::transform_reduce_host(x.get(), y.get(), n, sum_host, plus(), distance(), 0.0));
    expect_same(sum_host, sum, "transform_reduce_host", what);
    CALL(coalesce::transform_reduce_host(x.get(), n, plain_host, plus(), as_double(), 0.0));
    expect_same(plain_host, result_of<double>([&](double* out) {
                  return coalesce::transform_reduce(x.get(), n, out, plus(), as_double(), 0.0);
                }),
                "transform_reduce_host of one", what);
  }
}

[[maybe_unused]] void check_complex() {
  Random random(12);
  const i64 n = 9001;
  const std::vector<float> parts = values<float>(2 * n, random);
  std::vector<float2> host(n);
  std::vector<float> real_parts(n), imaginary_parts(n);
  for (i64 i = 0; i < n; ++i) host[i] = {real_parts[i] = parts[2 * i], imaginary_parts[i] = parts[2 * i + 1]};
  const Array<float2> in(host, 1);
  const Facts<float> re = facts(real_parts), im = facts(imaginary_parts);
  const What what{"9001 complex"};
  const float2 sum = result_of<float2>([&](float2* out) { return coalesce::sum(in.get(), n, out); });
  expect_near(sum.x, re.sum, sum_bound(re), "sum", what);
  expect_near(sum.y, im.sum, sum_bound(im), "sum", what);
  const float2 mean = result_of<float2>([&](float2* out) { return coalesce::mean(in.get(), n, out); });
  expect_near(mean.x, re.sum / n, sum_bound(re) / n, "mean", what);
  const float norm = result_of<float>([&](float* out) { return coalesce::norm2(in.get(), n, out); });
  expect_near(norm, std::sqrt(re.squares + im.squares), std::sqrt(re.squares + im.squares) * (n + 8) * 0x1p-53L,
              "norm2", what);
}

[[maybe_unused]] void check_own_type() {
  Random random(13);
  for (const i64 n : {0, 1, 100, 9999}) {
    std::vector<Longest> host(n);
    Longest best{-1, -1, {1, 2, 3, 4}};
    for (i64 i = 0; i < n; ++i) {
      host[i] = {
          static_cast<int>(random.between(0, 500)), static_cast<int>(i), {9, 9, 9, static_cast<unsigned char>(i)}};
      if (host[i].length > best.length) best = host[i];
    }
    const Array<Longest> in(host, 1);
    const Longest result = result_of<Longest>(
        [&](Longest* out) { return coalesce::reduce(in.get(), n, out, longer(), Longest{-1, -1, {1, 2, 3, 4}}); });
    EXPECT(std::memcmp(&result, &best, sizeof(best)) == 0,
           "reduce of %lld of a type of 12 bytes: length %d from %d, not %d from %d", static_cast<long long>(n),
           result.length, result.from, best.length, best.from);
    Longest on_host, ordered;
    CALL(coalesce::reduce_host(in.get(), n, on_host, longer(), Longest{-1, -1, {1, 2, 3, 4}}));
    EXPECT(std::memcmp(&on_host, &best, sizeof(best)) == 0, "reduce_host of %lld", static_cast<long long>(n));
    CALL(coalesce::ordered_reduce_host(in.get(), n, ordered, longer(), Longest{-1, -1, {1, 2, 3, 4}}));
    EXPECT(std::memcmp(&ordered, &best, sizeof(best)) == 0, "ordered_reduce_host of %lld", static_cast<long long>(n));
  }
}

}  // namespace

int main() {
#ifdef TYPE
  check_type<TYPE, true>();
#else
  check_type<std::int8_t, false>();
  check_type<__half, false>();
  check_type<float, true>();
  check_two_inputs();
  check_complex();
  check_own_type();
#endif
  std::puts("whole arrays: ok");
}
