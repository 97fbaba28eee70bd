// Allocation: device, host and managed memory, and what is known about a pointer.
#include "cudart/api/memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>

#include "cudart/api/capture.h"
#include "cudart/api/graph.h"
#include "cudart/api/range.h"
#include "machine/memory/memory.h"

namespace coalesce::cudart {
namespace {

using machine::Allocation;
using machine::Origin;

struct HostMemory {
  std::unordered_map<uint64_t, unsigned> flags;     // the results of cudaHostGetFlags, by base
  std::unordered_map<uint64_t, size_t> registered;  // the program's own; released by cudaHostUnregister only
};
auto& host_flags() { return held<HostMemory>().flags; }
auto& registered() { return held<HostMemory>().registered; }

// The extent of all device memory so far.
struct Extent {
  uint64_t lowest = UINT64_MAX, highest = 0;
};

constexpr size_t kPitchAlignment = 512;  // what the driver's pitches are multiples of

// Rounds a row up to the pitch. False: overflow.
bool pitch_of(size_t width, size_t& pitch) {
  if (width > SIZE_MAX - kPitchAlignment) return false;
  pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  return true;
}

cudaError_t allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height, size_t depth,
                             const char* name) {
  return call_outside_captures([&](Runtime& r) {
    size_t row = 0, slice = 0, bytes = 0;
    if (!pitch_of(width, row) || __builtin_mul_overflow(row, height, &slice) ||
        __builtin_mul_overflow(slice, depth, &bytes)) {
      return cudaErrorMemoryAllocation;
    }
    const cudaError_t error = allocate(r, pointer, bytes, Origin::device, name);
    if (error == cudaSuccess) *pitch = row;
    return error;
  });
}

cudaError_t allocate_host(void** pointer, size_t bytes, unsigned flags, const char* name) {
  if (pointer == nullptr) return note(cudaErrorInvalidValue);
  return call_outside_captures([&](Runtime& r) {
    *pointer = nullptr;
    if (flags > cudaHostAllocMask) return cudaErrorInvalidValue;
    const cudaError_t error = allocate(r, pointer, bytes, Origin::host, name);
    if (error == cudaSuccess && *pointer != nullptr) host_flags()[address_of(*pointer)] = flags | cudaHostAllocMapped;
    return error;
  });
}

// True if the process has all pages from `begin` to `last`, and may write them.
bool is_mapped(uint64_t begin, uint64_t last, bool writable) {
  std::ifstream maps("/proc/self/maps");
  uint64_t low = 0, high = 0, covered = begin;
  char dash = 0;
  std::string rights;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    if (!(in >> std::hex >> low >> dash >> high >> rights) || high <= covered) continue;
    if (low > covered || (writable && rights[1] != 'w')) return false;
    if (high > last) return true;
    covered = high;
  }
  return false;
}

}  // namespace

cudaError_t allocate(Runtime& r, void** pointer, size_t bytes, Origin origin, const char* call) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const Allocation* made = r.memory().allocate(bytes, origin, call);
  if (made == nullptr) return cudaErrorMemoryAllocation;
  *pointer = reinterpret_cast<void*>(made->base);
  if (r.check() != nullptr) r.check()->allocated(made->base);
  Extent& seen = held<Extent>();
  seen.lowest = std::min(seen.lowest, made->base);
  seen.highest = std::max(seen.highest, made->base + bytes);
  return cudaSuccess;
}

bool ever_allocated(uint64_t address) {
  const Extent& seen = held<Extent>();
  return address >= seen.lowest && address < seen.highest;
}

void host_waits_for_all(Runtime& r) {
  if (r.check() == nullptr) return;
  r.check()->order().host_waits_for_all();
  r.check()->settle();
}

cudaError_t release(Runtime& r, void* pointer, std::initializer_list<Origin> origins, const char* call) {
  if (pointer == nullptr) return cudaSuccess;
  const uint64_t address = address_of(pointer);
  const Allocation* a = r.memory().find(address);
  if (a == nullptr || a->base != address || std::ranges::find(origins, a->origin) == origins.end() ||
      registered().contains(address) || (a->origin == Origin::device && !ever_allocated(address))) {
    if (r.check() != nullptr) r.check()->bad_free(call, address);
    return cudaErrorInvalidValue;
  }
  if (r.check() != nullptr) r.check()->releasing(address);
  host_flags().erase(address);
  pool_released(address);
  return r.memory().release(address) ? cudaSuccess : cudaErrorInvalidValue;
}

COALESCE_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return call_outside_captures([&](Runtime& r) { return allocate(r, pointer, bytes, Origin::device, "cudaMalloc"); });
}

