// Arrays that do not fit in device memory: pieces travel from the host through a ring of pinned buffers to the device,
// where kernels work on one piece while the next is copied.
//
//   coalesce::exact_accumulator<float> sum;
//   coalesce::streamed<float> pieces;
//   pieces.run(data, count, [&](const float* piece, std::int64_t n, std::int64_t first, cudaStream_t stream) {
//     return sum.add(piece, n, stream);          // element `first` of the whole stands at piece[0]
//   });
//   sum.sum(out);
//
// The source is memory of the host (pinned memory is copied from where it lies; other memory, mapped files among it,
// goes through the ring by several threads), or a function that fills buffers. The consumer gets pieces in order, with
// the stream on which to work, and returns a coalesce::status (or an error of the runtime's, or nothing); `piece` is
// device memory until the stream has passed. Any trivially copyable T.
//
// Device and pinned memory: options.pieces x options.piece_bytes each, allocated by the first call and kept.
#pragma once

#include <algorithm>
#include <coalesce/types/status.cuh>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

namespace coalesce {

struct stream_options {
  std::size_t piece_bytes = std::size_t{16} << 20;  // large enough for the link's full rate
  int pieces = 4;                                   // in flight; at least 2
  int threads = 0;  // that copy into pinned memory; 0: as many as the host has cores, at most 8
};

template <class T>
class streamed {
  static_assert(std::is_trivially_copyable_v<T>, "coalesce: elements that are copied as bytes are trivially copyable");

 public:
  explicit streamed(stream_options options = {}) : options_(options) {}
  ~streamed() { free_all(); }
  streamed(const streamed&) = delete;
  streamed& operator=(const streamed&) = delete;

