// CUB and Thrust on the same cases: CUB of the toolkit, or of a checkout whose folders are given to nvcc with -I.
//
//   cub [--only REGEX] [--seconds S]
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>

#include <cub/cub.cuh>

#include "grid.h"

#ifndef LIBRARY
#define LIBRARY "cub"
#endif
// Rows of one length without offsets.
#define HAS_FIXED_SEGMENTS (CCCL_MAJOR_VERSION > 3 || (CCCL_MAJOR_VERSION == 3 && CCCL_MINOR_VERSION >= 1))

namespace {

using bench::i64;

// CUB's two calls: how much memory, then the work, which alone is measured.
template <class F>
void measure(bench::Program& program, const bench::Case& c, int areas, void* temporary, std::size_t available,
             const F& call) {
  std::size_t needed = 0;
  CHECK(call(nullptr, needed, 0));
  if (needed > available) {
    std::fprintf(stderr, "%s: %zu bytes of temporary storage\n", bench::name_of(c).c_str(), needed);
    return;
  }
  program.measure(c, areas, [&](int area) {
    std::size_t bytes = needed;
    CHECK(call(temporary, bytes, area));
  });
}

// The type in which sums are accumulated, the same as this library's.
template <class T>
struct wide {
  using type = T;
};
template <>
struct wide<signed char> {
  using type = i64;
};
template <>
struct wide<__half> {
  using type = float;
};
template <class T>
struct widen {
  __host__ __device__ typename wide<T>::type operator()(T x) const { return static_cast<typename wide<T>::type>(x); }
};

template <class T>
void flat(bench::Program& program, bench::Program& thrust_program, const char* type, void* memory, void* out,
          void* temporary, std::size_t available) {
  const T* in = bench::data<T>(memory, bench::kLargest / static_cast<i64>(sizeof(T)));
  const cudaStream_t stream = program.stream();
  for (const bench::Case& c : bench::flat_cases(type, sizeof(T), {"sum", "max", "argmax"})) {
    const i64 count = c.bytes / static_cast<i64>(sizeof(T));
    const int areas = static_cast<int>(std::max<i64>(1, std::min<i64>(32, bench::kLargest / (c.bytes + 64))));
    const i64 apart = bench::kLargest / areas / static_cast<i64>(sizeof(T));
    const auto at = [&](int area) { return in + area * apart + c.offset; };
    if (program.wants(c)) {
      if (c.op == "sum") {
        using sum = typename wide<T>::type;
        measure(program, c, areas, temporary, available, [&](void* t, std::size_t& b, int area) {
          if constexpr (std::is_same_v<sum, T>) {
            return cub::DeviceReduce::Sum(t, b, at(area), static_cast<T*>(out), count, stream);
          } else {
            return cub::DeviceReduce::TransformReduce(t, b, at(area), static_cast<sum*>(out), count,
                                                      ::cuda::std::plus<>{}, widen<T>{}, sum(0), stream);
          }
        });
      } else if (c.op == "max") {
        measure(program, c, areas, temporary, available, [&](void* t, std::size_t& b, int area) {
          return cub::DeviceReduce::Max(t, b, at(area), static_cast<T*>(out), count, stream);
        });
      } else {
        measure(program, c, areas, temporary, available, [&](void* t, std::size_t& b, int area) {
          return cub::DeviceReduce::ArgMax(t, b, at(area), static_cast<T*>(out), static_cast<i64*>(out) + 1, count,
                                           stream);
        });
      }
    }
    // Thrust returns the result to the host, so every call waits: no graph.
    if constexpr (std::is_same_v<T, float>) {
      if (c.op == "sum" && thrust_program.wants(c)) {
        thrust_program.measure_waiting(c, [&](int area) {
          volatile float result =
              thrust::reduce(thrust::cuda::par.on(thrust_program.stream()), at(area), at(area) + count);
          (void)result;
        });
      }
    }
  }
}

struct times {
  i64 length;
  __host__ __device__ i64 operator()(i64 i) const { return i * length; }
};

void matrix(bench::Program& program, void* memory, void* out, void* temporary, std::size_t available) {
  const float* in = bench::data<float>(memory, i64{1} << 28);
  const cudaStream_t stream = program.stream();
  const auto list = bench::matrices();
  std::size_t index = 0;
  for (const bench::Case& c : bench::matrix_cases({"sum", "max", "argmin"}, "1")) {
    const bench::Matrix m = list[index++ % list.size()];
    if (!program.wants(c)) continue;
    const auto begin = thrust::make_transform_iterator(thrust::make_counting_iterator<i64>(0), times{m.columns});
    measure(program, c, 1, temporary, available, [&](void* t, std::size_t& b, int) {
#if HAS_FIXED_SEGMENTS
      const int length = static_cast<int>(m.columns);
      if (c.op == "sum")
        return cub::DeviceSegmentedReduce::Sum(t, b, in, static_cast<float*>(out), m.rows, length, stream);
      if (c.op == "max")
        return cub::DeviceSegmentedReduce::Max(t, b, in, static_cast<float*>(out), m.rows, length, stream);
      return cub::DeviceSegmentedReduce::ArgMin(t, b, in, static_cast<::cuda::std::pair<int, float>*>(out), m.rows,
                                                length, stream);
#else
      if (c.op == "sum") return cub::DeviceSegmentedReduce::Sum(t, b, in, static_cast<float*>(out), m.rows, begin, begin + 1, stream);
      if (c.op == "max") return cub::DeviceSegmentedReduce::Max(t, b, in, static_cast<float*>(out), m.rows, begin, begin + 1, stream);
      return cub::DeviceSegmentedReduce::ArgMin(t, b, in, static_cast<cub::KeyValuePair<int, float>*>(out), m.rows, begin, begin + 1, stream);
#endif
    });
    (void)begin;
  }
}

// Sum: what sums are written as.
template <class T, class Sum>
void ragged(bench::Program& program, const char* type, void* memory, void* out, void* temporary,
            std::size_t available) {
  const T* in = bench::data<T>(memory, (i64{1} << 28) + (1 << 20));
  for (const char* kind : bench::ragged_kinds()) {
    const std::vector<i64> offsets64 = bench::ragged(kind);
    const std::vector<int> offsets(offsets64.begin(), offsets64.end());
    int* device = nullptr;
    CHECK(cudaMalloc(&device, offsets.size() * sizeof(int)));
    CHECK(cudaMemcpy(device, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice));
    const i64 segments = static_cast<i64>(offsets.size()) - 1;
    for (const char* op : {"sum", "max"}) {
      const bench::Case c = bench::ragged_case(type, op, kind, offsets64);
      if (!program.wants(c)) continue;
      measure(program, c, 1, temporary, available, [&](void* t, std::size_t& b, int) {
        if (c.op == "sum")
          return cub::DeviceSegmentedReduce::Sum(t, b, in, static_cast<Sum*>(out), segments, device, device + 1,
                                                 program.stream());
        return cub::DeviceSegmentedReduce::Max(t, b, in, static_cast<T*>(out), segments, device, device + 1,
                                               program.stream());
      });
    }
    CHECK(cudaFree(device));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv, LIBRARY), thrust_program(argc, argv, "thrust");
  constexpr std::size_t available = std::size_t{1} << 30;
  void *memory = nullptr, *out = nullptr, *temporary = nullptr;
  CHECK(cudaMalloc(&memory, bench::kLargest + 4096));
  CHECK(cudaMalloc(&out, std::size_t{8} << 28));
  CHECK(cudaMalloc(&temporary, available));
  matrix(program, memory, out, temporary, available);
  ragged<signed char, i64>(program, "int8", memory, out, temporary, available);
  ragged<float, float>(program, "float", memory, out, temporary, available);
  flat<signed char>(program, thrust_program, "int8", memory, out, temporary, available);
  flat<__half>(program, thrust_program, "half", memory, out, temporary, available);
  flat<float>(program, thrust_program, "float", memory, out, temporary, available);
  flat<double>(program, thrust_program, "double", memory, out, temporary, available);
  return program.end();
}
