// Devices, by their numbers.
#include <cstring>

#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {
namespace {

// Attributes of the driver's API only: numbers and values of CUdevice_attribute.
constexpr int kDriverAttributes[][2] = {
    {102, 1},  // virtual memory management
    {103, 1},  // handles of allocations as file descriptors
    {107, 0},  // compression
    {110, 0},  // GPUDirect RDMA with virtual memory
};

template <typename Body>
CUresult of_device(CUdevice device, Body&& body) {
  const CUresult ready = initialised();
  if (ready != CUDA_SUCCESS) return ready;
  return runtime().is_device(device) ? body(*runtime().device()) : CUDA_ERROR_INVALID_DEVICE;
}

template <typename T>
CUresult give(T* out, CUdevice device, T value) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return of_device(device, [&](const machine::Device&) {
    *out = value;
    return CUDA_SUCCESS;
  });
}

}  // namespace

COALESCE_API CUresult cuDeviceGetCount(int* count) { return give(count, 0, static_cast<int>(runtime().devices())); }
COALESCE_API CUresult cuDeviceGet(CUdevice* device, int ordinal) { return give(device, ordinal, ordinal); }
COALESCE_API CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  return of_device(device, [&](const machine::Device& d) {
    name[d.name.copy(name, static_cast<size_t>(length) - 1)] = '\0';
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuDeviceGetUuid(cudaUUID_t* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return of_device(device, [&](const machine::Device& d) {
    *uuid = {};
    d.key.copy(uuid->bytes, sizeof uuid->bytes);
    uuid->bytes[15] = static_cast<char>(device);
    return CUDA_SUCCESS;
  });
}
COALESCE_ALIAS(cuDeviceGetUuid_v2, cuDeviceGetUuid);
COALESCE_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return of_device(device, [&](const machine::Device& d) {
    *bytes = d.memory_bytes;
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return of_device(device, [&](const machine::Device& d) {
    *major = static_cast<int>(d.major);
    *minor = static_cast<int>(d.minor);
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  for (const auto& [number, answer] : kDriverAttributes)
    if (number == attribute) return give(value, device, answer);
  return after_init([&] { return cudaDeviceGetAttribute(value, attribute, device); });
}
COALESCE_API CUresult cuDeviceGetProperties(CUdevprop* out, CUdevice device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return of_device(device, [&](const machine::Device&) {
    CUdevprop p{};
    // Members in their order, by attribute.
    constexpr int kAttributes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    int* const members = &p.maxThreadsPerBlock;
    for (size_t k = 0; k < std::size(kAttributes); ++k)
      if (const CUresult result = cuDeviceGetAttribute(members + k, kAttributes[k], device); result != CUDA_SUCCESS)
        return result;
    *out = p;
    return CUDA_SUCCESS;
  });
}
COALESCE_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return after_init([&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}
COALESCE_API CUresult cuDeviceGetP2PAttribute(int* value, int attribute, CUdevice from, CUdevice to) {
  return after_init([&] { return cudaDeviceGetP2PAttribute(value, attribute, from, to); });
}
COALESCE_API CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return after_init([&] { return cudaDeviceGetPCIBusId(id, length, device); });
}
COALESCE_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return after_init([&] { return cudaDeviceGetByPCIBusId(device, id); });
}
COALESCE_API CUresult cuDeviceGetDefaultMemPool(cudaMemPool_t* pool, CUdevice device) {
  return after_init([&] { return cudaDeviceGetDefaultMemPool(pool, device); });
}
COALESCE_API CUresult cuDeviceGetMemPool(cudaMemPool_t* pool, CUdevice device) {
  return after_init(
      [&] { return runtime().is_device(device) ? cudaDeviceGetMemPool(pool, device) : cudaErrorInvalidDevice; });
}
COALESCE_API CUresult cuDeviceSetMemPool(CUdevice device, cudaMemPool_t pool) {
  return after_init(
      [&] { return runtime().is_device(device) ? cudaDeviceSetMemPool(device, pool) : cudaErrorInvalidDevice; });
}
COALESCE_API CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return after_init([&] { return cudaDeviceGraphMemTrim(device); });
}
COALESCE_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void* value) {
  return after_init([&] { return cudaDeviceGetGraphMemAttribute(device, attribute, value); });
}
COALESCE_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, int attribute, void* value) {
  return after_init([&] { return cudaDeviceSetGraphMemAttribute(device, attribute, value); });
}
COALESCE_API CUresult cuDeviceGetExecAffinitySupport(int* supported, int, CUdevice device) {
  return give(supported, device, 0);
}

}  // namespace coalesce::cudart
