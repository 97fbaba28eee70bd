// Inputs without an ordinary answer: no elements, NaN, infinities, sums that overflow; and calls that must be refused.
// shapes.cu tests the same for views, because it compiles their kernels.
#include <coalesce/reduce.cuh>
#include <functional>

#include "reference.h"

namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

template <class R, class Call>
R result_of(const Call& call) {
  Array<R> out(1);
  CALL(call(out.get()));
  return out.first();
}

void nothing() {
  const float* in = nullptr;
  const auto of = [&](const auto& function, auto kind) {
    using R = decltype(kind);
    return result_of<R>([&](R* out) { return function(in, 0, out); });
  };
  EXPECT(of(coalesce::sum, 1.0f) == 0, "sum of nothing");
  EXPECT(of(coalesce::prod, 1.0f) == 1, "prod of nothing");
  EXPECT(of(coalesce::norm1, 1.0f) == 0, "norm1 of nothing");
  EXPECT(of(coalesce::norm2, 1.0f) == 0, "norm2 of nothing");
  EXPECT(of(coalesce::sum_of_squares, 1.0f) == 0, "sum_of_squares of nothing");
  EXPECT(std::isnan(of(coalesce::mean, 1.0f)), "mean of nothing");
  EXPECT(std::isnan(of(coalesce::variance, 1.0f)), "variance of nothing");
  EXPECT(std::isnan(of(coalesce::stddev, 1.0f)), "stddev of nothing");
  EXPECT(of(coalesce::logsumexp, 1.0f) == -kInf, "logsumexp of nothing");
  EXPECT(!of(coalesce::any, true), "any of nothing");
  EXPECT(of(coalesce::all, true), "all of nothing");
  EXPECT(result_of<float>([&](float* out) { return coalesce::dot(in, in, 0, out); }) == 0, "dot of nothing");
  EXPECT(of(coalesce::stats, coalesce::statistics<float>()).count == 0, "stats of nothing");
}

// One NaN at a place: in the single elements before the first vector, in a vector, behind the last.
void not_a_number() {
  Random random(3);
  for (const i64 n : {1, 50, 5000}) {
    for (const i64 place : {i64{0}, n / 2, n - 1}) {
      std::vector<float> host = values<float>(n, random);
      host[place] = kNan;
      const Array<float> array(host, 1);
      const float* in = array.get();
      const auto of = [&](const auto& function, auto kind) {
        using R = decltype(kind);
        return result_of<R>([&](R* out) { return function(in, n, out); });
      };
      const What what{std::to_string(n) + " floats with a NaN at " + std::to_string(place)};
      const char* text = what.text.c_str();
      EXPECT(std::isnan(of(coalesce::sum, 1.0f)), "%s", text);
      EXPECT(std::isnan(of(coalesce::min, 1.0f)), "%s", text);
      EXPECT(std::isnan(of(coalesce::max, 1.0f)), "%s", text);
      EXPECT(std::isnan(of(coalesce::norm_inf, 1.0f)), "%s", text);
      EXPECT(std::isnan(of(coalesce::variance, 1.0f)), "%s", text);
      EXPECT(std::isnan(of(coalesce::logsumexp, 1.0f)), "%s", text);
      EXPECT(of(coalesce::argmin, i64()) == place, "%s", text);
      EXPECT(of(coalesce::argmax, i64()) == place, "%s", text);
      const auto s = of(coalesce::stats, coalesce::statistics<float>());
      EXPECT(std::isnan(s.min) && std::isnan(s.max) && std::isnan(s.mean) && std::isnan(s.variance) &&
                 s.argmin == place && s.argmax == place && s.count == n,
             "stats of %s", text);

      const Facts<float> f = facts(host);
      namespace ignoring = coalesce::nan_ignoring;
      expect_near(of(ignoring::sum, 1.0f), f.sum, sum_bound(f), "nan_ignoring::sum", what);
      if (n == 1) {
        EXPECT(std::isnan(of(ignoring::mean, 1.0f)), "nan_ignoring::mean of only NaN");
        EXPECT(of(ignoring::min, 1.0f) == kInf && of(ignoring::argmin, i64()) == -1, "nan_ignoring::min of only NaN");
        EXPECT(of(ignoring::max, 1.0f) == -kInf && of(ignoring::argmax, i64()) == -1, "nan_ignoring::max of only NaN");
        continue;
      }
      expect_near(of(ignoring::mean, 1.0f), f.mean(), sum_bound(f) / (n - 1), "nan_ignoring::mean", what);
      expect_near(of(ignoring::variance, 1.0f), f.variance(), variance_bound(f), "nan_ignoring::variance", what);
      expect_same(number(of(ignoring::min, 1.0f)), f.lowest, "nan_ignoring::min", what);
      expect_same(number(of(ignoring::max, 1.0f)), f.highest, "nan_ignoring::max", what);
      expect_same(of(ignoring::argmin, i64()), f.lowest_at, "nan_ignoring::argmin", what);
      expect_same(of(ignoring::argmax, i64()), f.highest_at, "nan_ignoring::argmax", what);
      expect_near(of(ignoring::logsumexp, 1.0f), f.logsumexp(), 264 * 0x1p-24L, "nan_ignoring::logsumexp", what);
      const auto t = of(ignoring::stats, coalesce::statistics<float>());
      EXPECT(t.count == n - 1 && t.argmin == f.lowest_at && t.argmax == f.highest_at, "nan_ignoring::stats of %s",
             text);
    }
  }
}

