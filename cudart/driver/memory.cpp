// Allocation, and what is known about a pointer.
#include "cudart/api/memory.h"

#include "cudart/api/range.h"
#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"
#include "machine/memory/memory.h"

namespace coalesce::cudart {
namespace {

using machine::Allocation;
using machine::Origin;

// Runs `body` with a place for the pointer, and gives it to the client when that went well.
template <typename Body>
CUresult give_address(CUdeviceptr* out, Body&& body) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const CUresult result = in_context([&] { return body(&pointer); });
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<uintptr_t>(pointer);
  return result;
}
// The same of an allocation that is the context's.
template <typename Body>
CUresult give_memory(CUdeviceptr* out, Body&& body) {
  const CUresult result = give_address(out, body);
  if (result == CUDA_SUCCESS) belongs_to_context(*out);
  return result;
}

// CUpointer_attribute's values.
enum PointerAttribute {
  context = 1,
  memory_type = 2,
  device_pointer = 3,
  host_pointer = 4,
  sync_memops = 6,
  buffer_id = 7,
  is_managed = 8,
  device_ordinal = 9,
  is_ipc_capable = 10,
  range_start = 11,
  range_size = 12,
  mapped = 13,
  allowed_handle_types = 14,
  is_rdma_capable = 15,
  access_flags = 16,
  pool_handle = 17,
  mapping_size = 18,
  mapping_base = 19,
  memory_block_id = 20,
};

template <typename T>
cudaError_t put(void* data, T value) {
  *static_cast<T*>(data) = value;
  return cudaSuccess;
}

// Under the lock. `all`: as cuPointerGetAttributes, which says nothing of an unknown pointer but zeros.
cudaError_t attribute_of(Runtime& r, void* data, int attribute, uint64_t address, bool all) {
  const Allocation* a = r.memory().find(address);
  if (a == nullptr && !all) return cudaErrorInvalidValue;
  const bool host = a != nullptr && a->origin == Origin::host;
  const bool managed = a != nullptr && a->origin == Origin::managed;
  constexpr unsigned kReadWrite = 3;
  switch (attribute) {
    case context: {
      CUcontext current = nullptr;
      return put(data, current);
    }
    case memory_type:
      return put<unsigned>(data, a == nullptr ? 0 : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case device_pointer:
      return put<CUdeviceptr>(data, a != nullptr ? address : 0);
    case host_pointer:
      if (a != nullptr && !host && !managed) return all ? put<uint64_t>(data, 0) : cudaErrorInvalidValue;
      return put<uint64_t>(data, a != nullptr ? address : 0);
    case sync_memops:
      return put(data, true);
    case buffer_id:
      return put<unsigned long long>(data, a != nullptr ? a->base : 0);
    case is_managed:
      return put<unsigned>(data, managed ? 1 : 0);
    case device_ordinal:
      return put<int>(data, a != nullptr ? 0 : cudaInvalidDeviceId);
    case is_ipc_capable:
      return put<unsigned>(data, a != nullptr && a->origin == Origin::device && ever_allocated(a->base) ? 1 : 0);
    case range_start:
    case mapping_base:
      return put<CUdeviceptr>(data, a != nullptr ? a->base : 0);
    case range_size:
    case mapping_size:
      return put<size_t>(data, a != nullptr ? a->size : 0);
    case mapped:
      return put<unsigned>(data, a != nullptr ? 1 : 0);
    case allowed_handle_types:
      return put<unsigned long long>(data, 0);
    case is_rdma_capable:
      return put<unsigned>(data, 0);
    case access_flags:
      return put<unsigned>(data, a != nullptr ? kReadWrite : 0);
    case pool_handle:
      return put<cudaMemPool_t>(data, nullptr);
    case memory_block_id:
      return put<unsigned long long>(data, a != nullptr ? a->base : 0);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

COALESCE_API CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return give_memory(out, [&](void** p) {
    return call([&](Runtime& r) { return allocate(r, p, bytes, Origin::device, "cuMemAlloc"); });
  });
}
COALESCE_API CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height,
                                         unsigned element) {
  if (pitch == nullptr || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16))
    return CUDA_ERROR_INVALID_VALUE;
  return give_memory(out, [&](void** p) { return cudaMallocPitch(p, pitch, width, height); });
}
COALESCE_API CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return give_memory(out, [&](void** p) { return cudaMallocManaged(p, bytes, flags); });
}
COALESCE_API CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, cudaStream_t stream) {
  return give_address(out, [&](void** p) { return cudaMallocAsync(p, bytes, stream); });
}
COALESCE_ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);
COALESCE_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (bytes == 0 || pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return give_address(out, [&](void** p) { return cudaMallocFromPoolAsync(p, bytes, pool, stream); });
}
COALESCE_ALIAS(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);
COALESCE_API CUresult cuMemFree_v2(CUdeviceptr address) {
  return after_init([&] { return cudaFree(pointer_of(address)); });
}
COALESCE_API CUresult cuMemFreeAsync(CUdeviceptr address, cudaStream_t stream) {
  return in_context([&] { return cudaFreeAsync(pointer_of(address), stream); });
}
COALESCE_ALIAS(cuMemFreeAsync_ptsz, cuMemFreeAsync);

