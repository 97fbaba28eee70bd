// coalesce/nccl.cuh over a fake NCCL: the bits of one process for 1 to 6 ranks, on every rank, also from a graph. The
// oracle is the host's exact_accumulator over the whole array.
#include <algorithm>
#include <coalesce/host/exact.hpp>
#include <coalesce/nccl.cuh>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      std::printf("line %d: %s\n", __LINE__, #condition), std::exit(1); \
    }                                                                   \
  } while (false)

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
  check(elements<double>(false));
  std::puts("ok");
}