void infinities_and_overflow() {
  const auto floats = [](std::vector<float> host, const auto& function) {
    const Array<float> in(host);
    return result_of<float>([&](float* out) { return function(in.get(), in.count(), out); });
  };
  EXPECT(floats({1, kInf, 2}, coalesce::sum) == kInf, "a sum with Inf");
  EXPECT(std::isnan(floats({-kInf, kInf, 2}, coalesce::sum)), "a sum with both Infs");
  EXPECT(floats({3e38f, 3e38f}, coalesce::sum) == kInf, "a sum beyond float");
  EXPECT(floats({-kInf, 5}, coalesce::min) == -kInf, "a min of -Inf");
  EXPECT(floats({-kInf, -kInf}, coalesce::max) == -kInf, "a max of -Infs");
  EXPECT(std::isnan(floats({1, kInf}, coalesce::variance)), "a variance with Inf");
  EXPECT(floats({kInf, 1}, coalesce::logsumexp) == kInf, "logsumexp with Inf");
  EXPECT(floats({-kInf, -kInf}, coalesce::logsumexp) == -kInf, "logsumexp of -Infs");
  EXPECT(floats({-kInf, 0}, coalesce::logsumexp) == 0, "logsumexp: -Inf adds nothing");
  EXPECT(std::fabs(floats({1000, 1000}, coalesce::logsumexp) - 1000.6931f) < 1e-3f, "logsumexp does not overflow");
  EXPECT(floats({1e-30f, 1e30f, -1e30f}, coalesce::norm_inf) == 1e30f, "norm_inf");

  // 70,000 times the largest: far beyond 32 bits. 2^63 - 1 twice: wraps.
  const i64 n = 70000;
  const Array<std::int32_t> large(std::vector<std::int32_t>(n, INT32_MAX));
  EXPECT(result_of<i64>([&](i64* out) { return coalesce::sum(large.get(), n, out); }) == n * INT32_MAX,
         "int32 in int64");
  const Array<std::int8_t> bytes(std::vector<std::int8_t>(n, -128));
  EXPECT(result_of<i64>([&](i64* out) { return coalesce::sum(bytes.get(), n, out); }) == -128 * n, "int8 in int64");
  const Array<std::int64_t> largest(std::vector<i64>{INT64_MAX, INT64_MAX});
  EXPECT(result_of<i64>([&](i64* out) { return coalesce::sum(largest.get(), 2, out); }) == -2, "int64 wraps");
  // Halves: their sum is beyond half, and right in float; as a half it is infinite.
  const Array<__half> halves(std::vector<__half>(n, __float2half(100.0f)));
  EXPECT(result_of<float>([&](float* out) { return coalesce::sum(halves.get(), n, out); }) == 7e6f, "half in float");
  // Small beside large: 2^24 and ones, which float alone would lose.
  std::vector<float> small(4097, 1.0f);
  small[0] = 0x1p24f;
  const float together = floats(small, coalesce::sum);
  EXPECT(std::fabs(together - 16781312.0f) <= 128 + 2, "2^24 and 4096 ones: %g", static_cast<double>(together));
}

// Large states of doubles, by blocks of few threads: as many blocks as need two, and more of them than a block has
// threads.
void many_partial_results() {
  for (const i64 n : {8196, 150000}) {
    std::vector<double> host(n, 1);
    for (i64 i = 0; i < n; i += 2) host[i] = 3;
    const Array<double> in(host);
    const double deviation = result_of<double>([&](double* out) { return coalesce::stddev(in.get(), n, out); });
    EXPECT(deviation == 1, "stddev of %lld ones and threes: %g", static_cast<long long>(n), deviation);
  }
}

// An array whose first lines are asked for before they may be read (block/visit.cuh).
void lines_asked_for() {
  const i64 n = (64 << 20) + 12345, low = 3, high = n - 1;
  std::vector<std::int8_t> host(n);
  host[low] = -1;
  host[high] = 1;
  const Array<std::int8_t> in(host, 1);
  const auto s = result_of<coalesce::statistics<std::int8_t>>(
      [&](coalesce::statistics<std::int8_t>* out) { return coalesce::stats(in.get(), n, out); });
  EXPECT(s.count == n && s.min == -1 && s.max == 1 && s.argmin == low && s.argmax == high && s.mean == 0,
         "statistics of 64 MB");
  EXPECT(result_of<i64>([&](i64* out) { return coalesce::argmax(in.get(), n, out); }) == high, "argmax of 64 MB");
}

