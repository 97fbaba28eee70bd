// coalesce::streamed: whatever the source, every element reaches the consumer once and in order, and exact sums have
// the bits of one call over the whole array. The oracle is the host's exact_accumulator.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coalesce/exact.cuh>
#include <coalesce/host/exact.hpp>
#include <coalesce/streamed.cuh>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../check.h"

struct record {  // an element that is no number
  int key, weight, more;
};

// Adds keys x (position + 1), so that an element at another position is noticed.
__global__ void weigh(const record* in, long long n, long long first, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x)
    mine += static_cast<unsigned long long>(in[i].key) * static_cast<unsigned long long>(first + i + 1);
  atomicAdd(sum, mine);
}

float element(std::int64_t i) { return static_cast<float>((i * 2654435761u) % 1000003) * (i % 3 ? 1e-3f : -1e12f); }

int main() {
  const std::int64_t count = 100003;
  std::vector<float> data(count);
  coalesce::host::exact_accumulator<float> expected;
  for (std::int64_t i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = element(i);
  expected.add(data.data(), data.size());
  float* out = nullptr;
  CHECK(cudaMalloc(&out, sizeof(float)) == cudaSuccess);

  const auto sums = [&](auto&& run) {
    coalesce::exact_accumulator<float> sum;
    std::int64_t next = 0, pieces = 0;
    const coalesce::status s = run([&](const float* piece, std::int64_t n, std::int64_t first, cudaStream_t stream) {
      CHECK(first == next);
      next += n;
      ++pieces;
      return sum.add(piece, n, stream);
    });
    CHECK(s.ok());
    CHECK(next == count);
    CHECK(sum.sum(out).ok());
    float result = 0;
    CHECK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(coalesce::exact::to_bits(result) == coalesce::exact::to_bits(expected.sum()));
    return pieces;
  };

  // Pieces that divide the array and that do not, one piece for all, more slots than pieces; several threads.
  for (const std::size_t elements :
       {std::size_t{100003}, std::size_t{4096}, std::size_t{33334}, std::size_t{1} << 20}) {
    coalesce::streamed<float> stream({elements * sizeof(float), elements == 4096 ? 2 : 5, 2});
    for (int again = 0; again < 2; ++again) {
      const std::int64_t pieces = sums([&](auto consume) { return stream.run(data.data(), count, consume); });
      CHECK(pieces == (count + static_cast<std::int64_t>(elements) - 1) / static_cast<std::int64_t>(elements));
    }
  }
  // Pinned memory, from where it lies.
  coalesce::streamed<float> small({16384, 3, 1});
  float* pinned = nullptr;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&pinned), data.size() * sizeof(float), 0) == cudaSuccess);
  std::copy(data.begin(), data.end(), pinned);
  sums([&](auto consume) { return small.run(pinned, count, consume); });
  // A mapped file.
  char path[] = "/tmp/coalesce-streamed-XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0);
  unlink(path);
  CHECK(write(file, data.data(), data.size() * sizeof(float)) == static_cast<ssize_t>(data.size() * sizeof(float)));
  void* map = mmap(nullptr, data.size() * sizeof(float), PROT_READ, MAP_PRIVATE, file, 0);
  CHECK(map != MAP_FAILED);
  sums([&](auto consume) { return small.run(static_cast<const float*>(map), count, consume); });
  // A function that gives what it has, never a whole piece.
  std::int64_t given = 0;
  sums([&](auto consume) {
    return small.run_from(
        [&](float* to, std::int64_t room) {
          const std::int64_t n = std::min<std::int64_t>({room, 1000, count - given});
          std::copy(data.begin() + given, data.begin() + given + n, to);
          given += n;
          return n;
        },
        consume);
  });

  // Another element type and a kernel of one's own, on a stream of one's own; the consumer returns nothing.
  std::vector<record> records(10007);
  unsigned long long wanted = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i] = {static_cast<int>(i * 7 % 101), 0, 0};
    wanted += static_cast<unsigned long long>(records[i].key) * (i + 1);
  }
  unsigned long long* total = nullptr;
  unsigned long long weighed = 0;
  CHECK(cudaMalloc(&total, sizeof *total) == cudaSuccess);
  CHECK(cudaMemset(total, 0, sizeof *total) == cudaSuccess);
  cudaStream_t mine = nullptr;
  CHECK(cudaStreamCreate(&mine) == cudaSuccess);
  coalesce::streamed<record> records_stream({1200, 2, 1});
  CHECK(records_stream
            .run(
                records.data(), static_cast<std::int64_t>(records.size()),
                [&](const record* piece, std::int64_t n, std::int64_t first, cudaStream_t stream) {
                  weigh<<<1, 64, 0, stream>>>(piece, n, first, total);
                },
                mine)
            .ok());
  CHECK(cudaStreamSynchronize(mine) == cudaSuccess);
  CHECK(cudaMemcpy(&weighed, total, sizeof weighed, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(weighed == wanted);

  // Arguments that are refused, and what ends a run.
  const auto nothing = [](const float*, std::int64_t, std::int64_t, cudaStream_t) {};
  CHECK(small.run(nullptr, 5, nothing).error() == cudaErrorInvalidValue);
  CHECK(small.run(data.data(), -1, nothing).error() == cudaErrorInvalidValue);
  CHECK(small.run(data.data(), 0, nothing).ok());
  CHECK(small.run(out, 1, nothing).error() == cudaErrorInvalidValue);
  CHECK(coalesce::streamed<float>({1024, 1, 1}).run(data.data(), 5, nothing).error() == cudaErrorInvalidValue);
  int consumed = 0;
  const coalesce::status stopped =
      small.run(data.data(), count, [&](const float*, std::int64_t, std::int64_t, cudaStream_t) {
        return ++consumed == 3 ? coalesce::status(cudaErrorNotSupported) : coalesce::status();
      });
  CHECK(stopped.error() == cudaErrorNotSupported && consumed == 3);
  CHECK(small.run_from([](float*, std::int64_t) { return std::int64_t{-1}; }, nothing).error() == cudaErrorUnknown);
  sums([&](auto consume) { return small.run(data.data(), count, consume); });  // and it goes on afterwards
  // The ring does not fit on the device: an error, and nothing is kept.
  CHECK(coalesce::streamed<float>({std::size_t{1} << 40, 2, 1}).run(data.data(), 5, nothing).error() ==
        cudaErrorMemoryAllocation);
  std::puts("ok");
}
