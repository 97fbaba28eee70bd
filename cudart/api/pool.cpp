// Stream-ordered allocation. Pools keep accounts only: memory comes from and returns to the device at once.
#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cudart/api/capture.h"
#include "cudart/api/graph.h"
#include "cudart/api/memory.h"
#include "cudart/api/range.h"
#include "cudart/api/stream.h"

namespace coalesce::cudart {

struct Pool {
  uint64_t used = 0, most_used = 0, release_threshold = 0;
  uint64_t most = UINT64_MAX;  // bytes that the program allows
  uint64_t reserved() const { return (used + kReserve - 1) / kReserve * kReserve; }
  static constexpr uint64_t kReserve = 32 << 20;  // what a driver takes at once
  unsigned device = 0;
  uint64_t access = 0;       // of other devices: bit d
  int reuse[3] = {1, 1, 1};  // by attribute 1..3; nothing to reuse, kept for programs that read them back
};

namespace {

constexpr int kOnDevice = 1, kReadOnly = 1, kReadWrite = 3;                 // kinds of cudaMemLocation and of access
constexpr int kPinned = 1, kManaged = 2, kFileDescriptor = 1, kFabric = 8;  // of allocations and of their handles

struct Pools {
  std::unordered_map<cudaMemPool_t, std::unique_ptr<Pool>> all;
  std::vector<cudaMemPool_t> standard, current;  // of each device
  struct Owned {
    cudaMemPool_t pool;
    size_t bytes;
  };
  std::unordered_map<uint64_t, Owned> owned;

  cudaMemPool_t make(unsigned device) {
    auto pool = std::make_unique<Pool>();
    pool->device = device;
    cudaMemPool_t handle = pool.get();
    all[handle] = std::move(pool);
    return handle;
  }
  Pools() {
    for (unsigned device = 0; device < runtime().devices(); ++device) standard.push_back(make(device));
    current = standard;
  }
};

Pools& pools() { return held<Pools>(); }

cudaError_t allocate_from(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream, const char* name) {
  return call([&](Runtime& r) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (pool == nullptr) pool = pools().current[device_of(stream)];
    if (!pools().all.contains(pool)) return cudaErrorInvalidValue;
    if (pointer != nullptr) *pointer = nullptr;
    if (bytes > pool->most - std::min(pool->most, pool->used)) return cudaErrorMemoryAllocation;
    const Going to = going(stream);
    if (to.error != cudaSuccess) return to.error;
    if (to.capture != nullptr) {
      if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
      AllocateOperation a;
      if (const cudaError_t error = make_graph_memory(r, bytes, a.memory); error != cudaSuccess) return error;
      *pointer = a.memory->pointer;
      captured(*to.capture, stream, std::move(a));
      return cudaSuccess;
    }
    if (const cudaError_t error = may_disturb_captures(); error != cudaSuccess) return error;
    const Using device(r, pool->device);
    const cudaError_t error = allocate(r, pointer, bytes, machine::Origin::device, name);
    if (error == cudaSuccess && *pointer != nullptr) {
      r.memory().grant(address_of(*pointer), pool->access);
      pools().owned[address_of(*pointer)] = {pool, bytes};
      pool->used += bytes;
      pool->most_used = std::max(pool->most_used, pool->used);
      // The memory exists once the stream gets here: to others that is a write of all of it.
      if (HostCheck* check = r.check()) {
        check->act_in(stream, is_blocking(stream));
        check->begin_work(name, false);
        check->used({{address_of(*pointer), bytes, true}});
      }
    }
    return error;
  });
}

template <typename Body>
cudaError_t with(cudaMemPool_t pool, Body&& body) {
  return call([&](Runtime&) { return pools().all.contains(pool) ? body(*pool) : cudaErrorInvalidValue; });
}

cudaError_t give(cudaMemPool_t* out, int device, bool standard) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (!r.is_device(device)) return standard ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    *out = (standard ? pools().standard : pools().current)[static_cast<unsigned>(device)];
    return cudaSuccess;
  });
}

}  // namespace

void pool_released(uint64_t address) {
  const auto at = pools().owned.find(address);
  if (at == pools().owned.end()) return;
  if (pools().all.contains(at->second.pool)) at->second.pool->used -= at->second.bytes;
  pools().owned.erase(at);
}

COALESCE_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate_from(pointer, bytes, nullptr, stream, "cudaMallocAsync");
}
COALESCE_API cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(pointer, bytes, of_thread(stream));
}

COALESCE_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                 cudaStream_t stream) {
  if (pool != nullptr) return allocate_from(pointer, bytes, pool, stream, "cudaMallocFromPoolAsync");
  if (pointer != nullptr) *pointer = nullptr;
  return note(cudaErrorInvalidValue);
}
COALESCE_ALIAS(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync);

