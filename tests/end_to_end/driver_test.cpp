// A program that opens the driver by itself, as Python packages and OpenMP do: it needs nothing of ours when it is
// built.
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace coalesce::end_to_end
