// A device as a whole: choosing it, its limits, waiting for it, starting afresh; devices that are peers.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "cudart/api/capture.h"
#include "cudart/api/memory.h"
#include "cudart/api/version.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {
namespace {

constexpr char kBusId[] = "0000:%02X:00.0";  // as pciDomainID, pciBusID and pciDeviceID say
constexpr int kBusIdBytes = 13;

// The driver's initial limits: stack per thread, printf buffer, heap, sync depth, pending launches, L2 fetch,
// persisting L2.
constexpr size_t kMostStack = 512 << 10;  // local memory of a thread, at most: the programming guide's table
constexpr size_t kLeastPrintf = 512 << 10, kLeastHeap = 4 << 20, kMostFetch = 128;
struct Settings {
  std::array<size_t, kLimits> limits = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
  unsigned flags = 0;
  int cache_preference = 0;
};

cudaError_t known(Runtime& r, int device) { return r.is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; }

template <typename T>
cudaError_t give(T* out, T value) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return query([&](Runtime&) {
    *out = value;
    return cudaSuccess;
  });
}

// The same for a setting, read under the lock.
template <typename T>
cudaError_t give_setting(T* out, T Settings::* setting) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return query([&](Runtime&) {
    *out = held<Settings>().*setting;
    return cudaSuccess;
  });
}

cudaError_t nothing(Runtime&) { return cudaSuccess; }

}  // namespace

