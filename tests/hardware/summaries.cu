// Statistics over the GPUs of one host: coalesce::summary and coalesce::nccl::allreduce. Prints a JSON object a line:
// the time for each number of GPUs and each split of the data, as calls and as a graph; ends with 1 where the
// statistics are not those of a loop over the elements on the CPU. tests/hardware/scale_page.py makes the page.
//
//   nvcc -std=c++20 -O3 -arch=native -Iinclude tests/hardware/summaries.cu -lnccl -o summaries && ./summaries
#include <nccl.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <coalesce/nccl.cuh>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "must.cuh"

namespace {

// Whole numbers below 2^24, so that __int128 holds the sums. The quotients are rounded in two steps, by way of 64 bits
// with a bit for what lies below.
template <class Real>
Real quotient(__int128 numerator, __int128 denominator) {
  const bool negative = numerator < 0;
  auto rest = static_cast<unsigned __int128>(negative ? -numerator : numerator);
  const auto by = static_cast<unsigned __int128>(denominator);
  int up = 0;
  for (; rest / by < (static_cast<unsigned __int128>(1) << 61) && rest >> 126 == 0; ++up) rest <<= 1;
  const auto whole = static_cast<std::uint64_t>(rest / by);
  const Real result = std::ldexp(static_cast<Real>(whole | (rest % by != 0)), -up);
  return negative ? -result : result;
}

template <class T>
coalesce::statistics<T> wanted(const std::vector<T>& x) {
  using real = decltype(coalesce::statistics<T>::mean);
  __int128 sum = 0, squares = 0;
  coalesce::statistics<T> all{static_cast<std::int64_t>(x.size()), x[0], x[0], 0, 0, 0, 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<std::int64_t>(x[i]);
    sum += value;
    squares += value * value;
    if (x[i] < all.min) all.min = x[i], all.argmin = static_cast<std::int64_t>(i);
    if (x[i] > all.max) all.max = x[i], all.argmax = static_cast<std::int64_t>(i);
  }
  const auto n = static_cast<__int128>(x.size());
  all.mean = quotient<real>(sum, n);
  all.variance = quotient<real>(n * squares - sum * sum, n * n);
  return all;
}

template <class T>
bool is_right(const coalesce::statistics<T>& got, const coalesce::statistics<T>& right) {
  return got.count == right.count && got.min == right.min && got.max == right.max && got.mean == right.mean &&
         got.variance == right.variance && got.argmin == right.argmin && got.argmax == right.argmax;
}

struct timing {
  double calls, graph;
};

double median(std::vector<float> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The slowest rank's medians, in microseconds.
template <class T>
timing measure(const std::vector<T>& x, const std::vector<std::int64_t>& borders, std::vector<ncclComm_t>& comms,
               const coalesce::statistics<T>& right, bool& same) {
  const int ranks = static_cast<int>(comms.size());
  std::barrier together(ranks);
  std::vector<timing> times(ranks);
  std::vector<char> good(ranks, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      CHECK(cudaSetDevice(rank));
      const std::int64_t first = borders[rank], count = borders[rank + 1] - first;
      T* in;
      coalesce::statistics<T>*out, got;
      CHECK(cudaMalloc(&in, std::max<std::int64_t>(count, 1) * sizeof(T)));
      CHECK(cudaMalloc(&out, sizeof(got)));
      CHECK(cudaMemcpy(in, x.data() + first, count * sizeof(T), cudaMemcpyHostToDevice));
      cudaStream_t stream;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      coalesce::summary<T> all;
      coalesce::nccl::gathering gathered;
      OK(gathered.reserve(coalesce::nccl::gathered_bytes(all, ranks)));
      const auto call = [&] {
        OK(all.reset(stream));
        OK(all.add(in, count, first, stream));
        OK(coalesce::nccl::allreduce(all, gathered, comms[rank], stream));
        OK(all.read(out, stream));
      };
      const auto fetched_is_right = [&] {
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(out, 0, sizeof(got)));
        return is_right(got, right);
      };
      call();
      good[rank] = fetched_is_right();
      cudaGraph_t graph;
      cudaGraphExec_t ready;
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      call();
      CHECK(cudaStreamEndCapture(stream, &graph));
      CHECK(cudaGraphInstantiate(&ready, graph, 0));
      const auto rounds = [&](auto work) {
        cudaEvent_t begin, end;
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
        std::vector<float> found;
        for (int round = -1; round < 5; ++round) {  // the first is not counted
          CHECK(cudaStreamSynchronize(stream));
          together.arrive_and_wait();
          CHECK(cudaEventRecord(begin, stream));
          for (int i = 0; i < 20; ++i) work();
          CHECK(cudaEventRecord(end, stream));
          CHECK(cudaEventSynchronize(end));
          float milliseconds;
          CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
          if (round >= 0) found.push_back(milliseconds * 50);
        }
        return median(found);
      };
      times[rank].calls = rounds(call);
      times[rank].graph = rounds([&] { CHECK(cudaGraphLaunch(ready, stream)); });
      good[rank] = good[rank] && fetched_is_right();
      CHECK(cudaGraphExecDestroy(ready));  // ncclCommDestroy waits for graphs
      CHECK(cudaGraphDestroy(graph));
      CHECK(cudaFree(in));
      CHECK(cudaFree(out));
      CHECK(cudaStreamDestroy(stream));
    });
  for (std::thread& one : threads) one.join();
  timing slowest{0, 0};
  for (int rank = 0; rank < ranks; ++rank) {
    same = same && good[rank];
    slowest.calls = std::max(slowest.calls, times[rank].calls);
    slowest.graph = std::max(slowest.graph, times[rank].graph);
  }
  return slowest;
}