COALESCE_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return call([&](Runtime& r) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    const Going to = going(stream);
    if (to.error != cudaSuccess) return to.error;
    if (to.capture != nullptr) {
      if (!is_graph_memory(pointer)) return cudaErrorInvalidValue;
      captured(*to.capture, stream, FreeOperation{pointer});
      return cudaSuccess;
    }
    cudaError_t error = cudaSuccess;
    if (release_graph_memory(pointer, error)) return error;
    if (HostCheck* check = r.check(); check != nullptr && pointer != nullptr) {
      const machine::Allocation* a = r.memory().find(address_of(pointer));
      check->act_in(stream, is_blocking(stream));
      check->begin_work("cudaFreeAsync", false);
      if (a != nullptr && a->base == address_of(pointer)) check->used({{a->base, a->size, true}});
    }
    return release(r, pointer, {machine::Origin::device}, "cudaFreeAsync");
  });
}
COALESCE_API cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
  return cudaFreeAsync(pointer, of_thread(stream));
}

COALESCE_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (pool == nullptr || properties == nullptr) return note(cudaErrorInvalidValue);
  if (properties->handleTypes == kFabric) return note(cudaErrorNotSupported);  // shared with other computers
  return call([&](Runtime& r) {
    const auto& [type, id] = properties->location;
    const bool known = (properties->allocType == kPinned || properties->allocType == kManaged) && type != 0 &&
                       (type != kOnDevice || r.is_device(id));
    if (!known || (properties->handleTypes & ~kFileDescriptor) != 0) return cudaErrorInvalidValue;
    *pool = pools().make(type == kOnDevice ? static_cast<unsigned>(id) : 0);
    if (properties->maxSize != 0) (*pool)->most = properties->maxSize;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return with(pool, [&](Pool&) {
    const unsigned device = pool->device;
    if (pool == pools().standard[device]) return cudaErrorInvalidValue;
    if (pool == pools().current[device]) pools().current[device] = pools().standard[device];
    pools().all.erase(pool);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return with(pool, [](Pool&) { return cudaSuccess; });  // nothing is kept back
}

COALESCE_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (value == nullptr) return note(cudaErrorInvalidValue);
  return with(pool, [&](Pool& p) {
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
        p.reuse[attribute - 1] = *static_cast<int*>(value) != 0;
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        p.release_threshold = *static_cast<uint64_t*>(value);
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:  // may only be reset, to zero
        if (*static_cast<uint64_t*>(value) != 0) return cudaErrorInvalidValue;
        p.most_used = p.used;
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

COALESCE_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (value == nullptr) return note(cudaErrorInvalidValue);
  return with(pool, [&](Pool& p) {
    const auto put = [&](uint64_t v) {
      std::memcpy(value, &v, sizeof v);
      return cudaSuccess;
    };
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
        std::memcpy(value, &p.reuse[attribute - 1], sizeof(int));
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        return put(p.release_threshold);
      case cudaMemPoolAttrReservedMemCurrent:
        return put(p.reserved());
      case cudaMemPoolAttrUsedMemCurrent:
        return put(p.used);
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        return put(p.most_used);
    }
    return cudaErrorInvalidValue;
  });
}

COALESCE_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
  if (list == nullptr && count != 0) return note(cudaErrorInvalidValue);
  return with(pool, [&](Pool& p) {
    Runtime& r = runtime();
    uint64_t access = p.access;
    for (size_t i = 0; i < count; ++i) {
      const auto [location, flags] = list[i];
      if (location.type != kOnDevice || flags == kReadOnly) return cudaErrorNotSupported;
      if (!r.is_device(location.id)) return cudaErrorInvalidDevice;
      if (flags != 0 && flags != kReadWrite) return cudaErrorInvalidValue;
      const uint64_t bit = uint64_t{1} << location.id;
      if (static_cast<unsigned>(location.id) == p.device) {
        if (flags == 0) return cudaErrorInvalidDevice;  // a device always reaches its own
      } else {
        access = flags != 0 ? access | bit : access & ~bit;
      }
    }
    p.access = access;
    for (const auto& [address, owned] : pools().owned)
      if (owned.pool == pool) r.memory().grant(address, access);
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaMemPoolGetAccess(int* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  if (flags == nullptr || location == nullptr) return note(cudaErrorInvalidValue);
  return with(pool, [&](Pool& p) {
    if (location->type == kOnDevice && !runtime().is_device(location->id)) return cudaErrorInvalidValue;
    *flags = 0;
    if (location->type != kOnDevice) return cudaSuccess;
    const auto device = static_cast<unsigned>(location->id);
    *flags = device == p.device || (p.access >> device & 1) != 0 ? kReadWrite : 0;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return give(pool, device, true);
}
COALESCE_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return give(pool, device, false); }
COALESCE_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return with(pool, [&](Pool& p) {
    if (!runtime().is_device(device) || p.device != static_cast<unsigned>(device)) return cudaErrorInvalidValue;
    pools().current[p.device] = pool;
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
