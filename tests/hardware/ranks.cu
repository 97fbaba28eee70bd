// Sums over the GPUs of one host: coalesce::nccl::allreduce beside CUB with ncclAllReduce. Prints a JSON object a line:
// the bits of each sum for each number of GPUs and each split of the data, its error, its time; ends with 1 where our
// bits are not those of the exact sum. tests/hardware/scale_page.py makes the page.
//
//   nvcc -std=c++17 -O3 -arch=native -Iinclude tests/hardware/ranks.cu -lnccl -o ranks && ./ranks
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <coalesce/exact.cuh>
#include <coalesce/nccl.cuh>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/device/device_reduce.cuh>
#include <mutex>
#include <thread>
#include <vector>

#include "must.cuh"

namespace {

// Floats m x 2^e, |m| < 2^24, 0 <= e < 40. 2^27 of them sum to less than 2^91, so __int128 holds the exact sum in units
// of 1: an oracle that shares nothing with the library. Large values cancel, so the order of plain additions shows.
struct numbers {
  std::vector<float> values;
  __int128 sum = 0;
  explicit numbers(std::int64_t count) : values(static_cast<std::size_t>(count)) {
    std::uint64_t x = 88172645463325252ull;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      std::int64_t whole = static_cast<std::int64_t>(x & 0xffffff) << (x >> 24) % 40;
      if (i % 2 != 0) whole = (x >> 60) == 0 ? static_cast<std::int64_t>(x & 0xfff) : -before;
      before = whole;
      values[i] = static_cast<float>(whole);
      sum += whole;
    }
  }
  // Rounded to nearest, ties to even, from the integer alone.
  float rounded() const {
    unsigned __int128 rest = sum < 0 ? -sum : sum;
    int exponent = 0;
    bool sticky = false;
    while (rest >> 26 != 0) {
      sticky |= (rest & 1) != 0;
      rest >>= 1;
      ++exponent;
    }
    // 26 bits and "something below": the conversion of an exact double rounds once.
    const double near = static_cast<double>(static_cast<std::uint64_t>(rest) * 2 + sticky);
    const double scaled = near * 0.5;
    const float result = std::ldexp(static_cast<float>(scaled), exponent);
    return sum < 0 ? -result : result;
  }
};

class meeting {
 public:
  explicit meeting(int count) : count_(count) {}
  void wait() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == count_) {
      here_ = 0;
      ++round_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return round_ != round; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  int count_, here_ = 0, round_ = 0;
};

struct result {
  float sum;
  double microseconds;
};

enum class method { ours, cub_nccl };