COALESCE_API cudaError_t cudaGetDeviceCount(int* count) {
  if (count != nullptr) *count = 0;
  return count == nullptr ? note(cudaErrorInvalidValue) : query([&](Runtime& r) {
    *count = static_cast<int>(r.devices());
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGetDevice(int* device) { return give(device, static_cast<int>(thread_device())); }
COALESCE_API cudaError_t cudaSetDevice(int device) {
  return query([&](Runtime& r) {
    const cudaError_t error = known(r, device);
    if (error != cudaSuccess) return error;
    set_thread_device(static_cast<unsigned>(device));
    r.begin(thread_device());
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaInitDevice(int device, unsigned, unsigned flags) {
  if (flags > 1) return note(cudaErrorInvalidValue);  // 1: cudaInitDeviceFlagsAreValid
  return query([&](Runtime& r) {
    const cudaError_t error = known(r, device);
    if (error == cudaSuccess) r.begin(static_cast<unsigned>(device));  // it does not become the thread's
    return error;
  });
}
COALESCE_API cudaError_t cudaChooseDevice(int* device, const void* properties) {
  return properties == nullptr ? note(cudaErrorInvalidValue) : give(device, 0);
}
COALESCE_API cudaError_t cudaSetValidDevices(int* devices, int count) {
  return query([&](Runtime& r) {
    for (int i = 0; i < count; ++i) {
      if (devices == nullptr || !r.is_device(devices[i])) return cudaErrorInvalidDevice;
    }
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaSetDeviceFlags(unsigned flags) {
  if ((flags & ~cudaDeviceMask) != 0) return note(cudaErrorInvalidValue);
  return query([&](Runtime&) {
    held<Settings>().flags = flags;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaGetDeviceFlags(unsigned* flags) { return give_setting(flags, &Settings::flags); }

COALESCE_API cudaError_t cudaDeviceSynchronize() {
  return call([](Runtime& r) {
    const cudaError_t error = may_wait_for_device();
    if (error == cudaSuccess) host_waits_for_all(r);
    return error;
  });
}
COALESCE_ALIAS(cudaThreadSynchronize, cudaDeviceSynchronize);

COALESCE_API cudaError_t cudaDeviceReset() {
  return query([](Runtime& r) {
    if (r.devices() > 1) {
      end_streams_of(r.number());
      end_events_of(r.number());
    }
    r.reset();
    return cudaSuccess;
  });
}
COALESCE_ALIAS(cudaThreadExit, cudaDeviceReset);

COALESCE_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (value == nullptr || limit < 0 || limit >= kLimits) return note(cudaErrorInvalidValue);
  if (limit == cudaLimitDevRuntimeSyncDepth) return note(cudaErrorUnsupportedLimit);
  return query([&](Runtime&) {
    *value = held<Settings>().limits[limit];
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit < 0 || limit >= kLimits) return note(cudaErrorInvalidValue);
  if (limit == cudaLimitDevRuntimeSyncDepth) return note(cudaErrorUnsupportedLimit);
  return call_outside_captures([&](Runtime& r) {
    // Small and odd sizes become those that an H100 makes of them.
    if (limit == cudaLimitMaxL2FetchGranularity && value > kMostFetch) return cudaErrorInvalidValue;
    if (limit == cudaLimitPrintfFifoSize) value = std::max(value, kLeastPrintf);
    if (limit == cudaLimitMallocHeapSize) value = std::max(value, kLeastHeap);
    if (limit == cudaLimitStackSize) {
      if (value > kMostStack) return cudaErrorInvalidValue;
      value = (value + 15) / 16 * 16;
      r.machine().set_stack_bytes(static_cast<uint32_t>(value));
    }
    // The heap's size is fixed once a kernel has used it.
    if (limit == cudaLimitMallocHeapSize && !r.machine().set_heap_bytes(value)) return cudaErrorInvalidValue;
    held<Settings>().limits[limit] = value;
    return cudaSuccess;
  });
}
COALESCE_ALIAS(cudaThreadGetLimit, cudaDeviceGetLimit);
COALESCE_ALIAS(cudaThreadSetLimit, cudaDeviceSetLimit);

COALESCE_API cudaError_t cudaDeviceGetCacheConfig(int* preference) {
  return give_setting(preference, &Settings::cache_preference);
}
COALESCE_API cudaError_t cudaDeviceSetCacheConfig(int preference) {
  if (preference < 0 || preference > 3) return note(cudaErrorInvalidValue);
  return query([&](Runtime&) {
    held<Settings>().cache_preference = preference;
    return cudaSuccess;
  });
}
COALESCE_ALIAS(cudaThreadGetCacheConfig, cudaDeviceGetCacheConfig);
COALESCE_ALIAS(cudaThreadSetCacheConfig, cudaDeviceSetCacheConfig);
// Banks are 4 bytes wide on every device since 2014; the setting has had no effect since.
COALESCE_API cudaError_t cudaDeviceGetSharedMemConfig(int* config) { return give(config, 1); }
COALESCE_API cudaError_t cudaDeviceSetSharedMemConfig(int bank_bytes) {
  return bank_bytes < 0 || bank_bytes > 2 ? note(cudaErrorInvalidValue) : query(nothing);
}
COALESCE_API cudaError_t cudaCtxResetPersistingL2Cache() { return call(nothing); }
COALESCE_API cudaError_t cudaProfilerStart() { return call(nothing); }
COALESCE_API cudaError_t cudaProfilerStop() { return call(nothing); }

COALESCE_API cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (id == nullptr || length < kBusIdBytes) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (r.is_device(device)) std::snprintf(id, kBusIdBytes, kBusId, static_cast<unsigned>(device) + 1);
    return known(r, device);
  });
}
COALESCE_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  if (device == nullptr || id == nullptr) return note(cudaErrorInvalidValue);
  unsigned domain = 0, bus = 0, slot = 0;
  const bool whole = std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3;
  if (!whole && std::sscanf(id, "%x:%x.", &bus, &slot) != 2) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (domain != 0 || slot != 0 || bus == 0 || bus > r.devices()) return cudaErrorInvalidValue;
    *device = static_cast<int>(bus) - 1;
    return cudaSuccess;
  });
}

// All devices are each other's peers, as those of one NVLink switch are.
COALESCE_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (!r.is_device(device) || !r.is_device(peer)) return cudaErrorInvalidDevice;
    *can = device != peer;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (flags != 0) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    if (!r.is_device(peer)) return cudaErrorInvalidDevice;
    if (static_cast<unsigned>(peer) == r.number()) return cudaErrorPeerAccessUnsupported;
    if ((r.peers() >> peer & 1) != 0) return cudaErrorPeerAccessAlreadyEnabled;
    r.peers() |= uint64_t{1} << peer;
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call([&](Runtime& r) {
    if (!r.is_device(peer)) return cudaErrorInvalidDevice;
    if ((r.peers() >> peer & 1) == 0) return cudaErrorPeerAccessNotEnabled;
    r.peers() &= ~(uint64_t{1} << peer);
    return cudaSuccess;
  });
}
COALESCE_API cudaError_t cudaDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
  if (value == nullptr || attribute < 1 || attribute > 4) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (!r.is_device(from) || !r.is_device(to) || from == to) return cudaErrorInvalidDevice;
    *value = attribute == 1 ? 0 : 1;  // the best of links; access, native atomics, access to arrays
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaDriverGetVersion(int* version) { return give(version, 13000); }
COALESCE_API cudaError_t cudaRuntimeGetVersion(int* version) { return give(version, runtime_version()); }

}  // namespace coalesce::cudart
