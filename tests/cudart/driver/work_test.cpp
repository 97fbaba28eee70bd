// Kernels, libraries, streams, graphs and textures: each function of the driver does what it says.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "tests/cudart/driver/driver_functions.h"

namespace coalesce::cudart {

extern "C" CUresult cuOccupancyMaxPotentialClusterSize(int* size, cudaKernel_t function, const CUlaunchConfig* config);

namespace {

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

class DriverWork : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    OK(cuMemAlloc_v2(&p_, 256));
    OK(cuMemsetD32_v2(p_, 1, 64));
  }
  unsigned first() {
    unsigned value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, p_, 4), CUDA_SUCCESS);
    return value;
  }
  // A node that multiplies by `factor`; the arguments are copied when it is made.
  CUDA_KERNEL_NODE_PARAMS times(unsigned factor) {
    factor_ = factor;
    arguments_[0] = &p_;
    arguments_[1] = &factor_;
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = kernel("scale");
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = arguments_;
    return p;
  }
  CUdeviceptr p_ = 0;
  unsigned factor_ = 0;
  void* arguments_[2] = {};
};

TEST_F(DriverWork, FunctionsSayWhatTheyAre) {
  const cudaKernel_t f = kernel("scale");
  const char* name = nullptr;
  OK(cuFuncGetName(&name, f));
  EXPECT_STREQ(name, "scale");
  size_t offset = 9, bytes = 9;
  OK(cuFuncGetParamInfo(f, 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cuFuncGetParamInfo(f, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  OK(cuFuncLoad(f));
  int value = 0;
  OK(cuFuncIsLoaded(&value, f));
  EXPECT_EQ(value, 1) << "CU_FUNCTION_LOADING_STATE_LOADED";
  OK(cuFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
  OK(cuFuncGetAttribute(&value, 8, f));
  EXPECT_EQ(value, 100000);
  OK(cuKernelSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize, 90000, f, 0));
  OK(cuKernelGetAttribute(&value, 8, f, 0));
  EXPECT_EQ(value, 90000);
  OK(cuFuncSetCacheConfig(f, 1));
  OK(cuKernelSetCacheConfig(f, 1, 0));
  OK(cuFuncSetSharedMemConfig(f, 1));
  cudaKernel_t same = nullptr;
  OK(cuKernelGetFunction(&same, f));
  EXPECT_EQ(same, f);
}

TEST_F(DriverWork, OccupancyOfAMultiprocessor) {
  const cudaKernel_t f = kernel("scale");
  int blocks = 0, block = 0, clusters = 0;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
  EXPECT_EQ(blocks, 8) << "2048 threads";
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, 32, 0, 0));
  EXPECT_EQ(blocks, 32) << "the most blocks";
  OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&blocks, &block, f, nullptr, 0, 0, 0));
  EXPECT_EQ(block, 1024);
  size_t bytes = 0;
  OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 256));
  EXPECT_EQ(bytes, size_t{233472 / 2}) << "228 KiB for two blocks, as an H100 says";
  CUlaunchConfig config{1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, 0};
  OK(cuOccupancyMaxActiveClusters(&clusters, f, &config));
  EXPECT_EQ(clusters, 8 * 132) << "a cluster of one block is a block";
  int largest = 0;
  OK(cuOccupancyMaxPotentialClusterSize(&largest, f, &config));
  EXPECT_EQ(largest, 8) << "the portable size";
  EXPECT_EQ(cuOccupancyMaxPotentialClusterSize(nullptr, f, &config), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxPotentialClusterSize(&largest, f, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverWork, LibrariesHoldKernelsAndVariables) {
  cudaLibrary_t library = nullptr, module = nullptr;
  OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  OK(cuLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 2u);
  cudaKernel_t kernels[2] = {}, f = nullptr;
  OK(cuLibraryEnumerateKernels(kernels, 2, library));
  OK(cuLibraryGetKernel(&f, library, "scale"));
  EXPECT_TRUE(kernels[0] == f || kernels[1] == f);
  CUdeviceptr seed = 0;
  size_t bytes = 0;
  OK(cuLibraryGetGlobal(&seed, &bytes, library, "seed"));
  EXPECT_EQ(bytes, 4u);
  unsigned value = 0;
  OK(cuMemcpyDtoH_v2(&value, seed, 4));
  EXPECT_EQ(value, 5u);
  EXPECT_EQ(cuLibraryGetManaged(&seed, &bytes, library, "seed"), CUDA_ERROR_NOT_FOUND) << "it is of the device";
  OK(cuLibraryGetModule(&module, library));
  OK(cuModuleGetFunctionCount(&count, module));
  EXPECT_EQ(count, 2u);
  OK(cuModuleEnumerateFunctions(kernels, 1, module));
  EXPECT_NE(kernels[0], nullptr);
  OK(cuLibraryUnload(library));
  EXPECT_EQ(cuLibraryGetKernelCount(&count, library), CUDA_ERROR_INVALID_HANDLE);
  const std::string path = ::testing::TempDir() + "library." + std::to_string(getpid()) + ".ptx";
  std::ofstream(path) << kPtx;
  OK(cuLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  unlink(path.c_str());
  OK(cuLibraryGetKernel(&f, library, "fault"));
  OK(cuLibraryUnload(library));
}

TEST_F(DriverWork, LaunchesInEveryForm) {
  const cudaKernel_t f = kernel("scale");
  unsigned factor = 2;
  void* arguments[] = {&p_, &factor};
  OK(cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments));
  EXPECT_EQ(first(), 2u);
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
  OK(cuLaunchKernelEx(&config, f, arguments, nullptr));
  EXPECT_EQ(first(), 4u);
  cudaStream_t stream = nullptr;
  OK(cuStreamCreate(&stream, 0));
  CUDA_LAUNCH_PARAMS on_device{f, 1, 1, 1, 1, 1, 1, 0, stream, arguments};
  OK(cuLaunchCooperativeKernelMultiDevice(&on_device, 1, 0));
  EXPECT_EQ(first(), 8u);
  EXPECT_EQ(cuLaunchCooperativeKernelMultiDevice(&on_device, 2, 0), CUDA_ERROR_INVALID_VALUE) << "there is one device";
  on_device.hStream = nullptr;
  EXPECT_EQ(cuLaunchCooperativeKernelMultiDevice(&on_device, 1, 0), CUDA_ERROR_INVALID_HANDLE) << "the default stream";
  EXPECT_EQ(first(), 8u);
  OK(cuStreamDestroy_v2(stream));
  static int called;
  called = 0;
  OK(cuLaunchHostFunc(nullptr, [](void* data) { called += *static_cast<int*>(data); }, &factor));
  OK(cuStreamAddCallback(
      nullptr, [](cudaStream_t, cudaError_t error, void*) { called += error == cudaSuccess ? 10 : 0; }, nullptr, 0));
  OK(cuCtxSynchronize());
  EXPECT_EQ(called, 12);
}

TEST_F(DriverWork, StreamsSayWhatTheyAre) {
  cudaStream_t stream = nullptr, other = nullptr;
  OK(cuStreamCreateWithPriority(&stream, 1, -3));
  OK(cuStreamCreate(&other, 0));
  unsigned flags = 9;
  OK(cuStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, 1u);
  int number = 9;
  OK(cuStreamGetPriority(stream, &number));
  EXPECT_EQ(number, -3);
  OK(cuStreamGetDevice(stream, &number));
  EXPECT_EQ(number, 0);
  unsigned long long id = 0, another = 0;
  OK(cuStreamGetId(stream, &id));
  OK(cuStreamGetId(other, &another));
  EXPECT_NE(id, another);
  CUcontext context = nullptr;
  OK(cuStreamGetCtx(stream, &context));
  EXPECT_EQ(context, context_);
  OK(cuStreamCopyAttributes(other, stream));
  cudaEvent_t event = nullptr;
  OK(cuEventCreate(&event, 0));
  OK(cuEventRecordWithFlags(event, stream, 0));
  OK(cuEventSynchronize(event));
  OK(cuStreamWaitEvent(other, event, 0));
  OK(cuStreamDestroy_v2(other));
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverWork, CapturesSayWhatTheyAre) {
  cudaStream_t stream = nullptr;
  OK(cuStreamCreate(&stream, 1));
  int mode = 2, status = 9;  // relaxed
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, 0) << "global";
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, 2);
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, 0);
  OK(cuStreamBeginCapture_v2(stream, 0));
  OK(scale(p_, 3, 1, stream));
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, 1);
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr, ended = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 9;
  OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count));
  EXPECT_EQ(count, 1u) << "what comes next waits for the kernel";
  OK(cuStreamEndCapture(stream, &ended));
  EXPECT_EQ(ended, graph);
  EXPECT_EQ(first(), 1u) << "captured, not run";
}

