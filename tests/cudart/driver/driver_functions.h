// The prototypes of the driver's functions that only the tests of what each does need, beside those of driver_api.h.
#pragma once

#include "tests/cudart/driver/driver_api.h"
#include "tests/cudart/driver/world.h"

namespace coalesce::cudart {

using SharedOfBlock = size_t (*)(int block_threads);

extern "C" {
CUresult cuArray3DCreate_v2(cudaArray** array, const CUDA_ARRAY3D_DESCRIPTOR* d);
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, cudaArray* array);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* out);
CUresult cuCtxGetCacheConfig(int* preference);
CUresult cuCtxGetDevice(CUdevice* out);
CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext);
CUresult cuCtxGetFlags(unsigned* out);
CUresult cuCtxGetId(CUcontext context, unsigned long long* out);
CUresult cuCtxGetLimit(size_t* value, cudaLimit limit);
CUresult cuCtxGetSharedMemConfig(int* config);
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);
CUresult cuCtxResetPersistingL2Cache();
CUresult cuCtxSetCacheConfig(int preference);
CUresult cuCtxSetFlags(unsigned flags);
CUresult cuCtxSetLimit(cudaLimit limit, size_t value);
CUresult cuCtxSetSharedMemConfig(int config);
CUresult cuCtxSynchronize_v2(CUcontext);
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGetDefaultMemPool(cudaMemPool_t* pool, CUdevice device);
CUresult cuDeviceGetExecAffinitySupport(int* supported, int, CUdevice device);
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void* value);
CUresult cuDeviceGetMemPool(cudaMemPool_t* pool, CUdevice device);
CUresult cuDeviceGetP2PAttribute(int* value, int attribute, CUdevice from, CUdevice to);
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device);
CUresult cuDeviceGetProperties(CUdevprop* out, CUdevice device);
CUresult cuDeviceGetUuid(cudaUUID_t* uuid, CUdevice device);
CUresult cuDeviceGraphMemTrim(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, int attribute, void* value);
CUresult cuDeviceSetMemPool(CUdevice device, cudaMemPool_t pool);
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device);
CUresult cuDriverGetVersion(int* version);
CUresult cuEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
CUresult cuEventSynchronize(cudaEvent_t event);
CUresult cuFuncGetName(const char** name, cudaKernel_t function);
CUresult cuFuncGetParamInfo(cudaKernel_t function, size_t index, size_t* offset, size_t* bytes);
CUresult cuFuncIsLoaded(int* state, cudaKernel_t function);
CUresult cuFuncLoad(cudaKernel_t function);
CUresult cuFuncSetAttribute(cudaKernel_t function, cudaFuncAttribute attribute, int value);
CUresult cuFuncSetCacheConfig(cudaKernel_t function, int preference);
CUresult cuFuncSetSharedMemConfig(cudaKernel_t function, int config);
CUresult cuGraphAddChildGraphNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                                  cudaGraph_t child);
CUresult cuGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                size_t count);
CUresult cuGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                            const cudaHostNodeParams* p);
CUresult cuGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* p);
CUresult cuGraphAddKernelNode_v2(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* p);
CUresult cuGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                              const CUDA_MEMCPY3D* p, CUcontext);
CUresult cuGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* needs, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* p, CUcontext);
CUresult cuGraphClone(cudaGraph_t* out, cudaGraph_t graph);
CUresult cuGraphExecKernelNodeSetParams_v2(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const CUDA_KERNEL_NODE_PARAMS* p);
CUresult cuGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
CUresult cuGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t);
CUresult cuGraphKernelNodeGetParams(cudaGraphNode_t node, CUDA_KERNEL_NODE_PARAMS* p);
CUresult cuGraphKernelNodeSetParams_v2(cudaGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS* p);
CUresult cuGraphNodeGetType(cudaGraphNode_t node, int* type);
CUresult cuGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
CUresult cuIpcCloseMemHandle(CUdeviceptr address);
CUresult cuIpcGetEventHandle(cudaIpcHandle* handle, cudaEvent_t event);
CUresult cuIpcOpenEventHandle(cudaEvent_t* event, cudaIpcHandle handle);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, cudaIpcHandle handle, unsigned flags);
CUresult cuKernelGetAttribute(int* value, int attribute, cudaKernel_t kernel, CUdevice device);
CUresult cuKernelGetFunction(cudaKernel_t* function, cudaKernel_t kernel);
CUresult cuKernelSetAttribute(cudaFuncAttribute attribute, int value, cudaKernel_t kernel, CUdevice device);
CUresult cuKernelSetCacheConfig(cudaKernel_t kernel, int preference, CUdevice device);
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned count, unsigned flags);
CUresult cuLaunchCooperativeKernel(cudaKernel_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared, cudaStream_t stream, void** parameters);
CUresult cuLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, cudaKernel_t function, void** parameters, void** extra);
CUresult cuLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned room, cudaLibrary_t library);
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, cudaLibrary_t library, const char* name);
CUresult cuLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name);
CUresult cuLibraryGetKernelCount(unsigned* count, cudaLibrary_t library);
CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, cudaLibrary_t library, const char* name);
CUresult cuLibraryGetModule(cudaLibrary_t* module, cudaLibrary_t library);
CUresult cuLibraryLoadData(cudaLibrary_t* library, const void* image, const int* options, void** values, unsigned count,
                           const int*, void**, unsigned);
