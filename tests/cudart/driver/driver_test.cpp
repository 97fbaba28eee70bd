// The driver's API: what it does, its error codes, and that it shares its state with the runtime's.
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cudart/driver/abi.h"
#include "tests/cudart/api.h"
#include "tests/cudart/driver/driver_functions.h"

namespace coalesce::cudart {

extern "C" {
cudaError_t cudaGetDriverEntryPoint(const char*, void**, unsigned long long, int*);
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long, int*);
}

namespace {

TEST_F(Driver, CopiesLaunchesAndReadsBack) {
  std::vector<unsigned> host(32);
  std::iota(host.begin(), host.end(), 0u);
  CUdeviceptr device = 0;
  ASSERT_EQ(cuMemAlloc_v2(&device, 128), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoD_v2(device, host.data(), 128), CUDA_SUCCESS);
  ASSERT_EQ(scale(device, 3, 32), CUDA_SUCCESS);
  std::vector<unsigned> back(32);
  ASSERT_EQ(cuMemcpyDtoH_v2(back.data(), device, 128), CUDA_SUCCESS);
  for (unsigned k = 0; k < 32; ++k) EXPECT_EQ(back[k], 3 * k);

  // The same arguments as one block.
  struct {
    CUdeviceptr to;
    unsigned factor;
  } block{device, 2};
  size_t bytes = 12;
  void* extra[] = {reinterpret_cast<void*>(1), &block, reinterpret_cast<void*>(2), &bytes, nullptr};
  ASSERT_EQ(cuLaunchKernel(kernel("scale"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH_v2(back.data(), device, 128), CUDA_SUCCESS);
  for (unsigned k = 0; k < 32; ++k) EXPECT_EQ(back[k], 6 * k);
  EXPECT_EQ(cuMemFree_v2(device), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(device), CUDA_ERROR_INVALID_VALUE) << "freed already";
}

TEST_F(Driver, SharesItsStateWithTheRuntime) {
  int* ours = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&ours), 128), cudaSuccess);
  const auto device = reinterpret_cast<CUdeviceptr>(ours);
  ASSERT_EQ(cuMemsetD32_v2(device, 7, 32), CUDA_SUCCESS);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(scale(device, 2, 32, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  int seen = 0;
  ASSERT_EQ(cudaMemcpy(&seen, ours, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(seen, 14);
  // A function of the driver's is a kernel of the runtime's.
  unsigned factor = 5;
  void* parameters[] = {&ours, &factor};
  ASSERT_EQ(cudaLaunchKernel(kernel("scale"), {}, {}, parameters, 0, stream), cudaSuccess);
  ASSERT_EQ(cuMemcpyDtoH_v2(&seen, device, 4), CUDA_SUCCESS);
  EXPECT_EQ(seen, 70);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  // The driver's errors are not the runtime's last ones.
  cudaGetLastError();
  EXPECT_EQ(cuMemFree_v2(12345), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(Driver, ContextsAreAStackOfEachThread) {
  CUcontext own = nullptr, seen = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
  EXPECT_NE(own, context_);
  EXPECT_EQ(cuCtxGetCurrent(&seen), CUDA_SUCCESS);
  EXPECT_EQ(seen, own);
  std::thread([&] {
    CUcontext other = own;
    EXPECT_EQ(cuCtxGetCurrent(&other), CUDA_SUCCESS);
    EXPECT_EQ(other, nullptr);
    CUdeviceptr p = 0;
    EXPECT_EQ(cuMemAlloc_v2(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxSetCurrent(own), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&p, 4), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(cuCtxPopCurrent_v2(&seen), CUDA_SUCCESS);
  EXPECT_EQ(seen, own);
  EXPECT_EQ(cuCtxGetCurrent(&seen), CUDA_SUCCESS);
  EXPECT_EQ(seen, context_);
  ASSERT_EQ(cuCtxPushCurrent_v2(own), CUDA_SUCCESS);
  std::thread([&] { EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS); }).join();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxPushCurrent_v2(own), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy_v2(context_), CUDA_ERROR_INVALID_CONTEXT) << "the primary one is released, not destroyed";
}

TEST_F(Driver, AContextOfItsOwnFreesItsMemory) {
  const auto free_bytes = [] {
    size_t bytes = 0, all = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&bytes, &all), CUDA_SUCCESS);
    return bytes;
  };
  constexpr size_t kBytes = 8 << 20;
  CUdeviceptr kept = 0, freed = 0, again = 0, lost = 0, pitched = 0, managed = 0;
  size_t pitch = 0;
  ASSERT_EQ(cuMemAlloc_v2(&kept, kBytes), CUDA_SUCCESS);
  const size_t before = free_bytes();
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&freed, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&lost, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocPitch_v2(&pitched, &pitch, 1 << 16, 64, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocManaged(&managed, kBytes, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree_v2(freed), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  ASSERT_EQ(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&again, kBytes), CUDA_SUCCESS);
  EXPECT_LT(free_bytes(), before - 2 * kBytes);
  ASSERT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before - kBytes);
  EXPECT_EQ(cuMemFree_v2(lost), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8_v2(again, 0, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(again), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(kept), CUDA_SUCCESS);
}

// As NVIDIA's sample memMapIPCDrv does.
TEST_F(Driver, PlacesOfMemoryNeedNoContext) {
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
  std::thread([&] { EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS); }).join();
  CUdeviceptr place = 0, memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuMemAddressReserve(&place, 2 << 20, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(place, 2 << 20), CUDA_SUCCESS);
}

TEST_F(Driver, FirstFormsOfFunctionsOfHandles) {  // LLVM's OpenMP plug-in asks for them
  cudaEvent_t event = nullptr;
  cudaStream_t stream = nullptr;
  CUcontext own = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Driver, FourThreadsWithContextsOfTheirOwn) {
  kernel("scale");
  std::vector<std::thread> threads;
  std::vector<unsigned> sums(4);
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([this, t, &sums] {
      CUcontext own = nullptr;
      CUdeviceptr p = 0;
      std::vector<unsigned> back(64);
      ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
      ASSERT_EQ(cuMemAlloc_v2(&p, 256), CUDA_SUCCESS);
      ASSERT_EQ(cuMemsetD32_v2(p, t + 1, 64), CUDA_SUCCESS);
      for (int k = 0; k < 3; ++k) ASSERT_EQ(scale(p, 2, 64), CUDA_SUCCESS);
      ASSERT_EQ(cuMemcpyDtoH_v2(back.data(), p, 256), CUDA_SUCCESS);
      sums[t] = std::accumulate(back.begin(), back.end(), 0u);
      ASSERT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
    });
  for (auto& t : threads) t.join();
  for (unsigned t = 0; t < 4; ++t) EXPECT_EQ(sums[t], 64 * 8 * (t + 1));
}

TEST_F(Driver, ModulesSayWhyTheyCannotBeLoaded) {
  char log[200] = "before", information[8] = "before";
  int options[] = {5, 6, 3, 4};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), information, reinterpret_cast<void*>(sizeof information)};
  cudaLibrary_t module = nullptr;
  EXPECT_EQ(
      cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n", 4, options, values),
      CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(log, "nonsense"), nullptr) << log;
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), std::strlen(log));
  EXPECT_STREQ(information, "");
  unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 65, 0, 8};
  cubin[48] = 4, cubin[49] = 90;  // as nvcc 13 writes them
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadData(&module, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
  cubin[8] = 7, cubin[48] = 80;  // nvcc 12
  EXPECT_EQ(cuModuleLoadData(&module, cubin), CUDA_ERROR_NO_BINARY_FOR_GPU);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cubin for sm_90"), std::string::npos) << said;
  EXPECT_NE(said.find("cubin for sm_80"), std::string::npos) << said;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadData(&module, ".version 99.1\n.target sm_80\n.address_size 64\nnonsense\n"),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("of version 99.1"), std::string::npos);
  EXPECT_EQ(cuModuleLoadData(&module, ".version 99.1\n.target sm_80\n.address_size 64\n"), CUDA_SUCCESS) << "has all";
  EXPECT_EQ(cuModuleLoadData(&module, "neither PTX nor machine code"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoad(&module, "/nowhere.ptx"), CUDA_ERROR_FILE_NOT_FOUND);

  cudaKernel_t function = nullptr;
  kernel("scale");
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(&function, nullptr, "scale"), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr seed = 0;
  size_t bytes = 0;
  unsigned value = 0;
  ASSERT_EQ(cuModuleGetGlobal_v2(&seed, &bytes, module_, "seed"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  ASSERT_EQ(cuMemcpyDtoH_v2(&value, seed, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 5u);
  const cudaKernel_t stale = kernel("scale");
  ASSERT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(stale, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

// Two texts, one of which calls the other's function.
TEST_F(Driver, LinksSeveralTexts) {
  constexpr char kHead[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const std::string callee = std::string(kHead) +
                             ".visible .func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\n"
                             "ld.param.u32 %r1, [x];\nadd.u32 %r2, %r1, %r1;\nst.param.b32 [r], %r2;\nret;\n}\n";
  const std::string caller = std::string(kHead) +
                             ".extern .func (.param .b32 r) twice(.param .b32 x)\n;\n"
                             ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n"
                             "ld.param.u64 %rd1, [to];\nmov.u32 %r1, 21;\n{\n.param .b32 x;\n.param .b32 r;\n"
                             "st.param.b32 [x], %r1;\ncall.uni (r), twice, (x);\nld.param.b32 %r2, [r];\n}\n"
                             "st.global.u32 [%rd1], %r2;\nret;\n}\n";
  CUlinkState link = nullptr;
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  for (const std::string& text : {callee, caller})
    ASSERT_EQ(cuLinkAddData_v2(link, 1, const_cast<char*>(text.c_str()), text.size() + 1, "text", 0, nullptr, nullptr),
              CUDA_SUCCESS);
  EXPECT_EQ(cuLinkAddFile_v2(link, 4, "/nowhere/libcudadevrt.a", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
  void* image = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cuLinkComplete(link, &image, &bytes), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleLoadData(&module_, image), CUDA_SUCCESS);
  // Programs keep images, so the form stays: a name, the bytes that follow, then for each text its bytes and the text.
  uint64_t numbers[2];
  std::memcpy(numbers, static_cast<char*>(image) + 16, sizeof numbers);
  EXPECT_EQ(std::string(static_cast<char*>(image), 16), "coalesce linked\n");
  EXPECT_EQ(numbers[0], bytes - 24);
  std::string damaged(static_cast<char*>(image), bytes);
  damaged[16 + 8 + 4] = 1;  // the first text has 4 GB
  cudaLibrary_t none = nullptr;
  EXPECT_EQ(cuModuleLoadData(&none, damaged.data()), CUDA_ERROR_INVALID_IMAGE);
  ASSERT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr to = 0;
  unsigned seen = 0;
  ASSERT_EQ(cuMemAlloc_v2(&to, 4), CUDA_SUCCESS);
  void* parameters[] = {&to};
  ASSERT_EQ(cuLaunchKernel(kernel("k"), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH_v2(&seen, to, 4), CUDA_SUCCESS);
  EXPECT_EQ(seen, 42u);
}

// CU_JIT_MAX_REGISTERS for a module and for a link, .maxnreg in the text: the least of them, where the kernel needs
// more.
TEST_F(Driver, RegistersAreLimited) {
  const auto registers_of = [](cudaLibrary_t module) {
    cudaKernel_t function = nullptr;
    int value = 0;
    EXPECT_EQ(cuModuleGetFunction(&function, module, "scale"), CUDA_SUCCESS);
    EXPECT_EQ(cuFuncGetAttribute(&value, 4, function), CUDA_SUCCESS);
    return value;
  };
  ASSERT_EQ(cuModuleLoadData(&module_, kPtx), CUDA_SUCCESS);
  const int unlimited = registers_of(module_);
  ASSERT_GT(unlimited, 14);
  const int options[] = {0};
  cudaLibrary_t module = nullptr;
  for (const auto& [limit, expected] : {std::pair(14, 14), std::pair(100, unlimited)}) {
    void* values[] = {reinterpret_cast<void*>(static_cast<intptr_t>(limit))};
    ASSERT_EQ(cuModuleLoadDataEx(&module, kPtx, 1, options, values), CUDA_SUCCESS);
    EXPECT_EQ(registers_of(module), expected);
    CUlinkState link = nullptr;
    void* image = nullptr;
    ASSERT_EQ(cuLinkCreate_v2(1, options, values, &link), CUDA_SUCCESS);
    ASSERT_EQ(cuLinkAddData_v2(link, 1, const_cast<char*>(kPtx), sizeof kPtx, "text", 0, nullptr, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(cuLinkComplete(link, &image, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module, image), CUDA_SUCCESS);
    EXPECT_EQ(registers_of(module), expected);
  }
  std::string text = kPtx;
  text.insert(text.find('{'), ".maxnreg 13\n");
  ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(registers_of(module), 13);
}

TEST_F(Driver, FaultsStay) {
  CUdeviceptr p = 0;
  ASSERT_EQ(cuLaunchKernel(kernel("fault"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemAlloc_v2(&p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Driver, FunctionsAndTheDevice) {
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, 0, kernel("scale")), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuFuncGetAttribute(&value, 0, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncGetAttribute(&value, 99, kernel("scale")), CUDA_ERROR_INVALID_VALUE);
  int grid = 0, block = 0;
  // Threads bind: 2048 on each of 132 multiprocessors, and the largest block that fills them.
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel("scale"), nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * 132);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel("scale"), nullptr, 0, 500), CUDA_SUCCESS);
  EXPECT_EQ(block, 256) << "eight of them are 2048 threads, four of 500 are not";
  EXPECT_EQ(grid, 8 * 132);
  char name[100];
  EXPECT_EQ(cuDeviceGetName(name, 7, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "NVIDIA");
  EXPECT_EQ(cuDeviceGetAttribute(&value, 75, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(cuDeviceGetAttribute(&value, 75, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&value, 1), CUDA_ERROR_INVALID_DEVICE);
}

TEST(DriverEntry, FunctionsByNameAndVersion) {
  struct Case {
    const char* name;
    int version;
    unsigned long long flags;
    const void* expected;
  };
  const Case cases[] = {
      {"cuMemAlloc", 13000, 0, reinterpret_cast<const void*>(&cuMemAlloc_v2)},
      {"cuCtxCreate", 11000, 0, reinterpret_cast<const void*>(&cuCtxCreate_v2)},
      {"cuCtxCreate", 12000, 0, reinterpret_cast<const void*>(&cuCtxCreate_v3)},
      {"cuCtxCreate", 13000, 0, reinterpret_cast<const void*>(&cuCtxCreate_v4)},
      {"cuMemcpyHtoD", 12000, 2, reinterpret_cast<const void*>(&cuMemcpyHtoD_v2_ptds)},
      {"cuInit", 12000, 2, reinterpret_cast<const void*>(&cuInit)},
  };
  for (const Case& c : cases) {
    void* function = nullptr;
    int status = -1;
    EXPECT_EQ(cuGetProcAddress_v2(c.name, &function, c.version, c.flags, &status), CUDA_SUCCESS);
    EXPECT_EQ(function, c.expected) << c.name << ' ' << c.version;
    EXPECT_EQ(status, 0);
  }
  void* function = &function;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2("", &function, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemCreate", &function, 9000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, 2);
  EXPECT_EQ(cuGetProcAddress("cuNoSuchThing", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
  const void* table = &table;
  EXPECT_EQ(cuGetExportTable(&table, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(table, nullptr);
}

// Without cuInit: the runtime answers for an initialised driver. Its primary context is the thread's current one.
TEST_F(Driver, TheRuntimeGivesFunctionsToo) {
  void* function = nullptr;
  int status = -1;
  EXPECT_EQ(cudaGetDriverEntryPoint("cuMemAlloc", &function, 0, &status), cudaSuccess);
  EXPECT_EQ(function, reinterpret_cast<const void*>(&cuMemAlloc_v2));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuCtxCreate", &function, 11000, 0, &status), cudaSuccess);
  EXPECT_EQ(function, reinterpret_cast<const void*>(&cuCtxCreate_v2));
  EXPECT_EQ(cudaGetDriverEntryPoint("cuNoSuchThing", &function, 0, &status), cudaSuccess);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cudaGetDriverEntryPoint("cuNoSuchThing", &function, 0, nullptr), cudaErrorSymbolNotFound);
  EXPECT_EQ(cudaGetDriverEntryPoint(nullptr, &function, 0, nullptr), cudaErrorInvalidValue);
}

TEST(DriverEntry, ErrorsHaveNamesAndTexts) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_NOT_FOUND");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(5000), &text), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace coalesce::cudart
