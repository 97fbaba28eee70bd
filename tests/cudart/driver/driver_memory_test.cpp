// The driver's API: memory, arrays, streams, events and graphs.
#include <cstring>

#include "tests/cudart/driver/driver_api.h"

namespace coalesce::cudart {
namespace {

TEST_F(Driver, FillsAndCopiesInPlanesAndArrays) {
  CUdeviceptr p = 0;
  size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch_v2(&p, &pitch, 12, 3, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD2D16_v2(p, pitch, 0x1234, 6, 3), CUDA_SUCCESS);
  const CUDA_ARRAY_DESCRIPTOR shape{3, 3, 0x03, 1};
  cudaArray* array = nullptr;
  ASSERT_EQ(cuArrayCreate_v2(&array, &shape), CUDA_SUCCESS);
  CUDA_MEMCPY2D in{};
  in.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  in.srcDevice = p;
  in.srcPitch = pitch;
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  in.dstArray = array;
  in.WidthInBytes = 12;
  in.Height = 3;
  ASSERT_EQ(cuMemcpy2D_v2(&in), CUDA_SUCCESS);
  uint32_t back[2][4];
  std::memset(back, 0, sizeof back);
  CUDA_MEMCPY2D out{};  // two texels of two rows, from (1, 1), to the places from 1 on
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  out.srcXInBytes = 4;
  out.srcY = 1;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back;
  out.dstXInBytes = 4;
  out.dstPitch = sizeof back[0];
  out.WidthInBytes = 8;
  out.Height = 2;
  ASSERT_EQ(cuMemcpy2D_v2(&out), CUDA_SUCCESS);
  for (const auto& row : back) {
    EXPECT_EQ(row[0], 0u);
    EXPECT_EQ(row[1], 0x12341234u);
    EXPECT_EQ(row[2], 0x12341234u);
    EXPECT_EQ(row[3], 0u);
  }
  out.srcXInBytes = 8;  // past the end of its rows
  EXPECT_EQ(cuMemcpy2D_v2(&out), CUDA_ERROR_INVALID_VALUE);
  CUDA_ARRAY3D_DESCRIPTOR seen{};
  ASSERT_EQ(cuArray3DGetDescriptor_v2(&seen, array), CUDA_SUCCESS);
  EXPECT_EQ(seen.Width, 3u);
  EXPECT_EQ(seen.Format, 0x03);
  EXPECT_EQ(seen.NumChannels, 1u);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, MapsMemoryAtTwoPlaces) {
  const CUmemAllocationProp p{1, 0, {1, 0}, nullptr, {}};
  size_t unit = 0;
  ASSERT_EQ(cuMemGetAllocationGranularity(&unit, &p, 0), CUDA_SUCCESS);
  CUdeviceptr room = 0;
  CUmemGenericAllocationHandle memory = 0;
  ASSERT_EQ(cuMemAddressReserve(&room, 2 * unit, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemCreate(&memory, unit, &p, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemCreate(&memory, unit + 1, &p, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemMap(room, unit, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(room + unit, unit, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(room, unit, 0, memory, 0), CUDA_ERROR_INVALID_VALUE) << "mapped already";
  EXPECT_EQ(cuMemsetD32_v2(room, 1, 1), CUDA_ERROR_INVALID_VALUE) << "no access yet";
  const cudaMemAccessDesc access{{1, 0}, 3};
  ASSERT_EQ(cuMemSetAccess(room, 2 * unit, &access, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32_v2(room, 21, 32), CUDA_SUCCESS);
  ASSERT_EQ(scale(room + unit, 2, 32), CUDA_SUCCESS);
  unsigned seen = 0;
  ASSERT_EQ(cuMemcpyDtoH_v2(&seen, room, 4), CUDA_SUCCESS);
  EXPECT_EQ(seen, 42u);
  EXPECT_EQ(cuMemAddressFree(room, 2 * unit), CUDA_ERROR_INVALID_VALUE) << "still mapped";
  ASSERT_EQ(cuMemUnmap(room, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(&seen, room, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(room, 2 * unit), CUDA_SUCCESS);
}

// An address says whose it is.
TEST_F(Driver, FreesWithoutACurrentContext) {
  CUdeviceptr p = 0;
  ASSERT_EQ(cuMemAlloc_v2(&p, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemFree_v2(p), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, AnswersAboutPointers) {
  CUdeviceptr p = 0, base = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuMemAlloc_v2(&p, 100), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetAddressRange_v2(&base, &bytes, p + 50), CUDA_SUCCESS);
  EXPECT_EQ(base, p);
  EXPECT_EQ(bytes, 100u);
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &bytes, 64), CUDA_ERROR_NOT_FOUND);
  unsigned type = 0;
  CUcontext context = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&type, 2, p + 4), CUDA_SUCCESS);
  EXPECT_EQ(type, 2u);
  EXPECT_EQ(cuPointerGetAttribute(&context, 1, p), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(cuPointerGetAttribute(&type, 2, 64), CUDA_ERROR_INVALID_VALUE);
  const int which[] = {2, 11};
  void* data[] = {&type, &base};
  EXPECT_EQ(cuPointerGetAttributes(2, which, data, 64), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(base, 0u);
}

TEST_F(Driver, StreamsEventsAndGraphs) {
  cudaStream_t stream = nullptr;
  cudaEvent_t first = nullptr, last = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&last, 0), CUDA_SUCCESS);
  CUdeviceptr p = 0;
  ASSERT_EQ(cuMemAlloc_v2(&p, 128), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32_v2(p, 1, 32), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(first, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
  ASSERT_EQ(scale(p, 3, 32, stream), CUDA_SUCCESS);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  for (int k = 0; k < 3; ++k) ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(last, stream), CUDA_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, first, last), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  unsigned seen = 0;
  ASSERT_EQ(cuMemcpyDtoH_v2(&seen, p, 4), CUDA_SUCCESS);
  EXPECT_EQ(seen, 27u);
  cudaGraphNode_t node = nullptr;
  size_t one = 1;
  ASSERT_EQ(cuGraphGetNodes(graph, &node, &one), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS params{};
  ASSERT_EQ(cuGraphKernelNodeGetParams_v2(node, &params), CUDA_SUCCESS);
  EXPECT_EQ(params.func, kernel("scale"));
  EXPECT_EQ(params.blockDimX, 32u);
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventDestroy_v2(first), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace coalesce::cudart
