// The driver's functions that the tests call, and a module for them to run.
#pragma once

#include "cudart/driver/abi.h"
#include "tests/cudart/api.h"

namespace coalesce::cudart {

extern "C" {
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, cudaArray* array);
CUresult cuArrayCreate_v2(cudaArray** array, const CUDA_ARRAY_DESCRIPTOR* d);
CUresult cuArrayDestroy(cudaArray* array);
CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext* out, void*, int affinities, unsigned flags, CUdevice device);
CUresult cuCtxCreate_v4(CUcontext* out, void*, unsigned flags, CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext* out);
CUresult cuCtxPopCurrent_v2(CUcontext* out);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize();
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device);
CUresult cuEventCreate(cudaEvent_t* event, unsigned flags);
CUresult cuEventDestroy(cudaEvent_t event);
CUresult cuStreamDestroy(cudaStream_t stream);
CUresult cuEventDestroy_v2(cudaEvent_t event);
CUresult cuEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
CUresult cuEventQuery(cudaEvent_t event);
CUresult cuEventRecord(cudaEvent_t, cudaStream_t);
CUresult cuFuncGetAttribute(int* value, int attribute, cudaKernel_t function);
CUresult cuGetErrorName(CUresult error, const char** text);
CUresult cuGetErrorString(CUresult error, const char** text);
CUresult cuGetExportTable(const void** table, const void*);
CUresult cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags);
CUresult cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status);
CUresult cuGraphExecDestroy(cudaGraphExec_t exec);
CUresult cuGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
CUresult cuGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags);
CUresult cuGraphKernelNodeGetParams_v2(cudaGraphNode_t node, CUDA_KERNEL_NODE_PARAMS* p);
CUresult cuGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
CUresult cuInit(unsigned flags);
CUresult cuLaunchKernel(cudaKernel_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, cudaStream_t stream, void** parameters, void** extra);
CUresult cuLinkAddData_v2(CUlinkState state, int type, void* data, size_t bytes, const char* name, unsigned, const int*,
                          void**);
CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char* path, unsigned, const int*, void**);
CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes);
CUresult cuLinkCreate_v2(unsigned count, const int* options, void** values, CUlinkState* out);
CUresult cuLinkDestroy(CUlinkState state);
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes);
CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags);
CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element);
CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* p,
                     unsigned long long flags);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address);
CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* p, int option);
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const cudaMemAccessDesc* list, size_t count);
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* p);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemsetD2D16_v2(CUdeviceptr, size_t, unsigned short, size_t, size_t);
CUresult cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
CUresult cuModuleGetFunction(cudaKernel_t* function, cudaLibrary_t module, const char* name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, cudaLibrary_t module, const char* name);
CUresult cuModuleLoad(cudaLibrary_t* module, const char* path);
CUresult cuModuleLoadData(cudaLibrary_t* module, const void* image);
CUresult cuModuleLoadDataEx(cudaLibrary_t* module, const void* image, unsigned count, const int* options,
                            void** values);
CUresult cuModuleUnload(cudaLibrary_t module);
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, cudaKernel_t function, size_t (*)(int), size_t shared,
                                          int limit);
CUresult cuPointerGetAttribute(void* data, int attribute, CUdeviceptr address);
CUresult cuPointerGetAttributes(unsigned count, const int* attributes, void** data, CUdeviceptr address);
CUresult cuStreamBeginCapture_v2(cudaStream_t, int);
CUresult cuStreamCreate(cudaStream_t* stream, unsigned flags);
CUresult cuStreamDestroy_v2(cudaStream_t stream);
CUresult cuStreamEndCapture(cudaStream_t, cudaGraph_t*);
CUresult cuStreamQuery(cudaStream_t);
CUresult cuStreamSynchronize(cudaStream_t);
}

// scale(unsigned* to, unsigned factor): to[tid] *= factor. fault(): writes near null. Variable: unsigned seed = 5.
inline constexpr char kPtx[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 seed = 5;
.visible .entry scale(.param .u64 to, .param .u32 factor)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [to];
	ld.param.u32 %r1, [factor];
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	mul.lo.u32 %r4, %r3, %r1;
	st.global.u32 [%rd3], %r4;
	ret;
}
.visible .entry fault()
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<2>;
	mov.u64 %rd1, 16;
	mov.u32 %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}
)";

// Starts and ends with nothing: no context, no machine.
class Driver : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
  }
  void TearDown() override {
    while (cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS) {}
    cuDevicePrimaryCtxRelease_v2(0);
    cuDevicePrimaryCtxReset_v2(0);
    cudaGetLastError();
  }
  cudaKernel_t kernel(const char* name) {
    if (module_ == nullptr) {
      EXPECT_EQ(cuModuleLoadData(&module_, kPtx), CUDA_SUCCESS);
    }
    cudaKernel_t function = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&function, module_, name), CUDA_SUCCESS);
    return function;
  }
  CUresult scale(CUdeviceptr to, unsigned factor, unsigned threads, cudaStream_t stream = nullptr) {
    void* parameters[] = {&to, &factor};
    return cuLaunchKernel(kernel("scale"), 1, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
  }

  CUcontext context_ = nullptr;
  cudaLibrary_t module_ = nullptr;
};

}  // namespace coalesce::cudart
