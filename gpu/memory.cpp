#include "gpu/memory.h"

namespace coalesce::gpu {
namespace {

// Where a variable of the runtime's lies; 0: its module is not loaded.
DevicePointer address_of(const void* handle) {
  using Find = cudaError_t (*)(void**, const void*);
  static const auto find = reinterpret_cast<Find>(next_symbol("cudaGetSymbolAddress"));
  static const auto clear = reinterpret_cast<cudaError_t (*)()>(next_symbol("cudaGetLastError"));
  void* at = nullptr;
  if (find && find(&at, handle) == cudaSuccess) return reinterpret_cast<DevicePointer>(at);
  if (clear) clear();  // it is no error of the program's
  return 0;
}

}  // namespace

void DeviceMemory::allocated(DevicePointer at, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (at && bytes) allocations_[at] = {bytes, current_context()};
}

void DeviceMemory::freed(DevicePointer at) {
  const std::lock_guard lock(mutex_);
  allocations_.erase(at);
}

void DeviceMemory::forget(void* context) {
  const std::lock_guard lock(mutex_);
  std::erase_if(allocations_, [=](const auto& one) { return one.second.context == context; });
}

void DeviceMemory::variable(const void* handle, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (handle && bytes) variables_[handle] = bytes;
}

void DeviceMemory::mapped() {
  const std::lock_guard lock(mutex_);
  mapped_ = true;
}

std::vector<DeviceMemory::Span> DeviceMemory::spans() const {
  const std::lock_guard lock(mutex_);
  std::vector<Span> all;
  for (const auto& [at, allocation] : allocations_) all.push_back({at, allocation.bytes});
  for (const auto& [handle, bytes] : variables_)
    if (const DevicePointer at = address_of(handle)) all.push_back({at, bytes});
  return all;
}

bool DeviceMemory::save() {
  if (mapped_) return false;
  for (const Span& span : spans()) {
    DevicePointer kept = 0;
    if (driver()->cuMemAlloc_v2(&kept, span.bytes) != 0) {
      drop();
      return false;
    }
    copies_.push_back({span, kept});
    driver()->cuMemcpyDtoD_v2(kept, span.at, span.bytes);
  }
  return true;
}

void DeviceMemory::restore() const {
  for (const Copy& copy : copies_) driver()->cuMemcpyDtoD_v2(copy.of.at, copy.kept, copy.of.bytes);
  driver()->cuCtxSynchronize();
}

void DeviceMemory::drop() {
  for (const Copy& copy : copies_) driver()->cuMemFree_v2(copy.kept);
  copies_.clear();
}

DeviceMemory& device_memory() {
  static DeviceMemory& memory = *new DeviceMemory;  // programs free in destructors that run after ours would
  return memory;
}

}  // namespace coalesce::gpu
