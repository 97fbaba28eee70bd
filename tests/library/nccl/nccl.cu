// coalesce/nccl.cuh over a fake NCCL: the bits of one process for 1 to 6 ranks, on every rank, also from a graph. The
// oracles are the host's exact_accumulator over the whole array, and integers.
#include <algorithm>
#include <cmath>
#include <coalesce/host/exact.hpp>
#include <coalesce/nccl.cuh>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "../../check.h"

template <class T>
void check(const std::vector<T>& data) {
  using sum_of = coalesce::exact_accumulator<T>;
  coalesce::host::exact_accumulator<T> whole;
  whole.add(data.data(), data.size());
  const auto wanted = coalesce::exact::to_bits(whole.sum());
  T *device = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&device, data.size() * sizeof(T)) == cudaSuccess && cudaMalloc(&out, sizeof(T)) == cudaSuccess);
  CHECK(cudaMemcpy(device, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  const auto count = static_cast<std::int64_t>(data.size());
  for (int ranks = 1; ranks <= 6; ++ranks) {
    // Uneven parts, the last of several with no element.
    std::vector<std::int64_t> borders{0};
    for (int rank = 1; rank < ranks; ++rank) borders.push_back(rank == ranks - 1 ? count : count * rank * rank / 36);
    borders.push_back(count);
    ncclComm comm;
    for (int rank = 0; rank < ranks; ++rank) {
      sum_of part;
      typename sum_of::total stored;
      CHECK(part.add(device + borders[rank], borders[rank + 1] - borders[rank], stream).ok());
      CHECK(part.store(stored, stream).ok());
      const auto* bytes = reinterpret_cast<const unsigned char*>(&stored);
      comm.sent.emplace_back(bytes, bytes + sizeof stored);
    }
    for (comm.rank = 0; comm.rank < ranks; ++comm.rank) {
      sum_of sum;
      coalesce::nccl::gathering gathered;
      const auto all = [&] {
        CHECK(sum.add(device + borders[comm.rank], borders[comm.rank + 1] - borders[comm.rank], stream).ok());
        CHECK(coalesce::nccl::allreduce(sum, gathered, &comm, stream).ok());
        CHECK(sum.sum(out, stream).ok());
      };
      const auto same = [&] {
        T result;
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost) == cudaSuccess);
        return coalesce::exact::to_bits(result) == wanted;
      };
      all();
      CHECK(same());
      comm.answer = ncclInvalidArgument;
      CHECK(coalesce::nccl::allreduce(sum, gathered, &comm, stream).error() == cudaErrorInvalidValue);
      CHECK(same());
      comm.answer = ncclSuccess;
      typename sum_of::total empty;
      coalesce::exact::clear(empty);
      CHECK(sum.load(empty, stream).ok());
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      CHECK(cudaMemset(out, 0, sizeof(T)) == cudaSuccess);
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
      all();
      CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
      CHECK(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
      CHECK(cudaGraphLaunch(ready, stream) == cudaSuccess);
      CHECK(same());
      CHECK(cudaGraphExecDestroy(ready) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    }
    // One thread for all ranks: nothing is gathered before the group's end.
    std::vector<ncclComm> comms(ranks, comm);
    std::vector<sum_of> sums(ranks);
    std::vector<coalesce::nccl::gathering> gathered(ranks);
    CHECK(coalesce::nccl::add_gathered(sums[0], gathered[0], &comms[0], stream).error() == cudaErrorInvalidValue);
    CHECK(ncclGroupStart() == ncclSuccess);
    for (int rank = 0; rank < ranks; ++rank) {
      comms[rank].rank = rank;
      CHECK(sums[rank].add(device + borders[rank], borders[rank + 1] - borders[rank], stream).ok());
      CHECK(coalesce::nccl::gather(sums[rank], gathered[rank], &comms[rank], stream).ok());
    }
    CHECK(ncclGroupEnd() == ncclSuccess);
    for (int rank = 0; rank < ranks; ++rank) {
      T result;
      CHECK(coalesce::nccl::add_gathered(sums[rank], gathered[rank], &comms[rank], stream).ok());
      CHECK(sums[rank].sum(out, stream).ok() && cudaStreamSynchronize(stream) == cudaSuccess);
      CHECK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost) == cudaSuccess);
      CHECK(coalesce::exact::to_bits(result) == wanted);
    }
  }
}

// The nearest R to numerator / denominator, from the integers alone: 62 bits and "something below" are rounded once.
template <class R>
R quotient(unsigned __int128 numerator, unsigned __int128 denominator) {
  int up = 0;
  while (numerator / denominator < (static_cast<unsigned __int128>(1) << 61) && numerator >> 126 == 0)
    numerator <<= 1, ++up;
  const auto whole = static_cast<std::uint64_t>(numerator / denominator);
  return std::ldexp(static_cast<R>(whole | (numerator % denominator != 0)), -up);
}

