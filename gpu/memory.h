// The program's memory on the device, saved and restored so that a launch can be repeated on the same contents.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace coalesce::gpu {

class DeviceMemory {
 public:
  void allocated(void* pointer, size_t bytes);
  void freed(void* pointer);
  void forget();  // all allocations
  // A __device__ or __constant__ variable, by the host's handle for it.
  void variable(const void* handle, size_t bytes);

  // Copies all of it to memory of our own. False: too little is free, and nothing can be repeated.
  bool save();
  // The contents of the last save().
  void restore() const;
  // Ends what save() began.
  void drop();

  struct Span {
    void* at;
    size_t bytes;
  };
  std::vector<Span> spans() const;

 private:
  mutable std::mutex mutex_;
  std::map<void*, size_t> allocations_;
  std::map<const void*, size_t> variables_;
  struct Copy {
    Span of;
    void* kept;
  };
  std::vector<Copy> copies_;
};

DeviceMemory& device_memory();

}  // namespace coalesce::gpu
