// The runtime's functions that the driver's are made of.
#pragma once

#include "cudart/api/graph_abi.h"
#include "cudart/api/texture_abi.h"
#include "cudart/core/abi.h"

namespace coalesce::cudart {

extern "C" {
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceGetLimit(size_t*, cudaLimit);
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t);
cudaError_t cudaDeviceGetCacheConfig(int*);
cudaError_t cudaDeviceSetCacheConfig(int);
cudaError_t cudaDeviceGetSharedMemConfig(int*);
cudaError_t cudaDeviceSetSharedMemConfig(int);
cudaError_t cudaDeviceGetStreamPriorityRange(int*, int*);
cudaError_t cudaCtxResetPersistingL2Cache();
cudaError_t cudaDeviceGetAttribute(int*, int, int);
cudaError_t cudaDeviceCanAccessPeer(int*, int, int);
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned);
cudaError_t cudaDeviceDisablePeerAccess(int);
cudaError_t cudaDeviceGetP2PAttribute(int*, int, int, int);
cudaError_t cudaDeviceGetPCIBusId(char*, int, int);
cudaError_t cudaDeviceGetByPCIBusId(int*, const char*);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t*, int);
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t);
cudaError_t cudaDeviceGraphMemTrim(int);
cudaError_t cudaDeviceGetGraphMemAttribute(int, int, void*);
cudaError_t cudaDeviceSetGraphMemAttribute(int, int, void*);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();

cudaError_t cudaLibraryUnload(cudaLibrary_t);
cudaError_t cudaLibraryGetKernel(cudaKernel_t*, cudaLibrary_t, const char*);
cudaError_t cudaLibraryGetKernelCount(unsigned*, cudaLibrary_t);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t*, unsigned, cudaLibrary_t);
cudaError_t cudaLibraryGetGlobal(void**, size_t*, cudaLibrary_t, const char*);
cudaError_t cudaLibraryGetManaged(void**, size_t*, cudaLibrary_t, const char*);

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*);
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int);
cudaError_t cudaFuncSetCacheConfig(const void*, int);
cudaError_t cudaFuncSetSharedMemConfig(const void*, int);
cudaError_t cudaFuncGetName(const char**, const void*);
cudaError_t cudaFuncGetParamInfo(const void*, size_t, size_t*, size_t*);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int*, const void*, int, size_t, unsigned);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t*, const void*, int, int);
cudaError_t cudaOccupancyMaxActiveClusters(int*, const void*, const cudaLaunchConfig_t*);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int*, const void*, const cudaLaunchConfig_t*);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*);

cudaError_t cudaFree(void*);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t cudaMallocFromPoolAsync(void**, size_t, cudaMemPool_t, cudaStream_t);
cudaError_t cudaMallocManaged(void**, size_t, unsigned);
cudaError_t cudaMallocPitch(void**, size_t*, size_t, size_t);
cudaError_t cudaHostAlloc(void**, size_t, unsigned);
cudaError_t cudaHostRegister(void*, size_t, unsigned);
cudaError_t cudaHostUnregister(void*);
cudaError_t cudaHostGetDevicePointer(void**, void*, unsigned);
cudaError_t cudaHostGetFlags(unsigned*, void*);
cudaError_t cudaMemGetInfo(size_t*, size_t*);
cudaError_t cudaMemPoolCreate(cudaMemPool_t*, const cudaMemPoolProps*);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t);
cudaError_t cudaMemPoolGetAccess(int*, cudaMemPool_t, cudaMemLocation*);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned, int);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaStreamAddCallback(cudaStream_t, cudaStreamCallback_t, void*, unsigned);
cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned*);
cudaError_t cudaStreamGetPriority(cudaStream_t, int*);
cudaError_t cudaStreamGetId(cudaStream_t, unsigned long long*);
cudaError_t cudaStreamGetDevice(cudaStream_t, int*);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned);
cudaError_t cudaStreamCopyAttributes(cudaStream_t, cudaStream_t);
cudaError_t cudaStreamBeginCapture(cudaStream_t, int);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaStreamIsCapturing(cudaStream_t, int*);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t, int*, unsigned long long*, cudaGraph_t*, const cudaGraphNode_t**,
                                        size_t*);
cudaError_t cudaThreadExchangeStreamCaptureMode(int*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned);
cudaError_t cudaIpcGetMemHandle(cudaIpcHandle*, void*);
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcHandle, unsigned);
cudaError_t cudaIpcCloseMemHandle(void*);
cudaError_t cudaIpcGetEventHandle(cudaIpcHandle*, cudaEvent_t);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcHandle);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);

cudaError_t cudaMalloc3DArray(cudaArray**, const cudaChannelFormatDesc*, cudaExtent, unsigned);
cudaError_t cudaFreeArray(cudaArray*);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc*, cudaExtent*, unsigned*, cudaArray*);
cudaError_t cudaCreateTextureObject(unsigned long long*, const cudaResourceDesc*, const cudaTextureDesc*, const void*);
cudaError_t cudaDestroyTextureObject(unsigned long long);
cudaError_t cudaCreateSurfaceObject(unsigned long long*, const cudaResourceDesc*);
cudaError_t cudaDestroySurfaceObject(unsigned long long);

cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned);
cudaError_t cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphClone(cudaGraph_t*, cudaGraph_t);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, int*);
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, size_t*);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t, cudaGraphNode_t*, size_t*);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaGraph_t);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaKernelNodeParams*);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaMemsetParams*);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                 const cudaHostNodeParams*);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t, cudaKernelNodeParams*);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t, const cudaKernelNodeParams*);
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from);
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, int attribute, void* value);
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t, int attribute, const void* value);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t, cudaGraphNode_t, const cudaKernelNodeParams*);
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*, const void*,
                                        size_t);
}

}  // namespace coalesce::cudart
