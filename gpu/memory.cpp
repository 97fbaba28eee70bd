#include "gpu/memory.h"

#include "gpu/runtime.h"

namespace coalesce::gpu {

void DeviceMemory::allocated(void* pointer, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (pointer && bytes) allocations_[pointer] = bytes;
}

void DeviceMemory::freed(void* pointer) {
  const std::lock_guard lock(mutex_);
  allocations_.erase(pointer);
}

void DeviceMemory::forget() {
  const std::lock_guard lock(mutex_);
  allocations_.clear();
}

void DeviceMemory::variable(const void* handle, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (handle && bytes) variables_[handle] = bytes;
}

std::vector<DeviceMemory::Span> DeviceMemory::spans() const {
  const std::lock_guard lock(mutex_);
  std::vector<Span> all;
  for (const auto& [pointer, bytes] : allocations_) all.push_back({pointer, bytes});
  for (const auto& [handle, bytes] : variables_) {
    void* at = nullptr;
    if (runtime().cudaGetSymbolAddress(&at, handle) == cudaSuccess) all.push_back({at, bytes});
  }
  runtime().cudaGetLastError();  // a variable of a module that is not loaded is no error of the program's
  return all;
}

bool DeviceMemory::save() {
  for (const Span& span : spans()) {
    void* kept = nullptr;
    if (runtime().cudaMalloc(&kept, span.bytes) != cudaSuccess) {
      runtime().cudaGetLastError();
      drop();
      return false;
    }
    copies_.push_back({span, kept});
    runtime().cudaMemcpy(kept, span.at, span.bytes, cudaMemcpyDeviceToDevice);
  }
  return true;
}

void DeviceMemory::restore() const {
  for (const Copy& copy : copies_) runtime().cudaMemcpy(copy.of.at, copy.kept, copy.of.bytes, cudaMemcpyDeviceToDevice);
  runtime().cudaDeviceSynchronize();
}

void DeviceMemory::drop() {
  for (const Copy& copy : copies_) runtime().cudaFree(copy.kept);
  copies_.clear();
}

DeviceMemory& device_memory() {
  static DeviceMemory& memory = *new DeviceMemory;  // programs free in destructors that run after ours would
  return memory;
}

}  // namespace coalesce::gpu
