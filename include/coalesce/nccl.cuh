// Exact sums over the ranks of an NCCL communicator: the same bits for any number of ranks and any split of the data.
//
//   coalesce::exact_accumulator<float> sum;
//   coalesce::nccl::gathering gathered;                     // memory for what the ranks send; kept between calls
//   sum.add(my_part, my_count, stream);
//   coalesce::nccl::allreduce(sum, gathered, comm, stream);   // then sum.sum(out, stream) is the same on all ranks
//
//   reproducible   (words: coalesce/reduce.cuh)
//   allreduce      elements, however they are spread over the ranks
//
// The accumulators travel in their stored form (docs/exact.md) by ncclAllGather, and each rank adds them on its device.
// All is asynchronous on the stream; once `gathered` has room (reserve()), calls can be captured into a graph. All
// ranks pass accumulators of one type, as NCCL demands of its own calls.
#pragma once

#include <nccl.h>

#include <coalesce/exact.cuh>

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

// As many sums as fit in 48 KB of shared memory.
template <exact::range Range>
inline constexpr int fold_threads = Range == exact::range::product ? 64 : 128;

// The sum of the ranks' totals, in place of this rank's: each thread adds some, then pairs of threads.
template <exact::range Range>
__global__ void add_totals(exact::total<Range>* into, const exact::total<Range>* all, int ranks) {
  __shared__ exact::total<Range> sums[fold_threads<Range>];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  exact::total<Range> sum;
  exact::clear(sum);
  for (int rank = thread; rank < ranks; rank += threads) coalesce::exact::merge(sum, all[rank]);
  sums[thread] = sum;
  for (int half = threads / 2; half != 0; half /= 2) {
    __syncthreads();
    if (thread < half) coalesce::exact::merge(sums[thread], sums[thread + half]);
  }
  if (thread == 0) *into = sums[0];
}

template <exact::range Range>
status start_fold(exact::total<Range>* into, const void* all, int ranks, cudaStream_t stream) {
  int threads = 1;
  while (threads < ranks && threads < fold_threads<Range>) threads *= 2;
  add_totals<Range><<<1, threads, 0, stream>>>(into, static_cast<const exact::total<Range>*>(all), ranks);
  return cudaGetLastError();
}

}  // namespace detail

// Bytes that one accumulator of every rank needs in `gathered`.
template <class T, exact::range Range>
std::size_t gathered_bytes(const exact_accumulator<T, Range>&, int ranks) {
  return sizeof(exact::total<Range>) * static_cast<std::size_t>(ranks);
}

// Adds the accumulators of all ranks; each rank's becomes the whole sum. Collective.
template <class T, exact::range Range>
status allreduce(exact_accumulator<T, Range>& sum, gathering& gathered, ncclComm_t comm,
                 cudaStream_t stream = nullptr) {
  if (const status s = sum.error(); !s) return s;
  int ranks = 0;
  if (const status s = detail::status_of(ncclCommCount(comm, &ranks)); !s) return s;
  if (const status s = gathered.reserve(gathered_bytes(sum, ranks)); !s) return s;
  using total = exact::total<Range>;
  if (const status s =
          detail::status_of(ncclAllGather(sum.data(), gathered.data(), sizeof(total), ncclUint8, comm, stream));
      !s)
    return s;
  return detail::start_fold<Range>(sum.data(), gathered.data(), ranks, stream);
}

}  // namespace coalesce::nccl