// The same by one thread for all devices.
template <class T>
bool in_one_thread(const std::vector<T>& x, const std::vector<std::int64_t>& borders, std::vector<ncclComm_t>& comms,
                   const coalesce::statistics<T>& right) {
  struct one {
    coalesce::summary<T> all;
    coalesce::nccl::gathering gathered;
  };
  const int ranks = static_cast<int>(comms.size());
  std::vector<std::unique_ptr<one>> of(ranks);
  std::vector<T*> in(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK(cudaSetDevice(rank));
    const std::int64_t first = borders[rank], count = borders[rank + 1] - first;
    CHECK(cudaMalloc(&in[rank], count * sizeof(T)));
    CHECK(cudaMemcpy(in[rank], x.data() + first, count * sizeof(T), cudaMemcpyHostToDevice));
    of[rank] = std::make_unique<one>();
    OK(of[rank]->all.add(in[rank], count, first));
  }
  CHECK(ncclGroupStart());
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK(cudaSetDevice(rank));
    OK(coalesce::nccl::gather(of[rank]->all, of[rank]->gathered, comms[rank]));
  }
  CHECK(ncclGroupEnd());
  bool same = true;
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK(cudaSetDevice(rank));
    coalesce::statistics<T>*out, got;
    CHECK(cudaMalloc(&out, sizeof(got)));
    OK(coalesce::nccl::add_gathered(of[rank]->all, of[rank]->gathered, comms[rank]));
    OK(of[rank]->all.read(out));
    CHECK(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
    same = same && is_right(got, right);
    of[rank] = nullptr;
    CHECK(cudaFree(in[rank]));
    CHECK(cudaFree(out));
  }
  return same;
}

template <class T>
bool check(const char* type, int devices) {
  bool right = true;
  for (const std::int64_t elements : {std::int64_t{1} << 16, std::int64_t{1} << 27}) {
    std::vector<T> x(static_cast<std::size_t>(elements));
    std::uint64_t state = 88172645463325252ull;
    for (T& one : x) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      one = static_cast<T>((static_cast<std::int64_t>(state & 0xffffff) - 0x7fffff) / 2);
    }
    const coalesce::statistics<T> all = wanted(x);
    for (int ranks = 1; ranks <= devices; ranks *= 2) {
      std::vector<ncclComm_t> comms(ranks);
      CHECK(ncclCommInitAll(comms.data(), ranks, nullptr));
      for (const bool even : {true, false}) {
        if (ranks == 1 && !even) continue;
        std::vector<std::int64_t> borders;
        for (int rank = 0; rank <= ranks; ++rank)
          borders.push_back(even || rank == 0 || rank == ranks ? elements * rank / ranks
                                                               : elements * (2 * rank - 1) / (2 * ranks) + 7);
        bool same = in_one_thread(x, borders, comms, all);
        const timing took = measure(x, borders, comms, all, same);
        right = right && same;
        std::printf(
            "{\"what\":\"summary\",\"type\":\"%s\",\"count\":%lld,\"ranks\":%d,\"even\":%s,\"same\":%s,\"us\":%.1f,"
            "\"graph_us\":%.1f}\n",
            type, static_cast<long long>(elements), ranks, even ? "true" : "false", same ? "true" : "false", took.calls,
            took.graph);
        std::fflush(stdout);
      }
      for (ncclComm_t comm : comms) CHECK(ncclCommDestroy(comm));
    }
  }
  return right;
}

}  // namespace

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("{\"what\":\"devices\",\"name\":\"%s\",\"count\":%d}\n", properties.name, devices);
  const bool floats = check<float>("float", devices), integers = check<std::int32_t>("int32", devices);
  return floats && integers ? 0 : 1;
}
