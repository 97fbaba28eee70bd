// A program that opens the driver by itself, as Python packages and OpenMP do: it needs nothing of ours when it is
// built.
#include <gmock/gmock.h>

#include "tests/device_launches.h"
#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

TEST(DriverPrograms, AreCountedAsOthers) {
  const Workplace here;
  here.write("program.cpp", R"(
#include <dlfcn.h>
#include <cstdio>
static void* driver;
template <typename... A>
int call(const char* name, A... a) {
  int (*find)(const char*, void**, int, unsigned long long, int*) = nullptr;
  *reinterpret_cast<void**>(&find) = dlsym(driver, "cuGetProcAddress_v2");
  void* f = nullptr;
  int status = 0;
  if (find(name, &f, 12000, 0, &status) != 0 || f == nullptr) return -1;
  return reinterpret_cast<int (*)(A...)>(f)(a...);
}
const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry fill(.param .u64 to)\n{\n"
    ".reg .b32 %r<2>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [to];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
    "add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\nret;\n}\n";
int main() {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return std::puts(dlerror()), 1;
  void *context = nullptr, *module = nullptr, *kernel = nullptr;
  unsigned long long to = 0;
  int count = 0, back[64] = {};
  if (call("cuInit", 0u) || call("cuDeviceGetCount", &count) || count != 1) return 2;
  if (call("cuDevicePrimaryCtxRetain", &context, 0) || call("cuCtxPushCurrent", context)) return 3;
  if (call("cuModuleLoadData", &module, ptx) || call("cuModuleGetFunction", &kernel, module, "fill")) return 4;
  if (call("cuMemAlloc", &to, sizeof back)) return 5;
  void* parameters[] = {&to};
  void** none = nullptr;
  void* stream = nullptr;
  if (call("cuLaunchKernel", kernel, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, (void**)parameters, none)) return 6;
  if (call("cuMemcpyDtoH", (void*)back, to, sizeof back)) return 7;
  std::printf("%d\n", back[63]);
}
)");
  ASSERT_EQ(here.call({"clang++-19", "program.cpp", "-o", "program"}).code, 0);
  const Result result = here.coalesce({"./program"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "63\n");
  const nlohmann::json counted = here.json();
  ASSERT_EQ(counted["launches"].size(), 1u) << counted;
  const auto& launch = counted["launches"][0];
  EXPECT_EQ(launch["counters"]["global_store_requests"], 2);
  EXPECT_EQ(launch["counters"]["global_store_sectors"], sizeof(int) * 64 / 32);
  EXPECT_EQ(counted["copies"]["d2h"]["bytes"], 256);
}

// A kernel whose tail launch is itself: each of its launches ends, all of them together never do.
TEST(DriverPrograms, KernelsThatLaunchEachOtherShareOneBudget) {
  const Workplace here;
  here.write("again.ptx",
             ".version 8.3\n.target sm_90\n.address_size 64\n" + test::kDeviceRuntimeDeclarations +
                 ".visible .entry again(.param .u64 a, .param .u32 b, .param .u32 c)\n{\n.reg .pred %p<8>;\n"
                 ".reg .b32 %r<64>;\n.reg .b64 %rd<64>;\nmov.u64 %rd1, 0;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n" +
                 test::device_launch("again", "1", "1", "3") + "ret;\n}\n");
  here.write("program.cpp", R"(
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
static void* driver;
template <typename... A>
int call(const char* name, A... a) {
  return reinterpret_cast<int (*)(A...)>(dlsym(driver, name))(a...);
}
int main() {
  std::ifstream file("again.ptx");
  const std::string ptx(std::istreambuf_iterator<char>(file), {});
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  void *context = nullptr, *module = nullptr, *kernel = nullptr, *stream = nullptr, **none = nullptr;
  if (call("cuInit", 0u) || call("cuDevicePrimaryCtxRetain", &context, 0) || call("cuCtxSetCurrent", context)) return 1;
  if (call("cuModuleLoadData", &module, ptx.c_str()) || call("cuModuleGetFunction", &kernel, module, "again")) return 2;
  unsigned long long a = 0;
  unsigned b = 0;
  void* parameters[] = {&a, &b, &b};
  if (call("cuLaunchKernel", kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream, (void**)parameters, none)) return 3;
  return call("cuCtxSynchronize") != 0 ? 5 : 0;
}
)");
  ASSERT_EQ(here.call({"clang++-19", "program.cpp", "-o", "program"}).code, 0);
  for (const char* engine : {"interpreter", "plain"}) {
    const Result result =
        here.call({"timeout", "60", kCommand, "run", "--engine", engine, "--max-instructions", "20000", "./program"});
    EXPECT_EQ(result.code, 5) << engine << result.err;  // the program's own: it was told
    EXPECT_THAT(result.err, testing::HasSubstr("--max-instructions")) << engine;
  }
}

// A program that compiles its kernels by an NVRTC that no toolkit of this computer brings: ours, with clang.
TEST(DriverPrograms, FindOurCompilerWhereThereIsNoOther) {
  const Workplace here;
  here.write("program.cpp", R"(
#include <dlfcn.h>
#include <cstdio>
#include <string>
static void *driver, *compiler;
template <typename... A>
int call(void* library, const char* name, A... a) {
  void* f = dlsym(library, name);
  return f == nullptr ? -1 : reinterpret_cast<int (*)(A...)>(f)(a...);
}
#define NVRTC(...) if (int e = call(compiler, __VA_ARGS__)) return std::printf("%d\n", e), 1
#define CU(...) if (int e = call(driver, __VA_ARGS__)) return std::printf("%d\n", e), 2
int main() {
  compiler = dlopen("libnvrtc.so.11.2", RTLD_NOW);
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (compiler == nullptr || driver == nullptr) return std::puts(dlerror()), 3;
  void *program = nullptr, *context = nullptr, *module = nullptr, *kernel = nullptr, *stream = nullptr;
  const char *source = "template <int N> __global__ void k(int* p) { p[threadIdx.x] = N * threadIdx.x; }";
  const char *name = "k.cu", **none = nullptr, *symbol = nullptr, *options[] = {"-arch=sm_80", "-lineinfo"};
  size_t bytes = 0;
  unsigned long long to = 0;
  int back[64] = {}, major = 0, minor = 0;
  NVRTC("nvrtcVersion", &major, &minor);
  NVRTC("nvrtcCreateProgram", &program, source, name, 0, none, none);
  NVRTC("nvrtcAddNameExpression", program, "k<7>");
  NVRTC("nvrtcCompileProgram", program, 2, (const char**)options);
  NVRTC("nvrtcGetLoweredName", program, "k<7>", &symbol);
  NVRTC("nvrtcGetCUBINSize", program, &bytes);
  std::string code(bytes, 'x');
  NVRTC("nvrtcGetCUBIN", program, code.data());
  CU("cuInit", 0u);
  CU("cuDevicePrimaryCtxRetain", &context, 0);
  CU("cuCtxSetCurrent", context);
  CU("cuModuleLoadData", &module, (const void*)code.data());
  CU("cuModuleGetFunction", &kernel, module, symbol);
  CU("cuMemAlloc_v2", &to, sizeof back);
  void* parameters[] = {&to};
  void** extra = nullptr;
  CU("cuLaunchKernel", kernel, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, (void**)parameters, extra);
  CU("cuMemcpyDtoH_v2", (void*)back, to, sizeof back);
  std::printf("%d %d.%d\n", back[63], major, minor);
}
)");
  ASSERT_EQ(here.call({"clang++-19", "program.cpp", "-o", "program"}).code, 0);
  const Result result = here.coalesce({"./program"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out, "441 11.2\n");
  const nlohmann::json counted = here.json();
  ASSERT_EQ(counted["launches"].size(), 1u) << counted;
  EXPECT_EQ(counted["launches"][0]["counters"]["global_store_sectors"], sizeof(int) * 64 / 32);
}

}  // namespace
}  // namespace coalesce::end_to_end