  // `count` elements at `in`, memory of the host. Returns when `in` has been read; the consumer's work on `stream` may
  // go on. A status that is not ok ends the run: no further piece is consumed.
  template <class Consume>
  status run(const T* in, std::int64_t count, Consume&& consume, cudaStream_t stream = nullptr) {
    if (count < 0) return detail::refuse("count is negative");
    if (count == 0) return {};
    if (!in) return detail::refuse("the input is null: pass memory of the host");
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, in) != cudaSuccess) cudaGetLastError();  // before 11: pageable memory
    if (attributes.type == cudaMemoryTypeDevice)
      return detail::refuse("the input is device memory, where nothing has to be streamed: call the function itself");
    const bool pinned = attributes.type == cudaMemoryTypeHost;
    std::int64_t at = 0;
    return pump(
        pinned ? in : nullptr, count,
        [&](T* to, std::int64_t room) {
          const std::int64_t n = std::min(room, count - at);
          copy_in(to, in + at, n);
          at += n;
          return n;
        },
        consume, stream);
  }

  // fill(T* to, std::int64_t room) writes up to `room` elements and returns their number; 0: there are no more; less
  // than 0: it failed, and the run ends with cudaErrorUnknown. It is called by this thread.
  template <class Fill, class Consume>
  status run_from(Fill&& fill, Consume&& consume, cudaStream_t stream = nullptr) {
    return pump(nullptr, -1, fill, consume, stream);
  }

 private:
  struct slot {
    T* host = nullptr;
    T* device = nullptr;
    cudaEvent_t copied = nullptr, consumed = nullptr;
  };

  std::int64_t piece() const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(options_.piece_bytes / sizeof(T)));
  }

  status prepare(bool with_host) {
    int device = 0;
    if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return e;
    if (device != device_) free_all();
    device_ = device;
    if (options_.pieces < 2) return detail::refuse("stream_options::pieces is less than 2");
    const std::size_t bytes = static_cast<std::size_t>(piece()) * sizeof(T);
    cudaError_t e = cudaSuccess;
    if (!copies_) e = cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking);
    slots_.resize(static_cast<std::size_t>(options_.pieces));
    for (slot& s : slots_) {
      if (e == cudaSuccess && !s.device) e = cudaMalloc(&s.device, bytes);
      if (e == cudaSuccess && with_host && !s.host)
        e = cudaHostAlloc(reinterpret_cast<void**>(&s.host), bytes, cudaHostAllocDefault);
      if (e == cudaSuccess && !s.copied) e = cudaEventCreateWithFlags(&s.copied, cudaEventDisableTiming);
      if (e == cudaSuccess && !s.consumed) e = cudaEventCreateWithFlags(&s.consumed, cudaEventDisableTiming);
    }
    if (e == cudaSuccess) return {};
    free_all();
    return {e, "no memory for the ring of pieces: take smaller stream_options::piece_bytes"};
  }

  // `direct`: pinned memory that is copied from where it lies; null: fill() fills the ring's buffers. `count`: -1:
  // until fill() says that there is no more.
  template <class Fill, class Consume>
  status pump(const T* direct, std::int64_t count, Fill&& fill, Consume&& consume, cudaStream_t stream) {
    if (const status s = prepare(!direct); !s) return s;
    status result;
    std::int64_t first = 0;
    for (std::size_t i = 0; result && (count < 0 || first < count); ++i) {
      slot& s = slots_[i % slots_.size()];
      const bool again = i >= slots_.size();
      std::int64_t n = count < 0 ? piece() : std::min(piece(), count - first);
      const T* from = direct + (direct ? first : 0);
      if (!direct) {
        if (again) result = cudaEventSynchronize(s.copied);  // the buffer's last piece has left it
        if (!result) break;
        n = fill(s.host, n);
        if (n < 0) result = {cudaErrorUnknown, "the source of the stream failed"};
        if (n <= 0) break;
        from = s.host;
      }
      if (again) result = cudaStreamWaitEvent(copies_, s.consumed, 0);
      if (result)
        result =
            cudaMemcpyAsync(s.device, from, static_cast<std::size_t>(n) * sizeof(T), cudaMemcpyHostToDevice, copies_);
      if (result) result = cudaEventRecord(s.copied, copies_);
      if (result) result = cudaStreamWaitEvent(stream, s.copied, 0);
      if (result) result = consumed(consume, s.device, n, first, stream);
      if (result) result = cudaEventRecord(s.consumed, stream);
      first += n;
    }
    const cudaError_t e = cudaStreamSynchronize(copies_);
    // Buffers are used again by the next run, whatever became of this one.
    if (!result) cudaStreamSynchronize(stream);
    return result && e != cudaSuccess ? status(e) : result;
  }

  template <class Consume>
  static status consumed(Consume& consume, const T* piece, std::int64_t n, std::int64_t first, cudaStream_t stream) {
    if constexpr (std::is_void_v<decltype(consume(piece, n, first, stream))>) {
      consume(piece, n, first, stream);
      return cudaGetLastError();
    } else {
      return status(consume(piece, n, first, stream));
    }
  }

  // One thread copies at a fraction of the link's rate.
  void copy_in(T* to, const T* from, std::int64_t n) {
    constexpr std::int64_t least_bytes = 1 << 20;  // for a thread of its own
    const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const int wanted = options_.threads > 0 ? options_.threads : std::min(cores, 8);
    const auto bytes = static_cast<std::int64_t>(static_cast<std::size_t>(n) * sizeof(T));
    const auto threads = static_cast<int>(std::clamp<std::int64_t>(bytes / least_bytes, 1, wanted));
    const auto part = [&](int i) {
      const std::int64_t begin = n * i / threads, end = n * (i + 1) / threads;
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(part, i);
    part(0);
    for (std::thread& one : others) one.join();
  }

  void free_all() {
    if (copies_) cudaStreamSynchronize(copies_);
    for (slot& s : slots_) {
      cudaFreeHost(s.host);
      cudaFree(s.device);
      if (s.copied) cudaEventDestroy(s.copied);
      if (s.consumed) cudaEventDestroy(s.consumed);
    }
    slots_.clear();
    if (copies_) cudaStreamDestroy(copies_);
    copies_ = nullptr;
  }

  stream_options options_;
  int device_ = -1;
  cudaStream_t copies_ = nullptr;
  std::vector<slot> slots_;
};

}  // namespace coalesce
