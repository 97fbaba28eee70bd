// The exported functions that the tests call, and a module for them to run.
#pragma once

#include <gtest/gtest.h>

#include "cudart/api/properties.h"
#include "cudart/core/abi.h"
#include "cudart/core/fatbin.h"

namespace coalesce::cudart {

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t);
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaMallocManaged(void**, size_t, unsigned);
cudaError_t cudaMallocPitch(void**, size_t*, size_t, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaHostRegister(void*, size_t, unsigned);
cudaError_t cudaHostUnregister(void*);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*);
cudaError_t cudaMemGetInfo(size_t*, size_t*);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms*);
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyFromSymbol(void*, const void*, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaGetSymbolSize(size_t*, const void*);
cudaError_t cudaMemset(void*, int, size_t);
cudaError_t cudaMemset2D(void*, size_t, int, size_t, size_t);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaGetDeviceProperties(Properties13*, int);
cudaError_t cudaGetDeviceProperties_v2(Properties12*, int);
cudaError_t cudaDeviceGetAttribute(int*, int, int);
cudaError_t cudaSetDevice(int);
cudaError_t cudaLibraryLoadData(cudaLibrary_t*, const void*, int*, void**, unsigned, int*, void**, unsigned);
cudaError_t cudaLibraryUnload(cudaLibrary_t);
cudaError_t cudaLibraryGetKernel(cudaKernel_t*, cudaLibrary_t, const char*);
}

struct Wrapper {
  uint32_t magic = kWrapperMagic, version = 1;
  const void* data = nullptr;
  void* unused = nullptr;
};

// Kernels: store(int* to, int value): *to = value. big(): 40 KiB of static shared memory. Variable: int table[4].
inline constexpr char kModule[] = R"(.version 8.0
.target sm_80
.address_size 64

.visible .global .align 4 .b32 table[4];

.visible .entry store(
	.param .u64 store_param_0,
	.param .u32 store_param_1
)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [store_param_0];
	ld.param.u32 %r1, [store_param_1];
	cvta.to.global.u64 %rd2, %rd1;
	st.global.u32 [%rd2], %r1;
	ret;
}

.visible .entry big()
{
	.shared .align 4 .b8 room[40960];
	.reg .b32 %r<3>;
	mov.u32 %r1, room;
	mov.u32 %r2, 1;
	st.shared.u32 [%r1], %r2;
	ret;
}
)";

// Registers kModule as a program's start-up code does; every test starts and ends with a clean context.
class WithModule : public ::testing::Test {
 protected:
  void SetUp() override {
    wrapper_.data = kModule;
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterFunction(handle_, &store_, nullptr, "store", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFunction(handle_, &big_, nullptr, "big", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterVar(handle_, &table_, nullptr, "table", 0, 16, 0, 0);
    __cudaRegisterFatBinaryEnd(handle_);
  }
  void TearDown() override {
    __cudaUnregisterFatBinary(handle_);
    cudaDeviceReset();
    cudaGetLastError();
  }
  cudaError_t run_store(int* to, int value, dim3 grid = {}, dim3 block = {}, size_t shared = 0) {
    void* arguments[] = {&to, &value};
    return cudaLaunchKernel(&store_, grid, block, arguments, shared, nullptr);
  }

  Wrapper wrapper_;
  void** handle_ = nullptr;
  // Stand for the host's stubs and shadow variable: only their addresses matter.
  char store_ = 0, big_ = 0, table_ = 0;
};

}  // namespace coalesce::cudart
