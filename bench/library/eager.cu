// Small arrays called eagerly: this library, CUB of the toolkit and an empty kernel in turns, so that what else the
// host does meanwhile meets all of them alike. Their lines take the place of those that other programs wrote before.
//
//   eager [--only REGEX] [--seconds S]
//
// Built for each element type: -DTYPE=half.
#include <coalesce/reduce.cuh>
#include <cub/cub.cuh>

#include "element.h"
#include "grid.h"

namespace {

using bench::i64;
using wide = std::conditional_t<std::is_same_v<T, int8>, i64, std::conditional_t<std::is_same_v<T, half>, float, T>>;
constexpr i64 kLeast = i64{1} << 16, kMost = i64{1} << 22;

template <class To>
struct widen {
  __host__ __device__ To operator()(T x) const { return static_cast<To>(x); }
};

// A parameter as large as that of a sum's kernel, so that the launch costs as much.
struct nothing {
  unsigned char bytes[64];
};
__global__ void empty(nothing) {}

// Starts an empty kernel: early as this library does, else like `<<<>>>`.
void launch_empty(cudaStream_t stream, bool early) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(132);
  config.blockDim = dim3(128);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  CHECK(cudaLaunchKernelEx(&config, empty, nothing{}));
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv, "eager");
  const cudaStream_t stream = program.stream();
  constexpr std::size_t kTemporary = std::size_t{16} << 20;
  void *memory = nullptr, *out = nullptr, *temporary = nullptr;
  CHECK(cudaMalloc(&memory, kMost));
  CHECK(cudaMalloc(&out, 64));
  CHECK(cudaMalloc(&temporary, kTemporary));
  const T* in = bench::data<T>(memory, kMost / static_cast<i64>(sizeof(T)));
  for (const bench::Case& c : bench::flat_cases(TEXT(TYPE), sizeof(T), {"sum", "max", "argmax"})) {
    if (c.bytes < kLeast - 64 || c.bytes > kMost || !program.wants(c)) continue;
    const T* const from = in + c.offset;
    const i64 count = c.bytes / static_cast<i64>(sizeof(T));
    const auto ours = [&] {
      if (c.op == "sum") return right(coalesce::sum(from, count, static_cast<wide*>(out), stream));
      if (c.op == "max") return right(coalesce::max(from, count, static_cast<T*>(out), stream));
      right(coalesce::argmax(from, count, static_cast<i64*>(out), stream));
    };
    const auto cub = [&] {
      std::size_t bytes = kTemporary;
      if (c.op == "max") {
        CHECK(cub::DeviceReduce::Max(temporary, bytes, from, static_cast<T*>(out), count, stream));
      } else if (c.op == "argmax") {
        CHECK(cub::DeviceReduce::ArgMax(temporary, bytes, from, static_cast<T*>(out), static_cast<i64*>(out) + 1, count,
                                        stream));
      } else if constexpr (std::is_same_v<wide, T>) {
        CHECK(cub::DeviceReduce::Sum(temporary, bytes, from, static_cast<T*>(out), count, stream));
      } else {
        CHECK(cub::DeviceReduce::TransformReduce(temporary, bytes, from, static_cast<wide*>(out), count,
                                                 ::cuda::std::plus<>{}, widen<wide>{}, wide(0), stream));
      }
    };
    program.measure_in_turns(c, {{"coalesce", ours},
                                 {"cub", cub},
                                 {"empty kernel", [&] { launch_empty(stream, true); }},
                                 {"empty kernel <<<>>>", [&] { launch_empty(stream, false); }}});
  }
  return program.end();
}