CUresult cuLibraryLoadFromFile(cudaLibrary_t* library, const char* path, const int* options, void** values,
                               unsigned count, const int*, void**, unsigned);
CUresult cuLibraryUnload(cudaLibrary_t library);
CUresult cuMemAdvise(CUdeviceptr address, size_t, int, CUdevice);
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, int advice, cudaMemLocation);
CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, cudaStream_t stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
CUresult cuMemAllocHost_v2(void** pointer, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags);
CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle, int type,
                                      unsigned long long flags);
CUresult cuMemFreeAsync(CUdeviceptr address, cudaStream_t stream);
CUresult cuMemFreeHost(void* pointer);
CUresult cuMemGetAccess(unsigned long long* access, const cudaMemLocation* location, CUdeviceptr address);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* p, CUmemGenericAllocationHandle handle);
CUresult cuMemGetInfo_v2(size_t* free, size_t* total);
CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* host, unsigned flags);
CUresult cuMemHostGetFlags(unsigned* flags, void* host);
CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void* pointer);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from, int type);
CUresult cuMemPoolGetAccess(int* flags, cudaMemPool_t pool, cudaMemLocation* location);
CUresult cuMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
CUresult cuMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count);
CUresult cuMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
CUresult cuMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice, cudaStream_t stream);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, cudaMemLocation, unsigned, cudaStream_t stream);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, cudaStream_t stream);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, cudaStream_t stream);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* p);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, cudaStream_t stream);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, cudaStream_t stream);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext target, CUdeviceptr from, CUcontext source, size_t bytes,
                           cudaStream_t stream);
CUresult cuModuleEnumerateFunctions(cudaKernel_t* functions, unsigned room, cudaLibrary_t module);
CUresult cuModuleGetFunctionCount(unsigned* count, cudaLibrary_t module);
CUresult cuModuleGetLoadingMode(int* mode);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, cudaKernel_t function, int blocks, int threads);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, cudaKernel_t function, int threads, size_t shared);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, cudaKernel_t function, int threads,
                                                              size_t shared, unsigned flags);
CUresult cuOccupancyMaxActiveClusters(int* clusters, cudaKernel_t function, const CUlaunchConfig* config);
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, cudaKernel_t function,
                                                   SharedOfBlock shared_of, size_t shared, int limit, unsigned flags);
CUresult cuPointerSetAttribute(const void* value, int attribute, CUdeviceptr);
CUresult cuProfilerInitialize(const char*, const char*, int);
CUresult cuProfilerStart();
CUresult cuProfilerStop();
CUresult cuStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned flags);
CUresult cuStreamAttachMemAsync(cudaStream_t stream, CUdeviceptr address, size_t bytes, unsigned flags);
CUresult cuStreamCopyAttributes(cudaStream_t to, cudaStream_t from);
CUresult cuStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
CUresult cuStreamGetCaptureInfo_v2(cudaStream_t stream, int* status, unsigned long long* id, cudaGraph_t* graph,
                                   const cudaGraphNode_t** nodes, size_t* count);
CUresult cuStreamGetCtx(cudaStream_t stream, CUcontext* context);
CUresult cuStreamGetDevice(cudaStream_t stream, CUdevice* device);
CUresult cuStreamGetFlags(cudaStream_t stream, unsigned* flags);
CUresult cuStreamGetId(cudaStream_t stream, unsigned long long* id);
CUresult cuStreamGetPriority(cudaStream_t stream, int* priority);
CUresult cuStreamIsCapturing(cudaStream_t stream, int* status);
CUresult cuStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
CUresult cuTensorMapEncodeIm2col(void* map, unsigned type, uint32_t rank, void* address, const uint64_t* dims,
                                 const uint64_t* strides, const int32_t* lower, const int32_t* upper, uint32_t channels,
                                 uint32_t pixels, const uint32_t* steps, unsigned interleave, unsigned swizzle,
                                 unsigned l2, unsigned fill);
CUresult cuTensorMapEncodeTiled(void* map, unsigned type, uint32_t rank, void* address, const uint64_t* dims,
                                const uint64_t* strides, const uint32_t* box, const uint32_t* steps,
                                unsigned interleave, unsigned swizzle, unsigned l2, unsigned fill);
CUresult cuTensorMapReplaceAddress(void* map, void* address);
CUresult cuThreadExchangeStreamCaptureMode(int* mode);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
CUresult cuMemsetD16_v2(CUdeviceptr, unsigned short, size_t);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, cudaStream_t);
CUresult cuMemsetD16Async(CUdeviceptr, unsigned short, size_t, cudaStream_t);
CUresult cuMemsetD32Async(CUdeviceptr, unsigned, size_t, cudaStream_t);
CUresult cuMemsetD2D8_v2(CUdeviceptr, size_t, unsigned char, size_t, size_t);
CUresult cuMemsetD2D32_v2(CUdeviceptr, size_t, unsigned, size_t, size_t);
CUresult cuMemsetD2D8Async(CUdeviceptr, size_t, unsigned char, size_t, size_t, cudaStream_t);
CUresult cuMemsetD2D16Async(CUdeviceptr, size_t, unsigned short, size_t, size_t, cudaStream_t);
CUresult cuMemsetD2D32Async(CUdeviceptr, size_t, unsigned, size_t, size_t, cudaStream_t);
}

}  // namespace coalesce::cudart
