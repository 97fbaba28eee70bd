// Columns of matrices so large that a multiprocessor has one block of many threads (detail/shapes/dense_columns.cuh),
// or blocks as wide as its rows need (columns.cuh): as many rows as that takes on the device at hand. Sums are of
// multiples of 1/128 below 2^24 of these, and so exact.
#include <coalesce/reduce.cuh>

#include "../library/test.h"

namespace {

void check(i64 planes, i64 rows, i64 columns, int shift, Random& random) {
  std::vector<float> in(planes * rows * columns), sums(planes * columns);
  for (float& x : in) x = static_cast<float>(random.between(-128, 127)) / 128;
  for (i64 i = 0; i < planes * rows * columns; ++i) sums[i / (rows * columns) * columns + i % columns] += in[i];
  const Array<float> device(in, shift);
  Array<float> sum(planes * columns);
  CALL(coalesce::sum(coalesce::view<float>(device.get(), {planes, rows, columns}), {1}, sum.get()));
  const std::vector<float> sums_there = sum.download();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT(sums_there[i] == sums[i], "%lld x %lld x %lld over 1, result %zu", static_cast<long long>(planes),
           static_cast<long long>(rows), static_cast<long long>(columns), i);
  }
}

// Sums of the elements and of their squares are exact in double, whatever their order; what is left is to divide, and
// to round to float.
void check_variance(i64 rows, i64 columns, Random& random) {
  std::vector<float> in(rows * columns);
  for (float& x : in) x = static_cast<float>(random.between(-128, 127)) / 128;
  std::vector<double> sums(columns), squares(columns);
  for (i64 i = 0; i < rows * columns; ++i) {
    sums[i % columns] += in[i];
    squares[i % columns] += static_cast<double>(in[i]) * in[i];
  }
  const Array<float> device(in, 1);
  Array<float> out(columns);
  CALL(coalesce::variance(coalesce::view<float>(device.get(), {rows, columns}), {0}, out.get()));
  const std::vector<float> there = out.download();
  for (i64 c = 0; c < columns; ++c) {
    const double n = static_cast<double>(rows), mean = sums[c] / n, wanted = squares[c] / n - mean * mean;
    EXPECT(std::fabs(there[c] - wanted) <= 0x1p-23 * wanted, "variance of %lld x %lld over 0, result %lld",
           static_cast<long long>(rows), static_cast<long long>(columns), static_cast<long long>(c));
  }
}

}  // namespace

int main() {
  int processors = 0;
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  const i64 elements = i64{32} * 512 * 4 * processors;
  Random random(23);
  check(1, elements / 1000 + 2, 1000, 1, random);
  check(1, elements / 100 + 2, 100, 3, random);
  check(3, elements / 3 / 700 + 2, 700, 0, random);
  check_variance(elements / 13 + 2, 13, random);  // where states are large, also of few columns
  const i64 more = coalesce::detail::tuning::large_share / 4 * processors;
  check(1, more / 275 + 3, 275, 1, random);
  check(3, more / 3 / 811 + 2, 811, 2, random);
  std::puts("columns of large matrices: ok");
}
