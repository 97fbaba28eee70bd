// Memory: each function of the driver does what it says, for fills, copies, the host, managed memory, pools, handles.
#include <array>
#include <cstring>
#include <vector>

#include "tests/cudart/driver/driver_functions.h"

namespace coalesce::cudart {
namespace {

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

constexpr cudaStream_t kStream = nullptr;

class DriverMemory : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    OK(cuMemAlloc_v2(&p_, kBytes));
    OK(cuMemsetD8_v2(p_, 0, kBytes));
  }
  std::vector<unsigned char> bytes(size_t count) {
    std::vector<unsigned char> v(count);
    EXPECT_EQ(cuMemcpyDtoH_v2(v.data(), p_, count), CUDA_SUCCESS);
    return v;
  }
  using Bytes = std::vector<unsigned char>;
  static constexpr size_t kBytes = 256;
  CUdeviceptr p_ = 0;
};

TEST_F(DriverMemory, Fills) {
  OK(cuMemsetD8_v2(p_, 7, 2));
  OK(cuMemsetD16_v2(p_ + 2, 0x0201, 1));
  OK(cuMemsetD32_v2(p_ + 4, 0x04030201, 1));
  EXPECT_EQ(bytes(9), (Bytes{7, 7, 1, 2, 1, 2, 3, 4, 0}));
  OK(cuMemsetD8Async(p_, 9, 1, kStream));
  OK(cuMemsetD16Async(p_ + 2, 0x0a0b, 1, kStream));
  OK(cuMemsetD32Async(p_ + 4, 0x0c0d0e0f, 1, kStream));
  EXPECT_EQ(bytes(9), (Bytes{9, 7, 0x0b, 0x0a, 0x0f, 0x0e, 0x0d, 0x0c, 0}));
}

TEST_F(DriverMemory, FillsPlanes) {
  constexpr size_t kPitch = 16;
  OK(cuMemsetD2D8_v2(p_, kPitch, 1, 3, 2));
  OK(cuMemsetD2D16_v2(p_ + 4, kPitch, 0x0202, 1, 2));
  OK(cuMemsetD2D32_v2(p_ + 8, kPitch, 0x03030303, 1, 2));
  const Bytes row = {1, 1, 1, 0, 2, 2, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0};
  Bytes expected = row;
  expected.insert(expected.end(), row.begin(), row.end());
  expected.push_back(0);
  EXPECT_EQ(bytes(33), expected);
  OK(cuMemsetD2D8Async(p_, kPitch, 4, 3, 1, kStream));
  OK(cuMemsetD2D16Async(p_ + 4, kPitch, 0x0505, 1, 1, kStream));
  OK(cuMemsetD2D32Async(p_ + 8, kPitch, 0x06060606, 1, 1, kStream));
  EXPECT_EQ(bytes(17), (Bytes{4, 4, 4, 0, 5, 5, 0, 0, 6, 6, 6, 6, 0, 0, 0, 0, 1}));
}

TEST_F(DriverMemory, Copies) {
  const unsigned char in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  unsigned char out[8] = {};
  OK(cuMemcpyHtoDAsync_v2(p_, in, 8, kStream));
  OK(cuMemcpyDtoD_v2(p_ + 16, p_ + 4, 4));
  OK(cuMemcpyDtoDAsync_v2(p_ + 20, p_, 2, kStream));
  OK(cuMemcpy(p_ + 22, p_ + 2, 1));
  OK(cuMemcpyAsync(p_ + 23, p_ + 3, 1, kStream));
  OK(cuMemcpyDtoHAsync_v2(out, p_ + 16, 8, kStream));
  EXPECT_EQ(Bytes(out, out + 8), (Bytes{5, 6, 7, 8, 1, 2, 3, 4}));
  OK(cuMemcpyPeer(p_ + 32, context_, p_, context_, 4));
  OK(cuMemcpyPeerAsync(p_ + 36, context_, p_ + 4, context_, 4, kStream));
  OK(cuMemcpyDtoH_v2(out, p_ + 32, 8));
  EXPECT_EQ(Bytes(out, out + 8), Bytes(in, in + 8));
}