COALESCE_API cudaError_t cudaFree(void* pointer) {
  return call_outside_captures([&](Runtime& r) {
    cudaError_t error = cudaSuccess;
    host_waits_for_all(r);  // cudaFree does
    if (release_graph_memory(pointer, error)) return error;
    return release(r, pointer, {Origin::device, Origin::managed}, "cudaFree");
  });
}

COALESCE_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pointer == nullptr || pitch == nullptr) return note(cudaErrorInvalidValue);
  return allocate_pitched(pointer, pitch, width, height, 1, "cudaMallocPitch");
}

COALESCE_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  if (pitched == nullptr) return note(cudaErrorInvalidValue);
  const cudaError_t error =
      allocate_pitched(&pitched->ptr, &pitched->pitch, extent.width, extent.height, extent.depth, "cudaMalloc3D");
  if (error == cudaSuccess) {
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
  }
  return error;
}

COALESCE_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return call_outside_captures([&](Runtime& r) {
    if (pointer != nullptr) *pointer = nullptr;
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    return allocate(r, pointer, bytes, Origin::managed, "cudaMallocManaged");
  });
}

COALESCE_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate_host(pointer, bytes, 0, "cudaMallocHost");
}
COALESCE_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return allocate_host(pointer, bytes, flags, "cudaHostAlloc");
}
COALESCE_API cudaError_t cudaFreeHost(void* pointer) {
  return call_outside_captures([&](Runtime& r) {
    host_waits_for_all(r);
    return release(r, pointer, {Origin::host}, "cudaFreeHost");
  });
}

COALESCE_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  constexpr unsigned io_memory = 4, read_only = 8;
  if (pointer == nullptr || bytes == 0 || flags > cudaHostRegisterMask || (flags & io_memory) != 0)
    return note(cudaErrorInvalidValue);
  return call_outside_captures([&](Runtime& r) {
    const uint64_t begin = address_of(pointer), last = begin + bytes - 1;
    if (last < begin) return cudaErrorInvalidValue;
    for (const auto& a : r.memory().all()) {
      const bool overlaps = a->live && a->base <= last && begin < a->base + a->size;
      if (overlaps)
        return registered().contains(a->base) ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue;
    }
    if (!is_mapped(begin, last, (flags & read_only) == 0))
      return bytes > r.memory().capacity() ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    if (r.memory().adopt(pointer, bytes, Origin::host, "cudaHostRegister") == nullptr) return cudaErrorInvalidValue;
    registered()[begin] = bytes;
    host_flags()[begin] = flags | cudaHostAllocMapped;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaHostUnregister(void* pointer) {
  return call_outside_captures([&](Runtime& r) {
    const uint64_t address = address_of(pointer);
    if (registered().erase(address) == 0)
      return pointer == nullptr || r.memory().find(address) != nullptr ? cudaErrorInvalidValue
                                                                       : cudaErrorHostMemoryNotRegistered;
    host_waits_for_all(r);
    if (r.check() != nullptr) r.check()->releasing(address);
    host_flags().erase(address);
    return r.memory().release(address) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}

COALESCE_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (device == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    const Allocation* a = r.memory().find(address_of(host));
    *device = nullptr;
    if (flags != 0 || a == nullptr || a->origin != Origin::host) return cudaErrorInvalidValue;
    *device = host;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  if (flags == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    const Allocation* a = r.memory().find(address_of(host));
    const auto at = a == nullptr ? host_flags().end() : host_flags().find(a->base);
    if (at == host_flags().end()) return cudaErrorInvalidValue;
    *flags = at->second;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call([&](Runtime& r) {
    const uint64_t capacity = r.memory().capacity(), used = r.memory().used();
    if (free != nullptr) *free = capacity > used ? capacity - used : 0;
    if (total != nullptr) *total = capacity;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    Where where{};
    const bool alive = pointer == nullptr || classify(r, address_of(pointer), 1, where);
    auto* p = const_cast<void*>(pointer);
    if (!alive) return cudaErrorInvalidValue;
    const Allocation* a = r.memory().find(address_of(pointer));
    const int device = a == nullptr ? static_cast<int>(r.number()) : a->device;
    switch (where) {
      case Where::pageable:
        *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, p};
        break;
      case Where::pinned:
        *attributes = {cudaMemoryTypeHost, device, p, p};
        break;
      case Where::managed:
        *attributes = {cudaMemoryTypeManaged, device, p, p};
        break;
      case Where::device:
        *attributes = {cudaMemoryTypeDevice, device, p, nullptr};
        break;
    }
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
