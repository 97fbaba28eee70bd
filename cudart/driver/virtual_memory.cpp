// Virtual memory management: addresses reserved, memory made, and one mapped to the other. Memory is a file without a
// name, so that it may be mapped at several places and given to other processes. Kernels reach what is mapped once
// access is set.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "cudart/driver/state.h"
#include "machine/memory/memory.h"

namespace coalesce::cudart {
namespace {

constexpr size_t kGranularity = 2 << 20;
constexpr int kPinned = 1, kOnDevice = 1, kFileDescriptor = 1;
constexpr unsigned long long kReadWrite = 3;

struct Memory {
  int file = -1;
  size_t bytes = 0;
  CUmemAllocationProp properties{};
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { close(file); }
};

struct Mapping {
  size_t bytes = 0;
  std::shared_ptr<Memory> memory;  // lives as long as it is mapped, whoever releases the handle
  unsigned long long handle = 0;
  std::map<int, unsigned long long> access;  // of each device that has one
};

struct Virtual {
  std::map<uint64_t, size_t> reserved;
  std::map<uint64_t, Mapping> mapped;
  std::unordered_map<CUmemGenericAllocationHandle, std::shared_ptr<Memory>> memory;
  CUmemGenericAllocationHandle next = 1;

  // Bytes of a device's memory that a handle or a mapping keeps.
  size_t bytes(int device) const {
    std::set<const Memory*> all;
    for (const auto& [handle, m] : memory) all.insert(m.get());
    for (const auto& [address, m] : mapped) all.insert(m.memory.get());
    size_t sum = 0;
    for (const Memory* m : all)
      if (m->properties.location.id == device) sum += m->bytes;
    return sum;
  }

