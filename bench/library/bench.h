// Measuring, and the line of JSON for each figure, for every program here. CUDA C++17; no library.
//
//   eager   calls one after the other, from the host, on the same data: what a caller waits for (what fits is in L2)
//   graph   the same calls in a graph: the device's time, without the host's
//   cold    a graph of calls on data that lies apart, after L2 was filled with other data
//
// Before a case the program reads much other memory. Otherwise lines written by a fill or a `cold` case stay in L2,
// which evicts clean lines first, and leave less room for the data (16 MB then take 4 to 15 % longer).
//
// A figure is the median of `repeats` measurements of enough calls to last at least 200 us. Where one call lasts that
// long the three modes are equal, and only `eager` is measured, call by call.
//
// eager.cu measures small arrays eagerly once more, all libraries in turns: the host dominates there, and a busy host
// slows all of them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#define CHECK(call)                                                                                   \
  do {                                                                                                \
    const cudaError_t error_ = (call);                                                                \
    if (error_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                                   \
    }                                                                                                 \
  } while (0)

namespace bench {

using i64 = std::int64_t;

// Everything that a figure is of. `shape`: extents with 'x' between them; `axes`: which are reduced.
struct Case {
  std::string part, op, type, shape, axes;
  i64 bytes;       // that must be read and written
  int offset = 0;  // elements from an aligned address
};

inline std::string name_of(const Case& c) {
  return c.part + "/" + c.op + "/" + c.type + "/" + c.shape + (c.axes.empty() ? "" : "/axis" + c.axes) +
         (c.offset ? "/offset" : "");
}

// Reads all of it.
static __global__ void read_all(const uint4* data, i64 count, unsigned int* never) {
  unsigned int seen = 0;
  for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<i64>(gridDim.x) * blockDim.x) {
    const uint4 four = data[i];
    seen |= four.x ^ four.y ^ four.z ^ four.w;
  }
  if (seen == 0x9e3779b9u) *never = seen;  // so that the loads are not left out
}