TEST_F(DriverWork, GraphsOfEveryNode) {
  cudaGraph_t graph = nullptr, inner = nullptr, copy = nullptr;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphCreate(&inner, 0));
  cudaGraphNode_t set = nullptr, work = nullptr, move = nullptr, host = nullptr, child = nullptr, empty = nullptr,
                  in = nullptr;
  const CUDA_MEMSET_NODE_PARAMS fill{p_, 0, 10, 4, 1, 1};
  OK(cuGraphAddMemsetNode(&set, graph, nullptr, 0, &fill, context_));
  CUDA_KERNEL_NODE_PARAMS p = times(3);
  OK(cuGraphAddKernelNode_v2(&work, graph, &set, 1, &p));
  p = times(2);
  OK(cuGraphAddKernelNode(&in, inner, nullptr, 0, &p));
  OK(cuGraphAddChildGraphNode(&child, graph, &work, 1, inner));
  static unsigned called, out;
  called = out = 0;
  CUDA_MEMCPY3D back{};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = p_;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = &out;
  back.WidthInBytes = 4;
  back.Height = back.Depth = 1;
  OK(cuGraphAddMemcpyNode(&move, graph, &child, 1, &back, context_));
  const cudaHostNodeParams call{[](void*) { called = out; }, nullptr};
  OK(cuGraphAddHostNode(&host, graph, nullptr, 0, &call));
  OK(cuGraphAddEmptyNode(&empty, graph, nullptr, 0));
  OK(cuGraphAddDependencies(graph, &move, &empty, 1));
  OK(cuGraphAddDependencies(graph, &empty, &host, 1));
  int type = -1;
  OK(cuGraphNodeGetType(host, &type));
  EXPECT_EQ(type, 3) << "CU_GRAPH_NODE_TYPE_HOST";
  cudaGraphNode_t roots[6] = {};
  size_t count = 6;
  OK(cuGraphGetRootNodes(graph, roots, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(roots[0], set);
  cudaGraphExec_t exec = nullptr;
  OK(cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(cuGraphUpload(exec, nullptr));
  OK(cuGraphLaunch(exec, nullptr));
  OK(cuCtxSynchronize());
  EXPECT_EQ(called, 60u) << "set, times 3, times 2, copied, seen by the host in this order";
  p = times(7);
  OK(cuGraphExecKernelNodeSetParams_v2(exec, work, &p));
  OK(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(called, 140u);
  OK(cuGraphClone(&copy, graph));
  p = times(5);
  OK(cuGraphKernelNodeSetParams_v2(work, &p));
  CUDA_KERNEL_NODE_PARAMS seen{};
  OK(cuGraphKernelNodeGetParams(work, &seen));
  EXPECT_EQ(*static_cast<unsigned*>(seen.kernelParams[1]), 5u);
  for (const auto& [of, expected] : {std::pair(graph, 100u), std::pair(copy, 60u)}) {
    cudaGraphExec_t each = nullptr;
    OK(cuGraphInstantiateWithFlags(&each, of, 0));
    OK(cuGraphLaunch(each, nullptr));
    EXPECT_EQ(called, expected);
    OK(cuGraphExecDestroy(each));
  }
  OK(cuGraphDestroyNode(host));
  count = 6;
  OK(cuGraphGetNodes(graph, roots, &count));
  EXPECT_EQ(count, 5u);
  OK(cuGraphDestroy(graph));
  EXPECT_EQ(cuGraphGetNodes(graph, roots, &count), CUDA_ERROR_INVALID_VALUE);
}

// A kernel reads a texture of a box of integers: as they are, and as fractions.
TEST_F(DriverWork, TexturesSurfacesAndArrays) {
  cudaArray* array = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR shape{4, 2, 0, 0x01, 1, 2};  // bytes; CUDA_ARRAY3D_SURFACE_LDST
  OK(cuArray3DCreate_v2(&array, &shape));
  CUDA_ARRAY_DESCRIPTOR seen{};
  OK(cuArrayGetDescriptor_v2(&seen, array));
  EXPECT_EQ(seen.Width, 4u);
  EXPECT_EQ(seen.Height, 2u);
  const unsigned char in[8] = {0, 51, 102, 153, 204, 255, 1, 2};
  CUDA_MEMCPY2D fill{};
  fill.srcMemoryType = CU_MEMORYTYPE_HOST;
  fill.srcHost = in;
  fill.srcPitch = 4;
  fill.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  fill.dstArray = array;
  fill.WidthInBytes = 4;
  fill.Height = 2;
  OK(cuMemcpy2D_v2(&fill));
  static constexpr char kRead[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry read(.param .u64 t, .param .u64 to)
{
	.reg .b32 %r<5>;
	.reg .f32 %f<5>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [t];
	ld.param.u64 %rd2, [to];
	mov.f32 %f1, 0f3FE00000;
	tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f1}];
	st.global.u32 [%rd2], %r1;
	ret;
}
)";
  cudaLibrary_t module = nullptr;
  cudaKernel_t read = nullptr;
  OK(cuModuleLoadData(&module, kRead));
  OK(cuModuleGetFunction(&read, module, "read"));
  CUDA_RESOURCE_DESC resource{};
  resource.res.array.hArray = array;
  const float fraction = 1;
  unsigned bits = 0;
  std::memcpy(&bits, &fraction, 4);
  struct Case {
    unsigned flags;
    int filter;
    unsigned expected;
  };
  // At 1.75 in the last row: three quarters of 255 and one of 1 for the linear filter, 191.5, which is rounded up.
  for (const auto& [flags, filter, expected] :
       {Case{CU_TRSF_READ_AS_INTEGER, 0, 255u}, Case{0u, 0, bits}, Case{CU_TRSF_READ_AS_INTEGER, 1, 192u}}) {
    CUDA_TEXTURE_DESC how{};
    how.filterMode = filter;
    how.flags = flags;
    unsigned long long texture = 0;
    OK(cuTexObjectCreate(&texture, &resource, &how, nullptr));
    void* arguments[] = {&texture, &p_};
    OK(cuLaunchKernel(read, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    EXPECT_EQ(first(), expected);
    OK(cuTexObjectDestroy(texture));
    EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS) << "as on an H100";
  }
  unsigned long long surface = 0;
  OK(cuSurfObjectCreate(&surface, &resource));
  OK(cuSurfObjectDestroy(surface));
  EXPECT_EQ(cuSurfObjectDestroy(surface), CUDA_SUCCESS) << "as on an H100";
}

// Bytes of the maps themselves: tests/hardware compares them with a driver's.
TEST_F(DriverWork, TensorMapsGetAnotherAddress) {
  struct alignas(64) Map {
    unsigned char bytes[128];
  };
  const uint64_t dims[4] = {64, 8, 8, 2}, strides[3] = {64, 512, 4096};
  const uint32_t box[4] = {16, 4, 1, 1}, steps[4] = {1, 1, 1, 1};
  const int32_t lower[2] = {0, 0}, upper[2] = {0, 0};
  const auto tiled = [&](Map& m, CUdeviceptr at) {
    return cuTensorMapEncodeTiled(&m, 0, 4, reinterpret_cast<void*>(at), dims, strides, box, steps, 0, 0, 0, 0);
  };
  const auto columns = [&](Map& m, CUdeviceptr at) {
    return cuTensorMapEncodeIm2col(&m, 0, 4, reinterpret_cast<void*>(at), dims, strides, lower, upper, 16, 4, steps, 0,
                                   0, 0, 0);
  };
  const auto check = [&](auto&& encode) {
    Map first{}, second{};
    OK(encode(first, p_));
    OK(encode(second, p_ + 4096));
    EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
    OK(cuTensorMapReplaceAddress(&first, reinterpret_cast<void*>(p_ + 4096)));
    EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
    EXPECT_EQ(cuTensorMapReplaceAddress(&first, reinterpret_cast<void*>(p_ + 1)), CUDA_ERROR_INVALID_VALUE);
  };
  check(tiled);
  check(columns);
}

}  // namespace
}  // namespace coalesce::cudart