COALESCE_API CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return in_context([&] { return cudaHostAlloc(pointer, bytes, flags); });
}
COALESCE_API CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }
COALESCE_API CUresult cuMemFreeHost(void* pointer) {
  return after_init([&] { return cudaFreeHost(pointer); });
}
COALESCE_API CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return in_context([&] { return cudaHostRegister(pointer, bytes, flags); });
}
COALESCE_API CUresult cuMemHostUnregister(void* pointer) {
  return after_init([&] { return cudaHostUnregister(pointer); });
}
COALESCE_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* host, unsigned flags) {
  return give_address(out, [&](void** p) { return cudaHostGetDevicePointer(p, host, flags); });
}
COALESCE_API CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return in_context([&] { return cudaHostGetFlags(flags, host); });
}

COALESCE_API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return in_context([&] { return cudaMemGetInfo(free, total); });
}
COALESCE_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return in_context([&] {
    return call([&](Runtime& r) {
      const Allocation* a = r.memory().find(address);
      if (a == nullptr) return cudaErrorSymbolNotFound;  // CUDA_ERROR_NOT_FOUND
      if (base != nullptr) *base = a->base;
      if (bytes != nullptr) *bytes = a->size;
      return cudaSuccess;
    });
  });
}
COALESCE_API CUresult cuPointerGetAttribute(void* data, int attribute, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result =
      in_context([&] { return call([&](Runtime& r) { return attribute_of(r, data, attribute, address, false); }); });
  return result == CUDA_SUCCESS && attribute == context ? cuCtxGetCurrent(static_cast<CUcontext*>(data)) : result;
}
COALESCE_API CUresult cuPointerGetAttributes(unsigned count, const int* attributes, void** data, CUdeviceptr address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return in_context([&] {
    return call([&](Runtime& r) {
      for (unsigned k = 0; k < count; ++k)
        if (const cudaError_t error = attribute_of(r, data[k], attributes[k], address, true); error != cudaSuccess)
          return error;
      return cudaSuccess;
    });
  });
}
// The one that can be set, synchronous operations, holds for all memory here.
COALESCE_API CUresult cuPointerSetAttribute(const void* value, int attribute, CUdeviceptr) {
  return value == nullptr || attribute != sync_memops ? CUDA_ERROR_INVALID_VALUE : current_context();
}

// Advice and prefetching move data and change no result.
COALESCE_API CUresult cuMemAdvise(CUdeviceptr address, size_t, int, CUdevice) {
  return cuMemGetAddressRange_v2(nullptr, nullptr, address) == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
COALESCE_API CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, int advice, cudaMemLocation) {
  return cuMemAdvise(address, bytes, advice, 0);
}
COALESCE_API CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice, cudaStream_t stream) {
  unsigned flags = 0;
  const CUresult result = cuStreamGetFlags(stream, &flags);  // whether there is such a stream
  return result != CUDA_SUCCESS ? result : cuMemAdvise(address, bytes, 0, 0);
}
COALESCE_ALIAS(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync);
COALESCE_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, cudaMemLocation, unsigned,
                                            cudaStream_t stream) {
  return cuMemPrefetchAsync(address, bytes, 0, stream);
}
COALESCE_ALIAS(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2);

COALESCE_API CUresult cuMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return in_context([&] { return cudaMemPoolCreate(pool, properties); });
}
COALESCE_API CUresult cuMemPoolDestroy(cudaMemPool_t pool) {
  return after_init([&] { return cudaMemPoolDestroy(pool); });
}
COALESCE_API CUresult cuMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  return in_context([&] { return cudaMemPoolTrimTo(pool, bytes); });
}
COALESCE_API CUresult cuMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return in_context([&] { return cudaMemPoolSetAttribute(pool, attribute, value); });
}
COALESCE_API CUresult cuMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return in_context([&] { return cudaMemPoolGetAttribute(pool, attribute, value); });
}
COALESCE_API CUresult cuMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
  return in_context([&] { return cudaMemPoolSetAccess(pool, list, count); });
}
COALESCE_API CUresult cuMemPoolGetAccess(int* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return in_context([&] { return cudaMemPoolGetAccess(flags, pool, location); });
}

}  // namespace coalesce::cudart
