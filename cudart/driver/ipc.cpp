// Memory and events for other processes: api/ipc.cpp.
#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {

COALESCE_API CUresult cuIpcGetMemHandle(cudaIpcHandle* handle, CUdeviceptr address) {
  return in_context([&] { return cudaIpcGetMemHandle(handle, pointer_of(address)); });
}
COALESCE_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, cudaIpcHandle handle, unsigned flags) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* pointer = nullptr;
  const CUresult result = in_context([&] { return cudaIpcOpenMemHandle(&pointer, handle, flags); });
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<uintptr_t>(pointer);
  return result;
}
COALESCE_ALIAS(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2);
COALESCE_API CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return in_context([&] { return cudaIpcCloseMemHandle(pointer_of(address)); });
}
COALESCE_API CUresult cuIpcGetEventHandle(cudaIpcHandle* handle, cudaEvent_t event) {
  return in_context([&] { return cudaIpcGetEventHandle(handle, event); });
}
COALESCE_API CUresult cuIpcOpenEventHandle(cudaEvent_t* event, cudaIpcHandle handle) {
  return in_context([&] { return cudaIpcOpenEventHandle(event, handle); });
}

}  // namespace coalesce::cudart