TEST_F(DriverMemory, CopiesPlanesAndBoxes) {
  const unsigned char in[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // three rows of four
  CUDA_MEMCPY2D plane{};
  plane.srcMemoryType = CU_MEMORYTYPE_HOST;
  plane.srcHost = in;
  plane.srcPitch = 4;
  plane.srcXInBytes = plane.srcY = 1;
  plane.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.dstDevice = p_;
  plane.dstPitch = 2;
  plane.WidthInBytes = plane.Height = 2;
  OK(cuMemcpy2DAsync_v2(&plane, kStream));
  EXPECT_EQ(bytes(5), (Bytes{5, 6, 9, 10, 0}));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = in;
  box.srcPitch = 2;
  box.srcHeight = 3;  // two slices of three rows of two
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = p_;
  box.dstPitch = 2;
  box.dstHeight = 1;
  box.srcY = 2;
  box.WidthInBytes = 2;
  box.Height = 1;
  box.Depth = 2;
  OK(cuMemcpy3D_v2(&box));
  EXPECT_EQ(bytes(5), (Bytes{4, 5, 10, 11, 0}));
  box.srcY = 0;
  OK(cuMemcpy3DAsync_v2(&box, kStream));
  EXPECT_EQ(bytes(5), (Bytes{0, 1, 6, 7, 0}));
}

TEST_F(DriverMemory, OfTheHost) {
  void* pinned = nullptr;
  OK(cuMemHostAlloc(&pinned, 64, 2));  // CU_MEMHOSTALLOC_DEVICEMAP
  unsigned flags = 0;
  OK(cuMemHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags & 2u, 2u);
  CUdeviceptr address = 0;
  OK(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
  OK(cuMemsetD8_v2(address, 5, 64));
  EXPECT_EQ(static_cast<unsigned char*>(pinned)[63], 5);
  OK(cuMemFreeHost(pinned));
  EXPECT_EQ(cuMemHostGetFlags(&flags, pinned), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemAllocHost_v2(&pinned, 64));
  OK(cuMemFreeHost(pinned));
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  alignas(4096) static unsigned own[1024];
  own[3] = 20;
  OK(cuMemHostRegister_v2(own, sizeof own, 2));
  OK(cuMemHostGetDevicePointer_v2(&address, own, 0));
  OK(scale(address, 3, 4));
  OK(cuCtxSynchronize());
  EXPECT_EQ(own[3], 60u);
  EXPECT_EQ(cuMemHostRegister_v2(own, sizeof own, 2), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  OK(cuMemHostUnregister(own));
  EXPECT_EQ(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(DriverMemory, Managed) {
  CUdeviceptr managed = 0;
  OK(cuMemAllocManaged(&managed, 64, 1));
  auto* host = reinterpret_cast<unsigned*>(managed);
  host[0] = 4;
  OK(scale(managed, 5, 1));
  OK(cuCtxSynchronize());
  EXPECT_EQ(host[0], 20u);
  OK(cuMemAdvise(managed, 64, 1, 0));
  OK(cuMemAdvise_v2(managed, 64, 1, {1, 0}));
  OK(cuMemPrefetchAsync(managed, 64, 0, kStream));
  OK(cuMemPrefetchAsync_v2(managed, 64, {1, 0}, 0, kStream));
  OK(cuStreamAttachMemAsync(kStream, managed, 0, 1));
  EXPECT_EQ(host[0], 20u);
  const unsigned on = 1;
  OK(cuPointerSetAttribute(&on, 6, managed));  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  size_t free = 0, total = 0, later = 0;
  OK(cuMemGetInfo_v2(&free, &total));
  EXPECT_LT(free, total);
  CUdeviceptr more = 0;
  OK(cuMemAlloc_v2(&more, 64 << 20));
  OK(cuMemGetInfo_v2(&later, &total));
  EXPECT_GE(free - later, size_t{64} << 20);
  OK(cuMemFree_v2(more));
  OK(cuMemFree_v2(managed));
}

TEST_F(DriverMemory, Pools) {
  cudaMemPoolProps properties{};
  properties.allocType = 1;
  properties.location = {1, 0};
  cudaMemPool_t pool = nullptr, seen = nullptr, first = nullptr;
  OK(cuMemPoolCreate(&pool, &properties));
  OK(cuDeviceGetDefaultMemPool(&first, 0));
  OK(cuDeviceGetMemPool(&seen, 0));
  EXPECT_EQ(seen, first);
  OK(cuDeviceSetMemPool(0, pool));
  OK(cuDeviceGetMemPool(&seen, 0));
  EXPECT_EQ(seen, pool);
  constexpr auto kKeep = static_cast<cudaMemPoolAttr>(4), kUsed = static_cast<cudaMemPoolAttr>(7);
  uint64_t number = uint64_t{1} << 30, got = 0;
  OK(cuMemPoolSetAttribute(pool, kKeep, &number));
  OK(cuMemPoolGetAttribute(pool, kKeep, &got));
  EXPECT_EQ(got, number);
  CUdeviceptr a = 0, b = 0;
  OK(cuMemAllocAsync(&a, 100, kStream));
  OK(cuMemAllocFromPoolAsync(&b, 100, pool, kStream));
  OK(cuMemPoolGetAttribute(pool, kUsed, &got));
  EXPECT_GE(got, 200u) << "both are of the device's pool";
  OK(cuMemsetD32_v2(a, 3, 25));
  OK(cuMemFreeAsync(a, kStream));
  OK(cuMemFreeAsync(b, kStream));
  OK(cuMemPoolGetAttribute(pool, kUsed, &got));
  EXPECT_EQ(got, 0u);
  OK(cuMemPoolTrimTo(pool, 0));
  const cudaMemAccessDesc access{{1, 0}, 3};
  OK(cuMemPoolSetAccess(pool, &access, 1));
  int flags = 0;
  cudaMemLocation here{1, 0};
  OK(cuMemPoolGetAccess(&flags, pool, &here));
  EXPECT_EQ(flags, 3) << "reads and writes";
  OK(cuMemPoolDestroy(pool));
  OK(cuDeviceGetMemPool(&seen, 0));
  EXPECT_EQ(seen, first);
  uint64_t graphs = 9;
  OK(cuDeviceGetGraphMemAttribute(0, 0, &graphs));
  EXPECT_EQ(graphs, 0u) << "no graph allocates";
  graphs = 0;
  OK(cuDeviceSetGraphMemAttribute(0, 1, &graphs));
  OK(cuDeviceGraphMemTrim(0));
}

TEST_F(DriverMemory, HandlesOfMappedMemory) {
  CUmemAllocationProp p{1, 1, {1, 0}, nullptr, {}};  // as file descriptors
  constexpr size_t kUnit = size_t{2} << 20;
  CUmemGenericAllocationHandle handle = 0, same = 0, imported = 0;
  OK(cuMemCreate(&handle, kUnit, &p, 0));
  CUmemAllocationProp seen{};
  OK(cuMemGetAllocationPropertiesFromHandle(&seen, handle));
  EXPECT_EQ(seen.requestedHandleTypes, 1);
  EXPECT_EQ(seen.location.type, 1);
  CUdeviceptr at = 0, twice = 0;
  OK(cuMemAddressReserve(&at, kUnit, 0, 0, 0));
  OK(cuMemMap(at, kUnit, 0, handle, 0));
  const cudaMemAccessDesc access{{1, 0}, 3};
  OK(cuMemSetAccess(at, kUnit, &access, 1));
  unsigned long long flags = 0;
  const cudaMemLocation here{1, 0};
  OK(cuMemGetAccess(&flags, &here, at));
  EXPECT_EQ(flags, 3u);
  OK(cuMemRetainAllocationHandle(&same, reinterpret_cast<void*>(at)));
  OK(cuMemRelease(same));
  int file = -1;
  OK(cuMemExportToShareableHandle(&file, handle, 1, 0));
  EXPECT_GE(file, 0);
  OK(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)), 1));
  OK(cuMemAddressReserve(&twice, kUnit, 0, 0, 0));
  OK(cuMemMap(twice, kUnit, 0, imported, 0));
  OK(cuMemSetAccess(twice, kUnit, &access, 1));
  OK(cuMemsetD32_v2(at, 123, 1));
  unsigned got = 0;
  OK(cuMemcpyDtoH_v2(&got, twice, 4));
  EXPECT_EQ(got, 123u) << "one memory at two places";
  for (const CUdeviceptr each : {at, twice}) {
    OK(cuMemUnmap(each, kUnit));
    OK(cuMemAddressFree(each, kUnit));
  }
}

// A process cannot open its own handles; tests/end_to_end has two processes.
TEST_F(DriverMemory, HandlesForOtherProcesses) {
  cudaIpcHandle handle{};
  OK(cuIpcGetMemHandle(&handle, p_));
  CUdeviceptr seen = 0;
  EXPECT_EQ(cuIpcOpenMemHandle_v2(&seen, handle, 1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuIpcCloseMemHandle(p_), CUDA_ERROR_INVALID_VALUE);
  cudaEvent_t event = nullptr, other = nullptr;
  OK(cuEventCreate(&event, cudaEventInterprocess | cudaEventDisableTiming));
  OK(cuIpcGetEventHandle(&handle, event));
  EXPECT_NE(cuIpcOpenEventHandle(&other, handle), CUDA_SUCCESS);
}

}  // namespace
}  // namespace coalesce::cudart
