// More elements than 32 bits count, and more bytes than they address: 5 * 10^9 of int8, whole and as a matrix of two
// rows. Needs 5 GB on the GPU; every value is known, so nothing is computed on the host.
#include <coalesce/reduce.cuh>
#include <coalesce/reverse.cuh>

#include "../library/test.h"

namespace {

constexpr i64 kCount = 5000000000, kRow = kCount / 2;

__global__ void fill(std::int8_t* data, i64 count) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = static_cast<std::int8_t>(i % 7 - 3);
}

// The sum of i % 7 - 3 for i < n.
i64 sum_to(i64 n) {
  i64 sum = 0;
  for (i64 i = n / 7 * 7; i < n; ++i) sum += i % 7 - 3;
  return sum;
}

template <class R, class Call>
R result_of(const Call& call) {
  Array<R> out(1);
  CALL(call(out.get()));
  return out.first();
}

}  // namespace

int main() {
  std::int8_t* in = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&in), kCount));
  fill<<<4096, 256>>>(in, kCount);
  CHECK(cudaGetLastError());
  const i64 at = kCount - 3;  // beyond 2^32
  const std::int8_t high = 100, low = -100;
  CHECK(cudaMemcpy(in + at, &high, 1, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(in + at - 2, &low, 1, cudaMemcpyHostToDevice));
  const i64 change = 100 - 100 - (at % 7 - 3) - ((at - 2) % 7 - 3);

  EXPECT(result_of<i64>([&](i64* out) { return coalesce::sum(in, kCount, out); }) == sum_to(kCount) + change, "sum");
  EXPECT(result_of<i64>([&](i64* out) { return coalesce::argmax(in, kCount, out); }) == at, "argmax");
  const auto s =
      result_of<coalesce::statistics<std::int8_t>>([&](auto* out) { return coalesce::stats(in, kCount, out); });
  EXPECT(s.count == kCount && s.argmax == at && s.argmin == at - 2 && s.max == 100 && s.min == -100, "stats");

  Array<i64> rows(2);
  const coalesce::view<std::int8_t> matrix(in, {2, kRow});
  CALL(coalesce::sum(matrix, {1}, rows.get()));
  EXPECT(rows.download()[0] == sum_to(kRow), "the first row");
  EXPECT(rows.download()[1] == sum_to(kCount) - sum_to(kRow) + change, "the second row");
  CALL(coalesce::argmin(matrix, {1}, rows.get()));
  EXPECT(rows.download()[1] == at - 2 - kRow, "a position in the second row");

  // Columns: 2.5 * 10^9 results would need 20 GB; 1000 of 5 * 10^6 elements do not.
  Array<i64> columns(1000);
  CALL(coalesce::sum(coalesce::view<std::int8_t>(in, {kCount / 1000, 1000}), {0}, columns.get()));
  i64 all = 0;
  for (const i64 column : columns.download()) all += column;
  EXPECT(all == sum_to(kCount) + change, "the sum of all columns");

  const Array<i64> offsets(std::vector<i64>{0, 1, 4294967299, 4294967299, kCount});
  Array<i64> segments(4);
  CALL(coalesce::sum(in, offsets.get(), 4, segments.get()));
  EXPECT(segments.download()[0] == -3 && segments.download()[2] == 0, "small segments");
  EXPECT(segments.download()[1] == sum_to(4294967299) + 3, "a segment of 2^32");
  EXPECT(segments.download()[3] == sum_to(kCount) - sum_to(4294967299) + change, "the last segment");
  CHECK(cudaFree(in));
  std::puts("5 * 10^9 elements: ok");
}
