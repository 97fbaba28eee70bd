// Devices, contexts and entry points: each function of the driver does what it says.
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/cudart/driver/driver_functions.h"

namespace coalesce::cudart {

extern "C" {
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaInitDevice(int, unsigned, unsigned);
cudaError_t cudaSetDevice(int);
}

namespace {

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

// In a process of its own: here, others have initialised it.
int errors_before_and_after_the_runtime() {
  int device = -1, devices = 0;
  if (cuDeviceGet(&device, 0) != CUDA_ERROR_NOT_INITIALIZED) return 1;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices != 1) return 2;
  return cuDeviceGet(&device, 0) == CUDA_SUCCESS && device == 0 ? 0 : 3;
}
TEST(DriverAlone, TheRuntimesFirstCallInitialisesIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(errors_before_and_after_the_runtime()), ::testing::ExitedWithCode(0), "");
}

// As CUDA 12 and later: cudaSetDevice makes the device's primary context, and makes it current.
int contexts_before_and_after_the_runtimes_choice() {
  CUcontext context = nullptr, primary = nullptr;
  int device = -1, active = -1;
  unsigned flags = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxGetDevice(&device) != CUDA_ERROR_INVALID_CONTEXT) return 1;
  if (cudaInitDevice(0, 0, 0) != cudaSuccess || cuDevicePrimaryCtxGetState(0, &flags, &active) != CUDA_SUCCESS)
    return 2;
  if (active != 1 || cudaInitDevice(1, 0, 0) == cudaSuccess || cudaInitDevice(0, 0, 2) == cudaSuccess) return 3;
  if (cudaSetDevice(0) != cudaSuccess || cuCtxGetDevice(&device) != CUDA_SUCCESS || device != 0) return 4;
  if (cuDevicePrimaryCtxRetain(&primary, 0) != CUDA_SUCCESS || cuCtxGetCurrent(&context) != CUDA_SUCCESS) return 5;
  return context == primary ? 0 : 6;
}
TEST(DriverAlone, TheRuntimesChoiceOfADeviceMakesItsContextCurrent) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(contexts_before_and_after_the_runtimes_choice()), ::testing::ExitedWithCode(0), "");
}

TEST_F(Driver, DevicesSayWhatTheyAre) {
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE) << "it has no flags";
  OK(cuInit(0));
  int number = -1, other = -1;
  OK(cuDriverGetVersion(&number));
  EXPECT_EQ(number, 13000);
  OK(cuDeviceGetCount(&number));
  EXPECT_EQ(number, 1);
  OK(cuDeviceComputeCapability(&number, &other, 0));
  EXPECT_EQ(10 * number + other, 90);
  size_t bytes = 0;
  OK(cuDeviceTotalMem_v2(&bytes, 0));
  EXPECT_EQ(bytes, size_t{143771} << 20) << "nvidia-smi's figure for an H200";
  CUdevprop p{};
  OK(cuDeviceGetProperties(&p, 0));
  EXPECT_EQ(p.maxThreadsPerBlock, 1024);
  EXPECT_EQ(p.maxThreadsDim[2], 64);
  EXPECT_EQ(p.maxGridSize[0], 2147483647);
  EXPECT_EQ(p.maxGridSize[1], 65535);
  EXPECT_EQ(p.sharedMemPerBlock, 49152);
  EXPECT_EQ(p.totalConstantMemory, 65536);
  EXPECT_EQ(p.SIMDWidth, 32);
  EXPECT_EQ(p.regsPerBlock, 65536);
  EXPECT_EQ(p.textureAlign, 512);
  cudaUUID_t id{}, again{};
  OK(cuDeviceGetUuid(&id, 0));
  OK(cuDeviceGetUuid(&again, 0));
  EXPECT_EQ(std::memcmp(&id, &again, sizeof id), 0);
  EXPECT_NE(std::memcmp(&id, std::string(sizeof id, '\0').data(), sizeof id), 0);
  char bus[32] = "";
  OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
  EXPECT_EQ(std::strlen(bus), 12u) << bus << ": domain:bus:device.function";
  number = -1;
  OK(cuDeviceGetByPCIBusId(&number, bus));
  EXPECT_EQ(number, 0);
  EXPECT_NE(cuDeviceGetByPCIBusId(&number, "ffff:ff:1f.0"), CUDA_SUCCESS);
  OK(cuDeviceCanAccessPeer(&number, 0, 0));
  EXPECT_EQ(number, 0) << "a device is no peer of itself";
  EXPECT_EQ(cuDeviceGetP2PAttribute(&number, 1, 0, 0), CUDA_ERROR_INVALID_DEVICE);
  number = -1;
  OK(cuDeviceGetExecAffinitySupport(&number, 0, 0));
  EXPECT_EQ(number, 0);
  OK(cuModuleGetLoadingMode(&number));
  EXPECT_EQ(number, 1) << "CU_MODULE_EAGER_LOADING";
  OK(cuProfilerInitialize(nullptr, nullptr, 0));
  OK(cuProfilerStart());
  OK(cuProfilerStop());
}