// Command line: [--only REGEX] [--seconds S]. After so many seconds cases are left out, and it says how many.
class Program {
 public:
  Program(int argc, char** argv, const char* library) : library_(library) {
    for (int i = 1; i + 1 < argc; i += 2) {
      if (!std::strcmp(argv[i], "--only")) only_ = std::regex(argv[i + 1]);
      if (!std::strcmp(argv[i], "--seconds")) seconds_ = std::atof(argv[i + 1]);
    }
    CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begin_));
    CHECK(cudaEventCreate(&end_));
    CHECK(cudaMalloc(&other_, kOther));
    CHECK(cudaMalloc(&unwritten_, kOther));
  }

  cudaStream_t stream() const { return stream_; }
  bool wants(const Case& c) {
    if (!std::regex_search(name_of(c), only_)) return false;
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (passed < seconds_) return true;
    ++left_out_;
    return false;
  }

  // call(i): starts the work on stream(), on the i-th of `areas` places of the data.
  template <class F>
  void measure(const Case& c, int areas, const F& call, const char* library = nullptr) {
    for (int i = 0; i < 16; ++i) {
      read_all<<<1024, 256, 0, stream_>>>(static_cast<const uint4*>(unwritten_), kOther / sizeof(uint4),
                                          static_cast<unsigned int*>(other_));
    }
    call(0);
    CHECK(cudaStreamSynchronize(stream_));
    CHECK(cudaGetLastError());
    const double once = one_by_one(call, 3);
    if (once > 200e-6) {
      report(c, "eager", once > 5e-3 ? once : one_by_one(call, 9), library);  // slow ones would take minutes
      return;
    }
    const int calls = std::min(200, static_cast<int>(200e-6 / once) + 10);
    report(c, "eager", median([&] {
                         for (int i = 0; i < calls; ++i) call(0);
                       }) / calls,
           library);
    report(c, "graph", graph(calls, [&](int) { call(0); }, false), library);
    const int apart = std::min(areas, 32);
    report(c, "cold", graph(apart, [&](int i) { call(i); }, true), library);
  }

  // The same for calls that wait for their result themselves: by the host's clock, and neither graph nor cold.
  template <class F>
  void measure_waiting(const Case& c, const F& call) {
    call(0);
    std::vector<double> seconds;
    for (int r = 0; r < 15; ++r) {
      const auto begin = std::chrono::steady_clock::now();
      call(0);
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + 7, seconds.end());
    report(c, "eager", seconds[7]);
  }

  // Eagerly and in turns, a line for each of several libraries.
  struct Contender {
    const char* library;
    std::function<void()> call;
  };
  void measure_in_turns(const Case& c, const std::vector<Contender>& all) {
    constexpr int turns = 31, calls = 50;
    std::vector<std::vector<double>> seconds(all.size());
    for (int turn = -1; turn < turns; ++turn) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double all_calls = median(
            [&] {
              for (int k = 0; k < calls; ++k) all[i].call();
            },
            1);
        if (turn >= 0) seconds[i].push_back(all_calls / calls);
      }
    }
    CHECK(cudaGetLastError());
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::nth_element(seconds[i].begin(), seconds[i].begin() + turns / 2, seconds[i].end());
      report(c, "eager", seconds[i][turns / 2], all[i].library);
    }
  }

  int end() const {
    if (left_out_) std::fprintf(stderr, "%s: %d cases left out after %g seconds\n", library_, left_out_, seconds_);
    return 0;
  }

 private:
  static constexpr std::size_t kOther = std::size_t{256} << 20;

  double between_events() const {
    CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }
  template <class F>
  double median(const F& work, int repeats = 7) const {
    std::vector<double> seconds;
    for (int r = 0; r < repeats; ++r) {
      CHECK(cudaEventRecord(begin_, stream_));
      work();
      CHECK(cudaEventRecord(end_, stream_));
      seconds.push_back(between_events());
    }
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    return seconds[repeats / 2];
  }
  template <class F>
  double one_by_one(const F& call, int repeats) const {
    return median([&] { call(0); }, repeats);
  }
  // Seconds per call, or -1 where the library cannot be captured.
  template <class F>
  double graph(int calls, const F& call, bool cold) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < calls; ++i) call(i);
    if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess || !graph) {
      cudaGetLastError();
      return -1;
    }
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream_));
    std::vector<double> seconds;
    for (int r = 0; r < 7; ++r) {
      if (cold) CHECK(cudaMemsetAsync(other_, r, kOther, stream_));
      CHECK(cudaEventRecord(begin_, stream_));
      CHECK(cudaGraphLaunch(executable, stream_));
      CHECK(cudaEventRecord(end_, stream_));
      seconds.push_back(between_events());
    }
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
    return seconds[3] / calls;
  }
  void report(const Case& c, const char* mode, double seconds, const char* library = nullptr) const {
    if (seconds < 0) return;
    std::printf(
        "{\"library\": \"%s\", \"part\": \"%s\", \"op\": \"%s\", \"type\": \"%s\", \"shape\": \"%s\", \"axes\": "
        "\"%s\", "
        "\"offset\": %d, \"bytes\": %lld, \"mode\": \"%s\", \"seconds\": %.4g}\n",
        library ? library : library_, c.part.c_str(), c.op.c_str(), c.type.c_str(), c.shape.c_str(), c.axes.c_str(),
        c.offset, static_cast<long long>(c.bytes), mode, seconds);
    std::fflush(stdout);
  }

  const char* library_;
  std::regex only_{""};
  double seconds_ = 1e9;
  int left_out_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  void *other_ = nullptr, *unwritten_ = nullptr;
};

// Finite numbers of both signs, different everywhere.
template <class T>
__global__ void fill(T* data, i64 count) {
  for (i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<i64>(gridDim.x) * blockDim.x) {
    unsigned int x = static_cast<unsigned int>(i) * 2654435761u;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    data[i] =
        static_cast<T>(static_cast<float>(static_cast<int>(x & 0xff) - 128) * (sizeof(T) == 1 ? 1.0f : 0.0078125f));
  }
}

template <class T>
T* data(void* memory, i64 count) {
  fill<<<2048, 256>>>(static_cast<T*>(memory), count);
  CHECK(cudaDeviceSynchronize());
  return static_cast<T*>(memory);
}

}  // namespace bench
