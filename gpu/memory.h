// The program's memory on the device, saved and restored so that a launch can be repeated on the same contents.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "gpu/runtime.h"

namespace coalesce::gpu {

class DeviceMemory {
 public:
  void allocated(DevicePointer at, size_t bytes);
  void freed(DevicePointer at);
  void forget(void* context);  // all that was allocated in it
  // A __device__ or __constant__ variable, by the host's handle for it.
  void variable(const void* handle, size_t bytes);
  // The program maps memory by itself: what a launch may change is not known.
  void mapped();

  // Copies all of it to memory of our own. False: too little is free, or not all is known; nothing can be repeated.
  bool save();
  // The contents of the last save().
  void restore() const;
  // Ends what save() began.
  void drop();

  struct Span {
    DevicePointer at;
    size_t bytes;
  };
  std::vector<Span> spans() const;

 private:
  struct Allocation {
    size_t bytes;
    void* context;
  };
  mutable std::mutex mutex_;
  std::map<DevicePointer, Allocation> allocations_;
  std::map<const void*, size_t> variables_;
  bool mapped_ = false;
  struct Copy {
    Span of;
    DevicePointer kept;
  };
  std::vector<Copy> copies_;
};

DeviceMemory& device_memory();

}  // namespace coalesce::gpu