// borders[r]: the first element of rank r. The time is the slowest rank's median of 5 rounds of `calls` calls.
result measure(const numbers& data, const std::vector<std::int64_t>& borders, std::vector<ncclComm_t>& comms,
               method how, int calls) {
  const int ranks = static_cast<int>(comms.size());
  meeting together(ranks);
  std::vector<double> times(ranks);
  std::vector<float> sums(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      CHECK(cudaSetDevice(rank));
      const std::int64_t count = borders[rank + 1] - borders[rank];
      float *in, *out;
      CHECK(cudaMalloc(&in, std::max<std::int64_t>(count, 1) * sizeof(float)));
      CHECK(cudaMalloc(&out, sizeof(float)));
      CHECK(cudaMemcpy(in, data.values.data() + borders[rank], count * sizeof(float), cudaMemcpyHostToDevice));
      cudaStream_t stream;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      {
        coalesce::exact_accumulator<float> total, empty;
        coalesce::nccl::gathering gathered;
        OK(gathered.reserve(coalesce::nccl::gathered_bytes(total, ranks)));
        std::size_t bytes = 0;
        void* memory = nullptr;
        CHECK(cub::DeviceReduce::Sum(nullptr, bytes, in, out, static_cast<int>(count), stream));
        CHECK(cudaMalloc(&memory, bytes));
        const auto call = [&] {
          if (how == method::ours) {
            CHECK(cudaMemcpyAsync(total.data(), empty.data(), sizeof(coalesce::exact_accumulator<float>::total),
                                  cudaMemcpyDeviceToDevice, stream));
            OK(total.add(in, count, stream));
            OK(coalesce::nccl::allreduce(total, gathered, comms[rank], stream));
            OK(total.sum(out, stream));
          } else {
            CHECK(cub::DeviceReduce::Sum(memory, bytes, in, out, static_cast<int>(count), stream));
            CHECK(ncclAllReduce(out, out, 1, ncclFloat, ncclSum, comms[rank], stream));
          }
        };
        cudaEvent_t begin, end;
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
        std::vector<float> rounds;
        for (int round = -1; round < 5; ++round) {  // the first is not counted
          CHECK(cudaStreamSynchronize(stream));
          together.wait();
          CHECK(cudaEventRecord(begin, stream));
          for (int i = 0; i < calls; ++i) call();
          CHECK(cudaEventRecord(end, stream));
          CHECK(cudaEventSynchronize(end));
          float milliseconds;
          CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
          if (round >= 0) rounds.push_back(milliseconds);
        }
        std::sort(rounds.begin(), rounds.end());
        times[rank] = rounds[2] * 1e3 / calls;
        CHECK(cudaMemcpy(&sums[rank], out, sizeof(float), cudaMemcpyDeviceToHost));
        CHECK(cudaFree(memory));
      }
      CHECK(cudaFree(in));
      CHECK(cudaFree(out));
      CHECK(cudaStreamDestroy(stream));
    });
  for (std::thread& one : threads) one.join();
  for (int rank = 1; rank < ranks; ++rank)
    if (std::memcmp(&sums[0], &sums[rank], sizeof(float)) != 0)
      std::printf("ranks 0 and %d differ\n", rank), std::exit(1);
  return {sums[0], *std::max_element(times.begin(), times.end())};
}

}  // namespace

int main() {
  int devices = 0, version = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(ncclGetVersion(&version));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("{\"what\":\"devices\",\"name\":\"%s\",\"count\":%d,\"nccl\":%d,\"cub\":%d}\n", properties.name, devices,
              version, CUB_VERSION);
  bool right = true;
  for (const std::int64_t count : {std::int64_t{1} << 16, std::int64_t{1} << 20, std::int64_t{1} << 27}) {
    const numbers data(count);
    const float exact = data.rounded();
    for (int ranks = 1; ranks <= devices; ranks *= 2) {
      std::vector<ncclComm_t> comms(ranks);
      CHECK(ncclCommInitAll(comms.data(), ranks, nullptr));
      for (const bool even : {true, false}) {
        if (ranks == 1 && !even) continue;
        std::vector<std::int64_t> borders;
        for (int rank = 0; rank <= ranks; ++rank)
          borders.push_back(even || rank == 0 || rank == ranks ? count * rank / ranks
                                                               : count * (2 * rank - 1) / (2 * ranks) + 7);
        for (const method how : {method::ours, method::cub_nccl}) {
          const result got = measure(data, borders, comms, how, count > (1 << 24) ? 20 : 100);
          std::uint32_t bits, wanted;
          std::memcpy(&bits, &got.sum, 4);
          std::memcpy(&wanted, &exact, 4);
          if (how == method::ours) right = right && bits == wanted;
          std::printf(
              "{\"what\":\"ranks\",\"method\":\"%s\",\"count\":%lld,\"ranks\":%d,\"even\":%s,\"bits\":\"%08x\","
              "\"exact\":\"%08x\",\"relative_error\":%.3e,\"us\":%.2f}\n",
              how == method::ours ? "coalesce" : "cub+nccl", static_cast<long long>(count), ranks,
              even ? "true" : "false", bits, wanted,
              std::fabs((static_cast<double>(got.sum) - static_cast<double>(data.sum)) / static_cast<double>(data.sum)),
              got.microseconds);
          std::fflush(stdout);
        }
      }
      for (ncclComm_t comm : comms) ncclCommDestroy(comm);
    }
  }
  return right ? 0 : 1;
}
