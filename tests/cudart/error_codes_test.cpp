// Calls that are wrong in one way each, held against what an H100 returned: tests/truth/error_codes.txt.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "api.h"
#include "graph.h"
#include "tests/cudart/driver/driver_functions.h"

extern "C" {
coalesce::cudart::cudaError_t cudaDeviceEnablePeerAccess(int, unsigned);
coalesce::cudart::cudaError_t cudaDeviceSetLimit(int, size_t);
coalesce::cudart::cudaError_t cudaDeviceSetSharedMemConfig(int);
coalesce::cudart::cudaError_t cudaEventQuery(coalesce::cudart::cudaEvent_t);
coalesce::cudart::cudaError_t cudaEventSynchronize(coalesce::cudart::cudaEvent_t);
coalesce::cudart::cudaError_t cudaHostAlloc(void**, size_t, unsigned);
coalesce::cudart::cudaError_t cudaStreamAttachMemAsync(coalesce::cudart::cudaStream_t, void*, size_t, unsigned);
coalesce::cudart::cudaError_t cudaStreamQuery(coalesce::cudart::cudaStream_t);
}

namespace coalesce::cudart {

extern "C" {
CUresult cuMemAllocAsync(CUdeviceptr*, size_t, cudaStream_t);
CUresult cuMemAllocHost_v2(void**, size_t);
CUresult cuMemFreeHost(void*);
}

namespace {

constexpr char kCode[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry bounded() .maxntid 256 { ret; }
)";

// dim3 as programs write it: dim3(1, 65536), or a number in its place.
struct Dimensions {
  unsigned x, y, z;
  constexpr Dimensions(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
  operator cudart::dim3() const { return {x, y, z}; }
};

class ErrorCodes : public ::testing::Test {
 protected:
  using dim3 = Dimensions;
  static void SetUpTestSuite() {
    std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/error_codes.txt");
    for (std::string line; std::getline(file, line);)
      if (const auto tab = line.find('\t'); !line.starts_with('#') && tab != std::string::npos)
        truth()[line.substr(0, tab)] = line.substr(tab + 1);
    ASSERT_GT(truth().size(), 600u);
  }
  void SetUp() override {
    wrapper_.data = kCode;
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterFunction(handle_, &nothing_, nullptr, "nothing", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFunction(handle_, &bounded_, nullptr, "bounded", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFatBinaryEnd(handle_);
    ASSERT_EQ(cudaMalloc(&p, 4096), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&q, 4096), cudaSuccess);
  }
  void TearDown() override {
    __cudaUnregisterFatBinary(handle_);
    cudaDeviceReset();
    cudaGetLastError();
  }

  static std::map<std::string, std::string>& truth() {
    static std::map<std::string, std::string> all;
    return all;
  }
  static void expect(const std::string& call, const std::string& codes) {
    ASSERT_TRUE(truth().contains(call)) << call;
    EXPECT_EQ(codes, truth()[call]) << call;
  }
  static void expect(const char* call, cudaError_t code) {
    expect(std::string(call), std::to_string(static_cast<int>(code)));
    EXPECT_EQ(cudaGetLastError(), code) << call;
  }

  cudaError_t go(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
    return cudaLaunchKernel(&nothing_, grid, block, nullptr, shared, stream);
  }
  cudaError_t go_bounded(dim3 block) { return cudaLaunchKernel(&bounded_, dim3(1), block, nullptr, 0, nullptr); }

  Wrapper wrapper_;
  void** handle_ = nullptr;
  char nothing_ = 0, bounded_ = 0;
  // Names are those that the calls of the file use.
  void *p = nullptr, *q = nullptr;
  int host_variable = 0;
  char host[4096] = {};
};

#define CALL(call) expect(#call, call)

TEST_F(ErrorCodes, OfLaunches) {
  CALL(go(1, 1024));
  CALL(go(1, 1025));
  CALL(go(1, dim3(32, 32, 2)));
  CALL(go(1, dim3(1, 1025)));
  CALL(go(1, dim3(1, 1, 65)));
  CALL(go(1, dim3(1, 1, 64)));
  CALL(go(0, 1));
  CALL(go(dim3(1, 0), 1));
  CALL(go(1, 0));
  CALL(go(1, dim3(1, 1, 0)));
  CALL(go(dim3(1, 65535), 1));
  CALL(go(dim3(1, 65536), 1));
  CALL(go(dim3(1, 1, 65536), 1));
  CALL(go(0x80000000u, 1));
  CALL(go(0, 2000));
  CALL(go(1, dim3(65536, 65536)));
  CALL(go(1, 32, 48 * 1024));
  CALL(go(1, 32, 48 * 1024 + 1));
  CALL(go(1, 32, 300 * 1024));
  CALL(go(1, 1025, 300 * 1024));
  CALL(go_bounded(256));
  CALL(go_bounded(257));
  CALL(go_bounded(1024));
  CALL(go_bounded(1025));
  CALL(go_bounded(dim3(16, 17)));
  void* args[] = {nullptr};
  CALL(cudaLaunchKernel((const void*)nullptr, dim3(1), dim3(1), args, 0, nullptr));
  CALL(cudaLaunchKernel((const void*)&host_variable, dim3(1), dim3(1), args, 0, nullptr));
}

TEST_F(ErrorCodes, OfMemory) {
  void* out = nullptr;
  cudaPointerAttributes pa{};
  CALL(cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, nullptr, 4, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, host, 4, (cudaMemcpyKind)9));
  CALL(cudaMemcpy(host, host + 64, 4, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, q, 4, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, q, 4, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpy(p, host, 4, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpy(host, p, 4, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(host, p, 4, cudaMemcpyDefault));
  CALL(cudaMemcpy(p, host, 4, cudaMemcpyHostToHost));
  CALL(cudaMemcpy(host, host + 64, 4, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpy(p, host, size_t(1) << 40, cudaMemcpyHostToDevice));
  CALL(cudaMemset(nullptr, 0, 4));
  CALL(cudaMemset(host, 0, 4));
  CALL(cudaMemset2D(p, 2, 0, 4, 4));
  CALL(cudaMemset2D(p, 64, 0, 4, 4));
  CALL(cudaMemcpy2D(p, 2, host, 64, 4, 4, cudaMemcpyHostToDevice));
  CALL(cudaFree((char*)p + 4));
  CALL(cudaFree(host));
  CALL(cudaFreeHost(p));
  CALL(cudaFreeHost(nullptr));
  CALL(cudaPointerGetAttributes(&pa, host));
  CALL(cudaPointerGetAttributes(nullptr, p));
  CALL(cudaPointerGetAttributes(&pa, nullptr));
  CALL(cudaDeviceEnablePeerAccess(0, 0));
  CALL(cudaDeviceEnablePeerAccess(99, 0));
  EXPECT_EQ(cudaDeviceSetSharedMemConfig(9),
            std::stoi(truth().at("cudaDeviceSetSharedMemConfig((cudaSharedMemConfig)9)")));
  EXPECT_EQ(cudaMallocManaged(&out, 0, 1), std::stoi(truth().at("cudaMallocManaged(&out, 0)")));
  EXPECT_EQ(cudaStreamAttachMemAsync(nullptr, host, 0, 4), std::stoi(truth().at("cudaStreamAttachMemAsync(s, host)")));
}

// A capture's mode decides what may be called meanwhile. What may not ends the capture.
TEST_F(ErrorCodes, DuringACapture) {
  cudaStream_t s = nullptr, other = nullptr;
  cudaEvent_t e2 = nullptr;
  cudaStreamCreateWithFlags(&s, 1);
  cudaStreamCreateWithFlags(&other, 1);
  cudaEventCreate(&e2);
  void* out = nullptr;
  size_t z = 0, z2 = 0;
  const auto during = [&](const std::string& call, const auto& body) {
    for (int mode = 0; mode < 3; ++mode) {
      cudaGraph_t graph = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(s, mode), cudaSuccess);
      const int code = body(), end = cudaStreamEndCapture(s, &graph);
      expect("mode " + std::to_string(mode) + " " + call, std::to_string(code) + "\t" + std::to_string(end));
      cudaGetLastError();
    }
  };
#define DURING(call) during(#call, [&]() -> int { return call; })
  DURING(cudaMalloc(&out, 64));
  DURING(cudaFree(nullptr));
  DURING(cudaMallocHost(&out, 64));
  DURING(cudaHostAlloc(&out, 64, 0));
  DURING(cudaFreeHost(nullptr));
  DURING(cudaMallocPitch(&out, &z, 64, 4));
  DURING(cudaMallocAsync(&out, 64, other));
  DURING(cudaMallocAsync(&out, 64, s));
  DURING(cudaMemGetInfo(&z, &z2));
  DURING(cudaEventQuery(e2));
  DURING(cudaEventSynchronize(e2));
  DURING(cudaStreamQuery(other));
  DURING(cudaStreamQuery(s));
  DURING(cudaStreamSynchronize(other));
  DURING(cudaStreamSynchronize(nullptr));
  DURING(cudaDeviceSynchronize());
  DURING(cudaMemcpy(p, host, 4, cudaMemcpyHostToDevice));
  DURING(cudaMemset(p, 0, 4));
  during("cudaDeviceSetLimit(cudaLimitStackSize, 1024)", [] { return cudaDeviceSetLimit(0, 1024); });
  during("(nothing<<<1, 1025, 0, s>>>(), cudaPeekAtLastError())", [&] { return go(1, 1025, 0, s); });
  during("(nothing<<<1, 1, 0, other>>>(), cudaPeekAtLastError())", [&] { return go(1, 1, 0, other); });
}

// The code that an H100 returned for the call of that text.
int code_of(const std::string& call) {
  std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/error_codes.txt");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(call + '\t')) return std::stoi(line.substr(call.size() + 1));
  ADD_FAILURE() << "not measured: " << call;
  return -1;
}

TEST_F(Driver, GivesTheCodesOfAnH100) {
  EXPECT_EQ(cuCtxDestroy_v2(nullptr), code_of("cuCtxDestroy(nullptr)"));
  EXPECT_EQ(cuCtxPushCurrent_v2(nullptr), code_of("cuCtxPushCurrent(nullptr)"));
  void *memory = nullptr, *function = nullptr;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemFreeHost(nullptr), code_of("cuMemFreeHost(nullptr)"));
  EXPECT_EQ(cuMemAllocHost_v2(&memory, 0), code_of("cuMemAllocHost(&vp, 0)"));
  EXPECT_EQ(cuMemAllocAsync(&address, 0, nullptr), code_of("cuMemAllocAsync(&q, 0, s)"));
  EXPECT_EQ(cuGetProcAddress_v2("none", &function, 12000, 0, nullptr),
            code_of(R"(cuGetProcAddress("none", &vp, 12000, 0, nullptr))"));
  EXPECT_EQ(function, nullptr);
  unsigned factor = 2;
  void *arguments[] = {&address, &factor}, *ends_at_once[] = {nullptr};
  ASSERT_EQ(cuMemAlloc_v2(&address, 128), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(kernel("scale"), 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, ends_at_once),
            code_of("cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, a, both)"));
  EXPECT_EQ(cuLaunchKernel(kernel("scale"), 1, 1, 1, 1025, 1, 1, 0, nullptr, arguments, nullptr),
            code_of("cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, nullptr, a, nullptr)"));
  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(Driver, FindsVariablesAsAnH100) {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  kernel("scale");  // loads the module
  const std::pair<const char*, const char*> names[] = {{"scale", "k"}, {"none", "none"}, {"", ""}};
  for (const auto& [here, there] : names)
    EXPECT_EQ(cuModuleGetGlobal_v2(&address, &bytes, module_, here),
              code_of("cuModuleGetGlobal(&p, &z, m, \"" + std::string(there) + "\")"));
  for (const auto& [here, there] : {names[0], names[1]})
    EXPECT_EQ(cuLibraryGetGlobal(&address, &bytes, module_, here),
              code_of("cuLibraryGetGlobal(&p, &z, l, \"" + std::string(there) + "\")"));
  EXPECT_EQ(cuLibraryGetManaged(&address, &bytes, module_, "scale"), code_of(R"(cuLibraryGetManaged(&p, &z, l, "k"))"));
}

TEST_F(Driver, UnmapsAsAnH100) {
  CUmemAllocationProp pr{};
  size_t gr = 0;
  CUdeviceptr q = 0;
  CUmemGenericAllocationHandle mh = 0;
#define AS_THERE(call) EXPECT_EQ(call, code_of(#call)) << #call
  EXPECT_EQ(cuMemGetAllocationGranularity(&gr, &pr, 0),
            code_of("cuMemGetAllocationGranularity(&gr, &pr, CU_MEM_ALLOC_GRANULARITY_MINIMUM)"));
  EXPECT_EQ(cuMemGetAllocationGranularity(&gr, nullptr, 0),
            code_of("cuMemGetAllocationGranularity(&gr, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM)"));
  pr.type = 1, pr.location = {1, 0};  // CU_MEM_ALLOCATION_TYPE_PINNED, on device 0
  AS_THERE(cuMemAddressReserve(&q, 4 * gr, 0, 0, 0));
  AS_THERE(cuMemUnmap(q, gr));
  AS_THERE(cuMemUnmap(q, 0));
  AS_THERE(cuMemUnmap(q, 1));
  AS_THERE(cuMemUnmap(q + 1, gr));
  AS_THERE(cuMemUnmap(q, 5 * gr));
  AS_THERE(cuMemUnmap(0x1000, gr));
  AS_THERE(cuMemCreate(&mh, 2 * gr, &pr, 0));
  AS_THERE(cuMemMap(q + gr, 2 * gr, 0, mh, 0));
  AS_THERE(cuMemUnmap(q + gr, gr));
  AS_THERE(cuMemUnmap(q + 2 * gr, gr));
  AS_THERE(cuMemUnmap(q, 2 * gr));
  AS_THERE(cuMemUnmap(q, 4 * gr));
  AS_THERE(cuMemUnmap(q + gr, 2 * gr));
  AS_THERE(cuMemAddressFree(q, 4 * gr));
  EXPECT_EQ(cuMemRelease(mh), CUDA_SUCCESS);
#undef AS_THERE
}

}  // namespace
}  // namespace coalesce::cudart
