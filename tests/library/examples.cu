// The examples of docs/library.md: what stands between `// [name]` and `// [end]` is quoted there (./dev docs).
#include <coalesce/block/reduce.cuh>
#include <coalesce/copy.cuh>
#include <coalesce/reduce.cuh>
#include <coalesce/reverse.cuh>
#include <coalesce/transpose.cuh>
#include <coalesce/warp/reduce.cuh>

#include "test.h"

namespace {

std::vector<float> ramp(i64 count) {
  std::vector<float> values(count);
  for (i64 i = 0; i < count; ++i) values[i] = static_cast<float>(i % 100);
  return values;
}

void plain() {
  const i64 count = 1000;
  const Array<float> array(ramp(count));
  const float* in = array.get();
  Array<float> results(1);
  float* out = results.get();
  cudaStream_t stream = nullptr;
  // [plain]
  coalesce::sum(in, count, out);          // out: device memory for one float
  coalesce::sum(in, count, out, stream);  // on a stream; nothing waits

  float largest;
  coalesce::max_host(in, count, largest);  // to the host: waits for the stream
  // [end]
  EXPECT(results.first() == 49500 && largest == 99, "the plainest calls");
}

void axes() {
  const i64 rows = 30, columns = 40;
  const Array<float> array(ramp(rows * columns));
  const float* in = array.get();
  Array<float> row_sums(rows), column_means(columns);
  Array<std::int64_t> places(columns);
  // [axes]
  const coalesce::view matrix(in, {rows, columns});                // row-major
  coalesce::sum(matrix, {1}, row_sums.get());                      // `rows` results
  coalesce::mean(matrix, {0}, column_means.get());                 // `columns` results
  coalesce::argmax(matrix, {0}, places.get());                     // of each column, the row of its largest
  const coalesce::view turned(in, {columns, rows}, {1, columns});  // the transpose, by its strides
  coalesce::sum(turned, {0}, row_sums.get());                      // the same sums
  // [end]
  EXPECT(row_sums.download()[1] == 40 * 59.5f && column_means.download()[0] == 40.0f, "axes");
  EXPECT(places.download()[0] == 2, "places");
}

void statistics() {
  const i64 count = 1000;
  const Array<float> array(ramp(count));
  const float* in = array.get();
  Array<coalesce::statistics<float>> results(1);
  // [statistics]
  coalesce::statistics<float>* out = results.get();
  coalesce::stats(in, count, out);  // count, min, max, mean, variance, argmin, argmax: one reading
  // [end]
  const auto s = results.first();
  EXPECT(s.count == 1000 && s.max == 99 && s.argmax == 99 && s.mean == 49.5f, "statistics");
}

// [operation]
struct Longest {
  int length, begin;
};
struct longer {
  __device__ Longest operator()(Longest a, Longest b) const {
    return a.length > b.length || (a.length == b.length && a.begin < b.begin) ? a : b;
  }
};
// [end]

void operation() {
  std::vector<Longest> host(500);
  for (int i = 0; i < 500; ++i) host[i] = {i * 37 % 100, i};
  const Array<Longest> array(host);
  const Longest* in = array.get();
  Array<Longest> result(1);
  Longest* out = result.get();
  const i64 count = 500;
  // [reduce]
  coalesce::reduce(in, count, out, longer(), Longest{-1, -1});
  // [end]
  EXPECT(result.first().length == 99 && result.first().begin == 27, "an operation of one's own");
}

void ragged() {
  const Array<float> array(ramp(10));
  const float* in = array.get();
  const Array<int> borders(std::vector<int>{0, 3, 3, 10});
  const int* offsets = borders.get();
  Array<float> sums(3);
  // [segments]
  // Three segments: elements 0 to 2, none, elements 3 to 9. `offsets` is in device memory and has 4 entries.
  coalesce::sum(in, offsets, 3, sums.get());
  // [end]
  EXPECT(sums.download() == (std::vector<float>{3, 0, 42}), "segments");
}

void nan() {
  std::vector<float> host = ramp(100);
  host[7] = std::strtof("nan", nullptr);
  const Array<float> array(host);
  const float* in = array.get();
  Array<float> results(2);
  const i64 count = 100;
  float *plain = results.get(), *without = results.get() + 1;
  // [nan]
  coalesce::max(in, count, plain);                  // NaN if there is one
  coalesce::nan_ignoring::max(in, count, without);  // of the others
  // [end]
  EXPECT(results.download()[0] != results.download()[0] && results.download()[1] == 99, "NaN");
}

void refused() {
  const Array<float> array(ramp(10));
  const float* in = array.get();
  float* out = nullptr;
  // [status]
  const coalesce::status done = coalesce::sum(in, 10, out);
  if (!done) std::printf("%s\n", done.message());  // out is null: pass device memory for one value per result
  // [end]
  EXPECT(!done, "a null out");
}

void graph() {
  const i64 count = 5000;
  const Array<float> array(ramp(count));
  const float* in = array.get();
  Array<float> results(1);
  float* out = results.get();
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  // [workspace]
  coalesce::workspace work;  // otherwise each stream has one of its own
  coalesce::sum(in, count, out, stream, &work);
  // [end]
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(results.first() == 247500, "a workspace");
  CHECK(cudaStreamDestroy(stream));
}

void moving() {
  const i64 rows = 20, columns = 50;
  const Array<float> array(ramp(rows * columns));
  const float* in = array.get();
  Array<float> turned(rows * columns);
  float* out = turned.get();
  // [moving]
  coalesce::transpose(in, out, rows, columns);  // out[c * rows + r] = in[r * columns + c]
  coalesce::reverse(in, rows * columns, out);   // the last element first
  const i64 pitch = columns * 4;                // bytes from one row to the next
  coalesce::copy(in, pitch, out, pitch, rows, columns - 10);
  // [end]
  EXPECT(turned.download()[1] == 1, "moving");
}

// [kernel]
struct plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
// One block of 256 threads: the sum of 256 numbers at `total`, those of each warp at `of_warps`.
__global__ void sums_of_a_block(const float* in, float* of_warps, float* total) {
  const float mine = in[threadIdx.x];
  const float of_warp = coalesce::warp::reduce(mine, plus());  // all lanes have it
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
  const float of_block = coalesce::block::reduce<256>(mine, plus());
  if (threadIdx.x == 0) *total = of_block;
}
// [end]

void layers() {
  const Array<float> in(ramp(256));
  Array<float> of_warps(8), total(1);
  sums_of_a_block<<<1, 256>>>(in.get(), of_warps.get(), total.get());
  EXPECT(of_warps.download()[0] == 496 && total.first() == 2 * 4950 + 1540, "layers");
}

}  // namespace

int main() {
  plain();
  axes();
  statistics();
  operation();
  ragged();
  nan();
  refused();
  graph();
  moving();
  layers();
  std::puts("examples: ok");
}