  ~Virtual() {
    for (const auto& [address, bytes] : reserved) munmap(reinterpret_cast<void*>(address), bytes);
  }
};

bool is_multiple(uint64_t value) { return value != 0 && value % kGranularity == 0; }

template <typename Body>
CUresult with(Body&& body) {
  const CUresult ready = without_context();
  if (ready != CUDA_SUCCESS) return ready;
  return quietly([&] { return call([&](Runtime& r) { return body(r, held<Virtual>()); }); });
}

// Calls `body` for each mapping in [address, address + bytes), which has to be made of whole mappings.
template <typename Body>
cudaError_t each(Virtual& v, uint64_t address, size_t bytes, Body&& body) {
  const uint64_t end = address + bytes;
  uint64_t at = address;
  for (auto m = v.mapped.find(address); m != v.mapped.end() && m->first == at && at < end; ++m) at += m->second.bytes;
  if (bytes == 0 || at != end) return cudaErrorInvalidValue;
  for (auto m = v.mapped.find(address); m != v.mapped.end() && m->first < end;) {
    const auto current = m++;
    if (const cudaError_t error = body(current); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Whether [address, address + bytes) lies in one reservation.
bool is_reserved(const Virtual& v, uint64_t address, size_t bytes) {
  auto home = v.reserved.upper_bound(address);
  if (home == v.reserved.begin()) return false;
  --home;
  const uint64_t before = address - home->first;
  return before <= home->second && bytes <= home->second - before;
}

bool has_mapping(const Virtual& v, uint64_t address, size_t bytes) {
  const auto next = v.mapped.lower_bound(address);
  if (next != v.mapped.end() && next->first < address + bytes) return true;
  return next != v.mapped.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address;
}

cudaError_t check(const CUmemAllocationProp* p) {
  if (p == nullptr || p->type != kPinned || p->location.type != kOnDevice) return cudaErrorInvalidValue;
  return runtime().is_device(p->location.id) ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace

COALESCE_API CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* p, int option) {
  if (granularity == nullptr || option < 0 || option > 1) return CUDA_ERROR_INVALID_VALUE;
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime&, Virtual&) {  // for all properties, also those that cuMemCreate refuses
    *granularity = kGranularity;
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr hint,
                                          unsigned long long flags) {
  if (out == nullptr || !is_multiple(bytes) || flags != 0 || (alignment & (alignment - 1)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime&, Virtual& v) {
    const size_t unit = std::max(alignment, kGranularity);
    if (bytes > SIZE_MAX - unit) return cudaErrorMemoryAllocation;
    void* room = mmap(reinterpret_cast<void*>(hint), bytes + unit, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return cudaErrorMemoryAllocation;
    const auto begin = reinterpret_cast<uintptr_t>(room);
    const uint64_t address = (begin + unit - 1) / unit * unit;
    if (address != begin) munmap(room, address - begin);
    if (const uint64_t rest = begin + unit - address; rest != 0) munmap(reinterpret_cast<void*>(address + bytes), rest);
    v.reserved[address] = bytes;
    *out = address;
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return with([&](Runtime&, Virtual& v) {
    const auto at = v.reserved.find(address);
    if (at == v.reserved.end() || at->second != bytes) return cudaErrorInvalidValue;
    if (has_mapping(v, address, bytes)) return cudaErrorInvalidValue;
    munmap(reinterpret_cast<void*>(address), bytes);
    v.reserved.erase(at);
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* p,
                                  unsigned long long flags) {
  if (handle == nullptr || !is_multiple(bytes) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime& r, Virtual& v) {
    if (const cudaError_t error = check(p); error != cudaSuccess) return error;
    const Using owner(r, static_cast<unsigned>(p->location.id));
    const uint64_t used = r.memory().used() + v.bytes(p->location.id), capacity = r.memory().capacity();
    if (used > capacity || bytes > capacity - used) return cudaErrorMemoryAllocation;
    auto made = std::make_shared<Memory>();
    made->file = memfd_create("coalesce", MFD_CLOEXEC);
    made->bytes = bytes;
    made->properties = *p;
    if (made->file < 0 || ftruncate(made->file, static_cast<off_t>(bytes)) != 0) return cudaErrorMemoryAllocation;
    *handle = v.next++;
    v.memory[*handle] = std::move(made);
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return with([&](Runtime&, Virtual& v) { return v.memory.erase(handle) != 0 ? cudaSuccess : cudaErrorInvalidValue; });
}

COALESCE_API CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                               unsigned long long flags) {
  if (!is_multiple(bytes) || address % kGranularity != 0 || offset % kGranularity != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime&, Virtual& v) {
    const auto memory = v.memory.find(handle);
    if (memory == v.memory.end() || offset > memory->second->bytes || bytes > memory->second->bytes - offset)
      return cudaErrorInvalidValue;
    if (!is_reserved(v, address, bytes) || has_mapping(v, address, bytes)) return cudaErrorInvalidValue;
    void* there = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->second->file,
                       static_cast<off_t>(offset));
    if (there == MAP_FAILED) return cudaErrorMemoryAllocation;
    v.mapped[address] = {bytes, memory->second, handle, {}};
    return cudaSuccess;
  });
}

// All mappings in the range go, if there are any; none may be cut.
COALESCE_API CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  if (bytes == 0 || bytes > UINT64_MAX - address) return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime& r, Virtual& v) {
    const uint64_t end = address + bytes;
    if (!is_reserved(v, address, 1)) return cudaErrorInvalidValue;
    const auto first = v.mapped.lower_bound(address), last = v.mapped.lower_bound(end);
    if (first != v.mapped.begin() && std::prev(first)->first + std::prev(first)->second.bytes > address)
      return cudaErrorInvalidValue;
    if (first != last && std::prev(last)->first + std::prev(last)->second.bytes > end) return cudaErrorInvalidValue;
    for (auto m = first; m != last; m = v.mapped.erase(m)) {
      if (!m->second.access.empty()) r.memory().release(m->first);
      m->second.access.clear();
      const void* const place = mmap(reinterpret_cast<void*>(m->first), m->second.bytes, PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
      if (place == MAP_FAILED) return cudaErrorMemoryAllocation;  // what stays mapped, nobody may use
    }
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const cudaMemAccessDesc* list, size_t count) {
  if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime& r, Virtual& v) {
    for (size_t k = 0; k < count; ++k) {
      if (list[k].location.type != kOnDevice || !r.is_device(list[k].location.id)) return cudaErrorInvalidDevice;
      const auto flags = static_cast<unsigned long long>(list[k].flags);
      if (flags != 0 && flags != 1 && flags != kReadWrite) return cudaErrorInvalidValue;
    }
    return each(v, address, bytes, [&](auto m) {
      auto* pointer = reinterpret_cast<void*>(m->first);
      auto& access = m->second.access;
      const bool before = !access.empty();
      for (size_t k = 0; k < count; ++k) {
        if (list[k].flags != 0)
          access[list[k].location.id] = static_cast<unsigned long long>(list[k].flags);
        else
          access.erase(list[k].location.id);
      }
      if (!access.empty() && !before) {
        mprotect(pointer, m->second.bytes, PROT_READ | PROT_WRITE);
        const Using owner(r, static_cast<unsigned>(m->second.memory->properties.location.id));
        if (r.memory().adopt(pointer, m->second.bytes, machine::Origin::device, "cuMemMap") == nullptr)
          return cudaErrorInvalidValue;
      } else if (access.empty() && before) {
        r.memory().release(m->first);
        mprotect(pointer, m->second.bytes, PROT_NONE);
      }
      uint64_t devices = 0;
      for (const auto& [device, flags] : access) devices |= uint64_t{1} << device;
      if (!access.empty()) r.memory().grant(m->first, devices);
      return cudaSuccess;
    });
  });
}

namespace {

// The mapping that holds the address; the end: none does.
auto find_mapping(Virtual& v, uint64_t address) {
  auto m = v.mapped.upper_bound(address);
  if (m == v.mapped.begin()) return v.mapped.end();
  --m;
  return address - m->first < m->second.bytes ? m : v.mapped.end();
}

}  // namespace

COALESCE_API CUresult cuMemGetAccess(unsigned long long* access, const cudaMemLocation* location, CUdeviceptr address) {
  if (access == nullptr || location == nullptr || location->type != kOnDevice || !runtime().is_device(location->id))
    return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime&, Virtual& v) {
    const auto m = find_mapping(v, address);
    if (m == v.mapped.end()) return cudaErrorInvalidValue;
    const auto at = m->second.access.find(location->id);
    *access = at == m->second.access.end() ? 0 : at->second;
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime&, Virtual& v) {
    const auto m = find_mapping(v, reinterpret_cast<uintptr_t>(address));
    if (m == v.mapped.end()) return cudaErrorInvalidValue;
    *handle = v.next++;
    v.memory[*handle] = m->second.memory;
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* p,
                                                             CUmemGenericAllocationHandle handle) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with([&](Runtime&, Virtual& v) {
    const auto memory = v.memory.find(handle);
    if (memory == v.memory.end()) return cudaErrorInvalidValue;
    *p = memory->second->properties;
    return cudaSuccess;
  });
}

// File descriptors only: the one kind of handle that one computer's processes need.
COALESCE_API CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle, int type,
                                                   unsigned long long flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != kFileDescriptor) return CUDA_ERROR_NOT_SUPPORTED;
  return with([&](Runtime&, Virtual& v) {
    const auto memory = v.memory.find(handle);
    if (memory == v.memory.end()) return cudaErrorInvalidValue;
    const int file = fcntl(memory->second->file, F_DUPFD_CLOEXEC, 0);
    if (file < 0) return cudaErrorOperatingSystem;
    *static_cast<int*>(out) = file;
    return cudaSuccess;
  });
}

COALESCE_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from, int type) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != kFileDescriptor) return CUDA_ERROR_NOT_SUPPORTED;
  return with([&](Runtime&, Virtual& v) {
    struct stat status{};
    auto made = std::make_shared<Memory>();
    made->file = fcntl(static_cast<int>(reinterpret_cast<intptr_t>(from)), F_DUPFD_CLOEXEC, 0);
    if (made->file < 0 || fstat(made->file, &status) != 0 || !is_multiple(static_cast<uint64_t>(status.st_size)))
      return cudaErrorInvalidValue;
    made->bytes = static_cast<size_t>(status.st_size);
    made->properties = {kPinned, kFileDescriptor, {kOnDevice, 0}, nullptr, {}};
    *handle = v.next++;
    v.memory[*handle] = std::move(made);
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
