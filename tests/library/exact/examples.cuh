// The examples of docs/exact.md and README.md: `./dev docs` quotes what stands between `// [name]` and `// [end]`.
// device.cu runs them for elements of type float.
#pragma once

#include <coalesce/exact.cuh>
#include <coalesce/host/exact.hpp>
#include <coalesce/reduce.cuh>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace examples {

// Device memory for `count` values, from `values` if there are any.
template <class T>
class array {
 public:
  explicit array(std::size_t count, const std::vector<T>& values = {}) : count_(count) {
    if (cudaMalloc(&memory_, count * sizeof(T)) != cudaSuccess ||
        cudaMemcpy(memory_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) {
      std::printf("no device memory\n");
      std::exit(1);
    }
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { cudaFree(memory_); }
  T* get() const { return memory_; }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    cudaMemcpy(values.data(), memory_, count_ * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  T* memory_ = nullptr;
  std::size_t count_;
};

template <class T>
bool same(T a, T b, const char* what) {
  const bool equal = std::memcmp(&a, &b, sizeof(T)) == 0;
  if (!equal) std::printf("examples: %s is wrong\n", what);
  return equal;
}

// 30 x 40 numbers that no float sum adds without rounding. The result: how many examples are wrong.
template <class T>
int run() {
  constexpr std::int64_t rows = 30, columns = 40, count = rows * columns;
  std::vector<T> numbers(count);
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = static_cast<T>(i % 100) / 7 + (i == 2 ? T(1e6) : T(0));
  const T* data = numbers.data();
  const array<T> a_array(count, numbers), result(1), sums(columns);
  const array<std::int64_t> begins(2, {0, count}), results(rows);
  const T *in = a_array.get(), *a = in, *b = in, *part = in;
  const std::int64_t* offsets = begins.get();
  T* out = result.get();
  cudaStream_t stream = nullptr;
  // [host]
  double total = coalesce::host::exact_sum(data, count);  // #include <coalesce/host/exact.hpp>
  // [end]
  const T exact = static_cast<T>(total);
  int wrong = 0;
  std::int64_t* places = results.get();
  {
    // [readme]
    coalesce::sum(in, count, out);                                       // device pointers; one launch
    coalesce::argmax(coalesce::view(in, {rows, columns}), {1}, places);  // any axes of any strided array
    coalesce::exact_sum(in, count, out);                                 // rounded once; the same bits everywhere
    // [end]
    wrong += !same(result.read()[0], exact, "exact_sum");
    wrong += !same(results.read()[0], std::int64_t{2}, "argmax");
  }
  {
    const std::int64_t segments = 1;
    T* column_sums = sums.get();
    // [calls]
    coalesce::exact_sum(in, count, out);  // one array; out: device memory
    coalesce::exact_sum(coalesce::view(in, {rows, columns}), {0}, column_sums, stream);  // over any axes
    coalesce::exact_sum(in, offsets, segments, out, stream);                             // ragged segments
    coalesce::exact_dot(a, b, count, out);                                               // products are not rounded
    // [end]
    std::vector<T> column(rows);
    for (std::int64_t r = 0; r < rows; ++r) column[r] = numbers[r * columns];
    wrong += !same(sums.read()[0], static_cast<T>(coalesce::host::exact_sum(column.data(), rows)), "a column");
    wrong += !same(result.read()[0], static_cast<T>(coalesce::host::exact_dot(data, data, count)), "exact_dot");
  }
  {
    coalesce::exact_accumulator<float> other;
    // [accumulator]
    coalesce::exact_accumulator<float> sum;  // device memory; asynchronous on a stream
    sum.add(part, count, stream);            // any ranges, in any order
    sum.merge(other, stream);                // associative and commutative
    sum.sum(out, stream);                    // float*, double*, ...
    coalesce::exact_accumulator<float>::total bytes;
    sum.store(bytes);  // to the host: bytes to keep, send, compare
    // [end]
    wrong += !same(result.read()[0], exact, "an accumulator");
  }
  return wrong;
}

}  // namespace examples
