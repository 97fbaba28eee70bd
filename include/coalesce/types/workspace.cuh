// Memory in which the blocks of one launch leave partial results for the last of them, and tickets that tell the last
// block that it is the last.
//
// A caller need pass nothing: every stream has a piece of its own, allocated when the stream is first used and kept, so
// that later calls allocate nothing. A call that is captured into a graph gets a piece for that node alone, kept as
// long as the program runs. Pass a `workspace` of your own to control the memory.
//
// Size: a piece has 90 KB, or 41 and twice what the largest call needed; with segments 1 MB. No call needs more than 32
// MB.
//
// Tickets are 0 between launches. Each goes up by 1 a block and wraps to 0 with the last block of its launch, so
// nothing has to be zeroed, and a launch that never started leaves nothing behind. Flagged words lie behind the
// tickets, or in memory of their own if there are more (detail/block/flagged.cuh), and their reader clears them. A
// kernel that faults takes the context, and this memory, with it.
#pragma once

#include <coalesce/types/status.cuh>
#include <cstdint>
#include <mutex>
#include <vector>

namespace coalesce {

namespace detail {

// Reductions that need a ticket of their own within one launch.
inline constexpr int max_tickets = 4096;

// Memory is allocated and zeroed on a stream of its own, so that it can be done while streams are being captured.
class relaxed_capture {
 public:
  relaxed_capture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~relaxed_capture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  relaxed_capture(const relaxed_capture&) = delete;
  relaxed_capture& operator=(const relaxed_capture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

inline cudaError_t zero_bytes(void* data, std::size_t bytes) {
  cudaStream_t stream;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return error;
  error = cudaMemsetAsync(data, 0, bytes, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return error;
}

}  // namespace detail

// Memory for the launches of one device and one stream at a time: two concurrent launches need two workspaces. Freed
// with the object, which therefore must outlive the launches.
class workspace {
 public:
  workspace() = default;
  ~workspace() {
    for (void* old : retired_) cudaFree(old);
    cudaFree(data_);
    cudaFree(more_flagged_);
  }
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;

  // Makes room for `bytes` of partial results. Memory that gets too small is kept until the end: launches may be
  // using it. Called by the library; call it yourself to have the allocation happen early.
  status reserve(std::size_t bytes) {
    if (data_ && bytes <= bytes_) return {};
    const std::size_t wanted = bytes < least ? least : 2 * bytes;
    const detail::relaxed_capture relaxed;
    void* fresh = nullptr;
    cudaError_t error = cudaMalloc(&fresh, tickets_bytes + result_bytes + wanted);
    if (error == cudaSuccess) error = detail::zero_bytes(fresh, tickets_bytes);
    if (error != cudaSuccess) {
      cudaFree(fresh);
      return {error, "no memory for the partial results of a reduction: free some device memory"};
    }
    if (data_) retired_.push_back(data_);
    data_ = static_cast<char*>(fresh);
    bytes_ = wanted;
    return {};
  }

  // The same for `bytes` that are 0 between launches, where flags() has too few.
  status reserve_more_flagged(std::size_t bytes) {
    if (bytes <= more_bytes_) return {};
    const detail::relaxed_capture relaxed;
    void* fresh = nullptr;
    cudaError_t error = cudaMalloc(&fresh, 2 * bytes);
    if (error == cudaSuccess) error = detail::zero_bytes(fresh, 2 * bytes);
    if (error != cudaSuccess) {
      cudaFree(fresh);
      return {error, "no memory for the partial results of a reduction: free some device memory"};
    }
    if (more_flagged_) retired_.push_back(more_flagged_);
    more_flagged_ = fresh;
    more_bytes_ = 2 * bytes;
    return {};
  }

  std::size_t bytes() const { return (data_ ? tickets_bytes + result_bytes + bytes_ : 0) + more_bytes_; }
  unsigned int* tickets() const { return reinterpret_cast<unsigned int*>(data_); }
  // Room for one result on its way to the host.
  void* result() const { return data_ + tickets_bytes; }
  void* partials() const { return data_ + tickets_bytes + result_bytes; }
  // 0 between launches, as tickets are.
  void* flags() const { return data_ + detail::max_tickets * sizeof(unsigned int); }
  void* more_flagged() const { return more_flagged_; }

  static constexpr std::size_t result_bytes = 256, flagged_bytes = 24 * 1024;

 private:
  // The part that is 0 between launches.
  static constexpr std::size_t tickets_bytes = detail::max_tickets * sizeof(unsigned int) + flagged_bytes;
  static constexpr std::size_t least = 48 * 1024;

  char* data_ = nullptr;
  void* more_flagged_ = nullptr;
  std::size_t bytes_ = 0, more_bytes_ = 0;
  std::vector<void*> retired_;
};

namespace detail {

struct device_facts {
  int device = 0, processors = 0;
  bool starts_early = false;  // whether a launch can be started before the one ahead of it has ended
};

// The current device; asked of the runtime once per device and thread.
inline status current_device(device_facts& facts) {
  static thread_local device_facts last;
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (last.processors == 0 || last.device != device) {
    int processors = 0;
    const cudaError_t error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess) return error;
    int major = 0, driver = 0;
    if (const cudaError_t asked = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
        asked != cudaSuccess)
      return asked;
    if (const cudaError_t asked = cudaDriverGetVersion(&driver); asked != cudaSuccess) return asked;
    last = {device, processors, major >= 9 && driver >= 12030};
  }
  facts = last;
  return {};
}

struct stream_workspace {
  int device;
  unsigned long long stream;  // its id, which no later stream gets
  workspace* work;
};

// Never destroyed: at the program's end the runtime may be gone before it.
inline workspace* workspace_of(int device, unsigned long long stream) {
  static thread_local stream_workspace last = {-1, 0, nullptr};
  if (last.work && last.device == device && last.stream == stream) return last.work;
  static std::mutex mutex;
  static std::vector<stream_workspace>& all = *new std::vector<stream_workspace>;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const stream_workspace& known : all) {
    if (known.device == device && known.stream == stream) {
      last = known;
      return last.work;
    }
  }
  last = {device, stream, new workspace};
  all.push_back(last);
  return last.work;
}

// nvcc --default-stream per-thread makes the null stream another one.
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline constexpr bool null_is_legacy = false;
#else
inline constexpr bool null_is_legacy = true;
#endif

// `work` with room for `bytes`: the caller's, the stream's, or for a captured call a new one.
inline status find_workspace(cudaStream_t stream, int device, std::size_t bytes, workspace*& work) {
  if (!work && (stream == cudaStreamLegacy || (stream == nullptr && null_is_legacy))) {
    work = workspace_of(device, 1);  // never captured; its id is 1
  } else if (!work) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (const cudaError_t error = cudaStreamIsCapturing(stream, &capture); error != cudaSuccess) return error;
    if (capture == cudaStreamCaptureStatusActive) {
      work = new workspace;
    } else {
      unsigned long long id = 0;
      if (const cudaError_t error = cudaStreamGetId(stream, &id); error != cudaSuccess) return error;
      work = workspace_of(device, id);
    }
  }
  return work->reserve(bytes);
}

}  // namespace detail
}  // namespace coalesce