TEST_F(Driver, PrimaryContextsHaveAState) {
  unsigned flags = 99;
  int active = -1;
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1) << "the test holds it";
  EXPECT_EQ(flags & 7u, 0u);
  OK(cuDevicePrimaryCtxSetFlags_v2(0, 4));  // CU_CTX_SCHED_BLOCKING_SYNC
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(flags & 7u, 4u);
  OK(cuDevicePrimaryCtxSetFlags_v2(0, 0));
  OK(cuCtxPopCurrent_v2(nullptr));
  OK(cuDevicePrimaryCtxRelease_v2(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT) << "nobody holds it";
  CUcontext again = nullptr;
  OK(cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context_);
  OK(cuDevicePrimaryCtxReset_v2(0));
}

TEST_F(Driver, ContextsSayWhatTheyAre) {
  CUcontext own = nullptr;
  OK(cuCtxCreate_v2(&own, 4, 0));
  unsigned flags = 0, version = 0;
  OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags & 7u, 4u);
  OK(cuCtxSetFlags(1));
  OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags & 7u, 1u);
  OK(cuCtxGetApiVersion(own, &version));
  EXPECT_EQ(version, 3020u);
  unsigned long long id = 0, primary = 0;
  OK(cuCtxGetId(own, &id));
  OK(cuCtxGetId(context_, &primary));
  EXPECT_NE(id, primary);
  int device = -1;
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  device = -1;
  OK(cuCtxGetDevice_v2(&device, nullptr));
  EXPECT_EQ(device, 0);
  OK(cuCtxSynchronize_v2(nullptr));
  int least = 9, greatest = 9;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5) << "an H200's";
  OK(cuCtxResetPersistingL2Cache());
  EXPECT_EQ(cuCtxDisablePeerAccess(context_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(context_, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) << "of the same device";
  OK(cuCtxDestroy_v2(own));
  EXPECT_EQ(cuCtxGetApiVersion(own, &version), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxCreate_v3(&own, nullptr, 0, 0, 0));
  OK(cuCtxGetApiVersion(own, &version));
  EXPECT_EQ(version, 11040u);
  OK(cuCtxDestroy_v2(own));
  EXPECT_EQ(cuCtxCreate_v3(&own, &version, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  OK(cuCtxCreate_v4(&own, nullptr, 0, 0));
  OK(cuCtxGetApiVersion(own, &version));
  EXPECT_EQ(version, 12050u);
  OK(cuCtxDestroy_v2(own));
}

TEST_F(Driver, LimitsAndPreferencesAreKept) {
  constexpr auto kStack = static_cast<cudaLimit>(0), kPrintf = static_cast<cudaLimit>(1);
  size_t value = 0;
  OK(cuCtxSetLimit(kStack, 4096));
  OK(cuCtxGetLimit(&value, kStack));
  EXPECT_EQ(value, 4096u);
  OK(cuCtxSetLimit(kPrintf, 1 << 21));
  OK(cuCtxGetLimit(&value, kPrintf));
  EXPECT_EQ(value, size_t{1} << 21);
  EXPECT_NE(cuCtxGetLimit(&value, static_cast<cudaLimit>(77)), CUDA_SUCCESS);
  int preference = -1;
  OK(cuCtxSetCacheConfig(2));
  OK(cuCtxGetCacheConfig(&preference));
  EXPECT_EQ(preference, 2);
  OK(cuCtxSetSharedMemConfig(1));
  OK(cuCtxGetSharedMemConfig(&preference));
  EXPECT_EQ(preference, 1) << "banks of four bytes";
}

}  // namespace
}  // namespace coalesce::cudart
