// Exact sums, statistics and positions over the ranks of an NCCL communicator: the same bits for any number of ranks
// and any split of the data.
//
//   coalesce::exact_accumulator<float> sum;
//   coalesce::nccl::gathering gathered;                     // memory for what the ranks send; kept between calls
//   sum.add(my_part, my_count, stream);                 // or coalesce::summary<float>, which has the extremes, too
//   coalesce::nccl::allreduce(sum, gathered, comm, stream);   // then sum.sum(out, stream) is the same on all ranks
//
//   reproducible   (words: coalesce/reduce.cuh)
//   allreduce      elements, however they are spread over the ranks
//
// The accumulators travel in their stored form (docs/exact.md) by ncclAllGather, and each rank adds them on its device.
// All is asynchronous on the stream; once `gathered` has room (reserve()), calls can be captured into a graph. Destroy
// such graphs before the communicator: ncclCommDestroy waits until they are gone. All ranks pass accumulators of one
// type, as NCCL demands of its own calls. One thread that drives several devices calls gather() for each of them
// between ncclGroupStart and ncclGroupEnd, then add_gathered() for each: within a group NCCL starts nothing, so that
// allreduce() there would add what is not gathered yet.
#pragma once

#include <nccl.h>

#include <atomic>
#include <coalesce/exact.cuh>
#include <coalesce/summary.cuh>

namespace coalesce::nccl {

// Device memory of one call at a time.
class gathering {
 public:
  gathering() = default;
  ~gathering() { cudaFree(data_); }
  gathering(const gathering&) = delete;
  gathering& operator=(const gathering&) = delete;

  // Waits for the device if the memory grows.
  status reserve(std::size_t bytes) {
    if (bytes <= bytes_) return {};
    cudaFree(data_);
    data_ = nullptr;
    bytes_ = 0;
    if (const cudaError_t e = cudaMalloc(&data_, bytes); e != cudaSuccess)
      return {e, "no memory for the accumulators of all ranks"};
    bytes_ = bytes;
    return {};
  }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

namespace detail {

// Errors of NCCL have no cudaError_t of their own.
inline status status_of(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return {};
  return {result == ncclInvalidArgument ? cudaErrorInvalidValue : cudaErrorUnknown, ncclGetErrorString(result)};
}

// As many accumulators of so many bytes as fit in 48 KB of shared memory: a power of two, at most 128.
constexpr int threads_for(std::size_t bytes) {
  int threads = 128;
  while (static_cast<std::size_t>(threads) * bytes > 48 * 1024) threads /= 2;
  return threads;
}
template <class Total>
inline constexpr int fold_threads = threads_for(sizeof(Total));

// The ranks' totals together, in place of this rank's: each thread merges some, then pairs of threads.
template <class Total>
__global__ void add_totals(Total* into, const Total* all, int ranks) {
  __shared__ Total sums[fold_threads<Total>];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  Total sum;
  clear(sum);
  for (int rank = thread; rank < ranks; rank += threads) merge(sum, all[rank]);
  sums[thread] = sum;
  for (int half = threads / 2; half != 0; half /= 2) {
    __syncthreads();
    if (thread < half) merge(sums[thread], sums[thread + half]);
  }
  if (thread == 0) *into = sums[0];
}

template <class Total>
status start_fold(Total* into, const void* all, int ranks, cudaStream_t stream) {
  int threads = 1;
  while (threads < ranks && threads < fold_threads<Total>) threads *= 2;
  add_totals<Total><<<1, threads, 0, stream>>>(into, static_cast<const Total*>(all), ranks);
  return cudaGetLastError();
}

// Loads the fold's kernel on the device in use, once. A first launch loads it, too, but may then wait for what the
// device runs: the gathering, which waits for the other ranks.
template <class Total>
status load_fold() {
  static std::atomic<std::uint64_t> loaded{0};  // devices
  int device = 0;
  if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return e;
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((loaded & bit) != 0) return {};
  cudaFuncAttributes attributes;
  if (const cudaError_t e = cudaFuncGetAttributes(&attributes, add_totals<Total>); e != cudaSuccess) return e;
  loaded |= bit;
  return {};
}

}  // namespace detail

// Bytes that one accumulator of every rank needs in `gathered`.
template <class Accumulator>
std::size_t gathered_bytes(const Accumulator&, int ranks) {
  return sizeof(typename Accumulator::total) * static_cast<std::size_t>(ranks);
}

// The first half of allreduce(): `gathered` gets the accumulators of all ranks. Collective.
template <class Accumulator>
status gather(const Accumulator& mine, gathering& gathered, ncclComm_t comm, cudaStream_t stream = nullptr) {
  using total = typename Accumulator::total;
  if (const status s = mine.error(); !s) return s;
  int ranks = 0;
  if (const status s = detail::status_of(ncclCommCount(comm, &ranks)); !s) return s;
  if (const status s = gathered.reserve(gathered_bytes(mine, ranks)); !s) return s;
  if (const status s = detail::load_fold<total>(); !s) return s;
  return detail::status_of(ncclAllGather(mine.data(), gathered.data(), sizeof(total), ncclUint8, comm, stream));
}
// The second half: `mine` becomes the sum of what gather() got, on its stream. The device in use is this rank's.
template <class Accumulator>
status add_gathered(Accumulator& mine, const gathering& gathered, ncclComm_t comm, cudaStream_t stream = nullptr) {
  if (const status s = mine.error(); !s) return s;
  int ranks = 0;
  if (const status s = detail::status_of(ncclCommCount(comm, &ranks)); !s) return s;
  if (gathered.bytes() < gathered_bytes(mine, ranks))
    return {cudaErrorInvalidValue, "nothing was gathered: gather() first"};
  return detail::start_fold(mine.data(), gathered.data(), ranks, stream);
}

// Merges the accumulators of all ranks (coalesce::exact_accumulator or coalesce::summary); each rank's becomes the
// whole. Collective.
template <class Accumulator>
status allreduce(Accumulator& mine, gathering& gathered, ncclComm_t comm, cudaStream_t stream = nullptr) {
  if (const status s = gather(mine, gathered, comm, stream); !s) return s;
  return add_gathered(mine, gathered, comm, stream);
}

}  // namespace coalesce::nccl
