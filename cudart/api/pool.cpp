// Stream-ordered allocation. Pools keep accounts only: memory comes from and returns to the device at once.
#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "cudart/api/capture.h"
#include "cudart/api/graph.h"
#include "cudart/api/memory.h"
#include "cudart/api/range.h"
#include "cudart/api/stream.h"

namespace coalesce::cudart {

struct Pool {
  uint64_t used = 0, most_used = 0, release_threshold = 0;
  int reuse[3] = {1, 1, 1};  // by attribute 1..3; nothing to reuse, kept for programs that read them back
};

namespace {

struct Pools {
  std::unordered_map<cudaMemPool_t, std::unique_ptr<Pool>> all;
  cudaMemPool_t standard = nullptr;
  cudaMemPool_t current = nullptr;
  struct Owned {
    cudaMemPool_t pool;
    size_t bytes;
  };
  std::unordered_map<uint64_t, Owned> owned;

  cudaMemPool_t make() {
    auto pool = std::make_unique<Pool>();
    cudaMemPool_t handle = pool.get();
    all[handle] = std::move(pool);
    return handle;
  }
  Pools() { standard = current = make(); }
};

Pools& pools() { return held<Pools>(); }

cudaError_t allocate_from(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream, const char* name) {
  return call([&](Runtime& r) {
    if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (pool == nullptr) pool = pools().current;
    if (!pools().all.contains(pool)) return cudaErrorInvalidValue;
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
    const cudaError_t error = allocate(r, pointer, bytes, machine::Origin::device, name);
    if (error == cudaSuccess && *pointer != nullptr) {
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
  if (device != 0) return note(cudaErrorInvalidDevice);
  return query([&](Runtime&) {
    *out = standard ? pools().standard : pools().current;
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
  if (pool == nullptr) return note(cudaErrorInvalidValue);
  return allocate_from(pointer, bytes, pool, stream, "cudaMallocFromPoolAsync");
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
  if (properties->handleTypes != 0) return note(cudaErrorNotSupported);  // shared with other processes
  return call([&](Runtime&) {
    *pool = pools().make();
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return with(pool, [&](Pool&) {
    if (pool == pools().standard) return cudaErrorInvalidValue;
    if (pool == pools().current) pools().current = pools().standard;
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
        p.reuse[attribute - 1] = *static_cast<int*>(value);
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
  return with(pool, [&](Pool&) {
    for (size_t i = 0; i < count; ++i) {
      if (list[i].location.type != 1 || list[i].location.id != 0) return cudaErrorInvalidDevice;
    }
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaMemPoolGetAccess(int* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  if (flags == nullptr || location == nullptr) return note(cudaErrorInvalidValue);
  return with(pool, [&](Pool&) {
    if (location->type != 1 || location->id != 0) return cudaErrorInvalidDevice;
    *flags = 3;  // read and write
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return give(pool, device, true);
}
COALESCE_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return give(pool, device, false); }
COALESCE_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (device != 0) return note(cudaErrorInvalidDevice);
  return with(pool, [&](Pool&) {
    pools().current = pool;
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
