// Streams and events. A callback's status is a number that both APIs share.
#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {

COALESCE_API CUresult cuStreamCreate(cudaStream_t* stream, unsigned flags) {
  return in_context([&] { return cudaStreamCreateWithFlags(stream, flags); });
}
COALESCE_API CUresult cuStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return in_context([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}
COALESCE_API CUresult cuStreamDestroy_v2(cudaStream_t stream) {
  return after_init([&] { return cudaStreamDestroy(stream); });
}
COALESCE_ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

// Functions of the form cuStreamX(stream, ...) that are cudaStreamX(stream, ...).
#define COALESCE_SAME(name, Parameters, call) \
  COALESCE_API CUresult name Parameters {     \
    return in_context([&] { return call; });  \
  }                                           \
  COALESCE_ALIAS(name##_ptsz, name)
COALESCE_SAME(cuStreamSynchronize, (cudaStream_t stream), cudaStreamSynchronize(stream));
COALESCE_SAME(cuStreamQuery, (cudaStream_t stream), cudaStreamQuery(stream));
COALESCE_SAME(cuStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
              cudaStreamWaitEvent(stream, event, flags));
COALESCE_SAME(cuStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned flags),
              cudaStreamAddCallback(stream, function, data, flags));
COALESCE_SAME(cuStreamGetFlags, (cudaStream_t stream, unsigned* flags), cudaStreamGetFlags(stream, flags));
COALESCE_SAME(cuStreamGetPriority, (cudaStream_t stream, int* priority), cudaStreamGetPriority(stream, priority));
COALESCE_SAME(cuStreamGetId, (cudaStream_t stream, unsigned long long* id), cudaStreamGetId(stream, id));
COALESCE_SAME(cuStreamGetDevice, (cudaStream_t stream, CUdevice* device), cudaStreamGetDevice(stream, device));
COALESCE_SAME(cuStreamAttachMemAsync, (cudaStream_t stream, CUdeviceptr address, size_t bytes, unsigned flags),
              cudaStreamAttachMemAsync(stream, pointer_of(address), bytes, flags));
COALESCE_SAME(cuStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), cudaStreamCopyAttributes(to, from));
COALESCE_SAME(cuStreamBeginCapture_v2, (cudaStream_t stream, int mode), cudaStreamBeginCapture(stream, mode));
COALESCE_SAME(cuStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), cudaStreamEndCapture(stream, graph));
COALESCE_SAME(cuStreamIsCapturing, (cudaStream_t stream, int* status), cudaStreamIsCapturing(stream, status));
COALESCE_SAME(cuStreamGetCaptureInfo_v2,
              (cudaStream_t stream, int* status, unsigned long long* id, cudaGraph_t* graph,
               const cudaGraphNode_t** nodes, size_t* count),
              cudaStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count));
COALESCE_SAME(cuEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
              cudaEventRecordWithFlags(event, stream, flags));
COALESCE_SAME(cuEventRecord, (cudaEvent_t event, cudaStream_t stream), cudaEventRecordWithFlags(event, stream, 0));
#undef COALESCE_SAME

COALESCE_API CUresult cuStreamGetCtx(cudaStream_t stream, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned flags = 0;
  const CUresult result = cuStreamGetFlags(stream, &flags);  // whether there is such a stream
  return result != CUDA_SUCCESS ? result : cuCtxGetCurrent(context);
}
COALESCE_ALIAS(cuStreamGetCtx_ptsz, cuStreamGetCtx);
COALESCE_API CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  return in_context([&] { return cudaThreadExchangeStreamCaptureMode(mode); });
}

COALESCE_API CUresult cuEventCreate(cudaEvent_t* event, unsigned flags) {
  return in_context([&] { return cudaEventCreateWithFlags(event, flags); });
}
COALESCE_API CUresult cuEventDestroy_v2(cudaEvent_t event) {
  return after_init([&] { return cudaEventDestroy(event); });
}
COALESCE_ALIAS(cuEventDestroy, cuEventDestroy_v2);
COALESCE_API CUresult cuEventQuery(cudaEvent_t event) {
  return after_init([&] { return cudaEventQuery(event); });
}
COALESCE_API CUresult cuEventSynchronize(cudaEvent_t event) {
  return after_init([&] { return cudaEventSynchronize(event); });
}
COALESCE_API CUresult cuEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return in_context([&] { return cudaEventElapsedTime(milliseconds, start, end); });
}
COALESCE_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);

}  // namespace coalesce::cudart