// Columns shared by so many blocks that the last of a group merges theirs, then the last of all what groups have. The
// elements are small integers: every order of adding them gives the same.
void slices_of_slices() {
  struct {
    i64 rows, columns, shift;
  } shapes[] = {{3201, 1000, 0}, {6501, 128, 1}};  // tiles of columns, and one array
  for (const auto& [rows, columns, shift] : shapes) {
    Random random(5);
    std::vector<float> host(rows * columns);
    std::vector<double> sums(columns), squares(columns);
    for (i64 i = 0; i < rows * columns; ++i) {
      host[i] = static_cast<float>(random.between(-8, 8));
      sums[i % columns] += host[i];
      squares[i % columns] += host[i] * host[i];
    }
    const Array<float> in(host, shift);
    Array<float> out(columns);
    CALL(coalesce::variance(coalesce::view<float>(in.get(), {rows, columns}), {0}, out.get()));
    const std::vector<float> variances = out.download();
    for (i64 c = 0; c < columns; ++c) {
      const double n = static_cast<double>(rows), mean = sums[c] / n, wanted = squares[c] / n - mean * mean;
      EXPECT(std::fabs(variances[c] - wanted) <= 1e-6 * wanted, "a variance of columns merged in two turns");
    }
  }
}

// The choices of slices that look at few numbers of them are as good as if they looked at all: of the same share of the
// device (with as much taken off for rounds), or within the 1 % that a choice must be better by.
void slices_among_all() {
  using coalesce::detail::ceil_div;
  const auto filled = [](i64 blocks, i64 resident) {
    return static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, resident) * resident);
  };
  for (const i64 resident : {24, 264, 396}) {
    for (const i64 most : {0, 1, 2, 7, 50, 5000}) {
      for (i64 count = 1; count < 900; count += count < 40 ? 1 : 37) {
        for (const i64 rounds : {1, 2, 4, 16}) {
          double best = -1e300, share = 0;
          for (i64 slices = 1; slices == 1 || (slices <= most && count * slices <= rounds * resident); ++slices) {
            const i64 needed = ceil_div(count * slices, resident);
            best =
                std::max(best, filled(count * slices, resident) - 0.04 * static_cast<double>(std::min<i64>(needed, 8)));
          }
          const i64 slices = coalesce::detail::splits_of_tiles(count, most, resident, share, rounds);
          EXPECT(share == best && (slices == 1 || (slices <= most && count * slices <= rounds * resident)),
                 "%lld slices of %lld tiles", static_cast<long long>(slices), static_cast<long long>(count));
        }
        double best = 0;
        for (i64 slices = 1; slices <= most && count * slices <= 8 * resident; ++slices) {
          best = std::max(best, filled(count * slices, resident));
        }
        const i64 slices = coalesce::detail::splits_of_long_rows(count, most * 65536, resident);
        if (count > 1 && most > 0 && count <= 8 * resident) {
          EXPECT(slices <= most && filled(count * slices, resident) >= best - 0.01, "%lld slices of %lld runs",
                 static_cast<long long>(slices), static_cast<long long>(count));
        }
      }
    }
  }
}

void refusals() {
  Array<float> in(64), out(64);
  Array<i64> at(4), offsets(std::vector<i64>{0, 2, 2, 5});
  refused(coalesce::sum(static_cast<const float*>(nullptr), 4, out.get()), "a null input", "null");
  refused(coalesce::sum(in.get(), 4, static_cast<float*>(nullptr)), "a null out", "null");
  refused(coalesce::sum(in.get(), -1, out.get()), "a negative count", "negative");
  refused(coalesce::sum(in.get(), INT64_MAX / 2, out.get()), "a count beyond 63 bits of bytes", "63 bits");
  refused(coalesce::sum(in.get(), 8, in.get() + 7), "out inside the input", "overlaps");
  refused(coalesce::sum(in.get(), offsets.get(), 3, in.get()), "segments' results upon the input", "overlaps");
  refused(coalesce::dot(in.get(), out.get(), offsets.get(), 3, out.get()), "upon the second input", "overlaps");
  refused(coalesce::argmax(in.get(), offsets.get(), 3, offsets.get()), "upon the offsets", "overlaps");
  CALL(coalesce::sum(in.get() + 3, offsets.get(), 3, in.get()));  // before the first element: not upon it
  refused(coalesce::min(in.get(), 0, out.get()), "min of nothing", "nothing");
  refused(coalesce::argmax(in.get(), 0, at.get()), "argmax of nothing", "nothing");
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(in.get()) + 1);
  refused(coalesce::sum(odd, 4, out.get()), "a pointer between elements", "aligned");
  CHECK(cudaDeviceSynchronize());
  EXPECT(out.untouched(), "a refused call wrote");
  // An earlier error of the program's own is not the library's.
  void* none = nullptr;
  EXPECT(cudaMalloc(&none, ~std::size_t{0} / 2) != cudaSuccess, "more memory than there is");
  CALL(coalesce::sum(in.get(), 4, out.get()));
  cudaGetLastError();
}

}  // namespace

int main() {
  nothing();
  not_a_number();
  infinities_and_overflow();
  many_partial_results();
  lines_asked_for();
  slices_of_slices();
  slices_among_all();
  refusals();
  std::puts("edges: ok");
}