// Small integers, so that __int128 holds the sums, and everything around them has an independent answer. `away` is
// added to each, which leaves the variance as it is: with it squares of integers need more than 128 bits.
template <class T, class Real>
void check_summary(coalesce::parts_of_summary parts, __int128 away = 0) {
  std::vector<T> data(2003);
  std::vector<std::int64_t> values;
  __int128 sum = 0, squares = 0;
  std::int64_t least = 0, most = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto whole = static_cast<std::int64_t>(i * 2654435761u % 4001) - 1500;
    const std::int64_t value = whole / (sizeof(T) == 1 ? 24 : 16);  // exact, also of 8 bits; some are equal
    if constexpr (std::is_integral_v<T>) {
      data[i] = static_cast<T>(value + away);
      CHECK(static_cast<__int128>(data[i]) == value + away);
    } else {
      data[i] = static_cast<T>(static_cast<float>(value));
      CHECK(static_cast<std::int64_t>(static_cast<float>(data[i])) == value);
    }
    values.push_back(value);
    sum += value;
    squares += value * value;
    if (value < values[least]) least = static_cast<std::int64_t>(i);
    if (value > values[most]) most = static_cast<std::int64_t>(i);
  }
  const auto n = static_cast<std::int64_t>(data.size());
  const Real variance = quotient<Real>(n * squares - sum * sum, n * n);
  sum += n * away;
  const Real mean = sum < 0 ? -quotient<Real>(-sum, n) : quotient<Real>(sum, n);
  T* device = nullptr;
  coalesce::statistics<T>* out = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMalloc(&device, data.size() * sizeof(T)) == cudaSuccess && cudaMalloc(&out, sizeof(*out)) == cudaSuccess);
  CHECK(cudaMemcpy(device, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  for (const int ranks : {1, 2, 5}) {
    std::vector<std::int64_t> borders{0};
    for (int rank = 1; rank < ranks; ++rank) borders.push_back(rank == ranks - 1 ? n : n * rank * rank / 36);
    borders.push_back(n);
    ncclComm comm;
    for (int rank = 0; rank < ranks; ++rank) {
      coalesce::summary<T> part(parts);
      const std::int64_t begin = borders[rank], middle = (begin + borders[rank + 1]) / 2;
      CHECK(part.add(device + middle, borders[rank + 1] - middle, middle, stream).ok());  // in any order
      CHECK(part.add(device + begin, middle - begin, begin, stream).ok());
      comm.sent.emplace_back(sizeof(*part.data()));
      CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
      CHECK(cudaMemcpy(comm.sent.back().data(), part.data(), sizeof(*part.data()), cudaMemcpyDeviceToHost) ==
            cudaSuccess);
    }
    for (comm.rank = 0; comm.rank < ranks; comm.rank += ranks - 1 + (ranks == 1)) {
      coalesce::summary<T> all(parts);
      coalesce::nccl::gathering gathered;
      CHECK(gathered.reserve(coalesce::nccl::gathered_bytes(all, ranks)).ok());
      const auto work = [&] {
        CHECK(all.reset(stream).ok());
        CHECK(all.add(device + borders[comm.rank], borders[comm.rank + 1] - borders[comm.rank], borders[comm.rank],
                      stream)
                  .ok());
        CHECK(coalesce::nccl::allreduce(all, gathered, &comm, stream).ok());
        CHECK(all.read(out, stream).ok());
      };
      const auto right = [&] {
        coalesce::statistics<T> got;
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess);
        CHECK(cudaMemset(out, 0, sizeof got) == cudaSuccess);
        CHECK(got.count == n);
        CHECK(parts.sum ? got.mean == mean : got.mean != got.mean);
        CHECK(parts.sum && parts.squares ? got.variance == variance : got.variance != got.variance);
        CHECK(!parts.extremes || (got.argmin == least && got.argmax == most));
        CHECK(!parts.extremes || (std::memcmp(&got.min, &data[least], sizeof(T)) == 0 &&
                                  std::memcmp(&got.max, &data[most], sizeof(T)) == 0));
        CHECK(parts.extremes || (got.argmin == -1 && got.argmax == -1));
      };
      work();
      right();
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
      work();
      CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
      CHECK(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
      for (int twice = 0; twice < 2; ++twice) {
        CHECK(cudaGraphLaunch(ready, stream) == cudaSuccess);
        right();
      }
      // Merged by hand: nothing changes but the count and the weight.
      coalesce::summary<T> empty(parts);
      CHECK(all.merge(empty, stream).ok());
      CHECK(all.read(out, stream).ok());
      right();
      CHECK(!all.add(device, 1, -1, stream).ok());
    }
  }
}

template <class T>
std::vector<T> elements(bool with_nan) {
  std::vector<T> data(2003);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<T>((i * 2654435761u) % 1000003) * static_cast<T>(i % 3 ? 1e-3 : -1e12);
  if (with_nan) data[1500] = std::numeric_limits<T>::quiet_NaN();
  return data;
}

int main() {
  check(elements<float>(false));
  check(elements<float>(true));
  check_summary<std::int64_t, double>({false, false, true}, 1000 - (static_cast<__int128>(1) << 63));
  check_summary<std::int64_t, double>({}, 1000 - (static_cast<__int128>(1) << 63));
#ifndef FEW_TYPES
  check(elements<double>(false));
  check_summary<float, float>({});
  check_summary<float, float>({true, false, true});
  check_summary<__nv_bfloat16, float>({true, true, false});
  check_summary<std::int8_t, double>({});
  check_summary<double, double>({});
  check_summary<std::uint16_t, double>({}, 65000);
  check_summary<std::int32_t, double>({true, false, false}, -2147480000);
  check_summary<std::uint64_t, double>({}, (static_cast<__int128>(1) << 64) - 1000);
#endif
  std::puts("ok");
}
