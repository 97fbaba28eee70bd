// The time of one launch, repeated: with a cold L2 cache and with a warm one.
#pragma once

#include <functional>
#include <vector>

#include "gpu/runtime.h"

namespace coalesce::gpu {

struct Times {
  std::vector<double> cold, warm;  // seconds, in the order they were measured
};

class Timer {
 public:
  explicit Timer(const DeviceFacts& facts);
  // Calls `launch` on `stream` up to 2 x `repetitions` + 1 times, at most for about `most_seconds`; before each time
  // the device's memory is as save() found it. Cold: a buffer of twice the L2 has been read since. Warm: the program's
  // own arrays have been read since, in the order of their addresses. The first run of all is not counted.
  Times measure(const std::function<void()>& launch, cudaStream_t stream, int repetitions, double most_seconds);
  // One launch, as the caches happen to be.
  double once(const std::function<void()>& launch, cudaStream_t stream);

 private:
  // Reads the bytes and so brings them into the cache; nothing is left there that would have to be written back.
  void read(DevicePointer from, size_t bytes, cudaStream_t stream);
  // The time between two events on the stream, without a wait before them: queued work still runs meanwhile, so the
  // host's time to launch is not part of the figure.
  double between_events(const std::function<void()>& launch, cudaStream_t stream);

  DevicePointer flush_ = 0;
  size_t flush_bytes_ = 0;
  void* reader_ = nullptr;  // CUfunction
  unsigned blocks_ = 0;
  void *start_ = nullptr, *stop_ = nullptr;  // CUevent
};

}  // namespace coalesce::gpu
