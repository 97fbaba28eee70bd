// Programs find every function of the real runtime in ours, under its version, whichever CUDA built them.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

constexpr const char* kNames[] = {
#define X(name) #name,
#include "cudart/api/symbols.def"
#undef X
};

class Exports : public ::testing::TestWithParam<const char*> {};

TEST_P(Exports, EveryNameUnderItsVersion) {
  const std::string soname = std::string("libcudart.so.") + GetParam();
  const std::string path = std::string(COALESCE_BINARY_DIR "/lib/") + soname;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* name : kNames) EXPECT_NE(dlvsym(library, name, soname.c_str()), nullptr) << name;
  EXPECT_EQ(dlsym(library, "_ZN8coalesce6cudart7runtimeEv"), nullptr) << "internals are hidden";

  const auto version = reinterpret_cast<int (*)(int*)>(dlvsym(library, "cudaRuntimeGetVersion", soname.c_str()));
  int got = 0;
  ASSERT_EQ(version(&got), 0);
  EXPECT_EQ(got, 1000 * std::atoi(GetParam()));
}

constexpr const char* kDriverNames[] = {
#define X(name, base, since) #name,
#include "cudart/driver/driver.def"
#undef X
};

// ffmpeg looks up functions of cudaGL.h, cudaEGL.h and cudaVDPAU.h when it starts, and uses none of them.
TEST(DriverExports, FunctionsOfGraphicsAreThereAndRefuse) {
  void* library = dlopen(COALESCE_BINARY_DIR "/lib/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* name : {"cuGLGetDevices_v2", "cuEGLStreamProducerConnect", "cuVDPAUGetDevice"}) {
    const auto function = reinterpret_cast<int (*)()>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
    EXPECT_EQ(function(), 801) << name << ": CUDA_ERROR_NOT_SUPPORTED";
  }
}

void driver_brings_its_runtime() {
  void* library = dlopen(COALESCE_BINARY_DIR "/lib/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* name : kDriverNames) EXPECT_NE(dlsym(library, name), nullptr) << name;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto retain = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  const auto push = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxPushCurrent_v2"));
  const auto allocate = reinterpret_cast<int (*)(unsigned long long*, size_t)>(dlsym(library, "cuMemAlloc_v2"));
  void* context = nullptr;
  unsigned long long address = 0;
  EXPECT_EQ(allocate(&address, 64), 3) << "CUDA_ERROR_NOT_INITIALIZED";
  ASSERT_EQ(init(0), 0);
  ASSERT_EQ(retain(&context, 0), 0);
  ASSERT_EQ(push(context), 0);
  ASSERT_EQ(allocate(&address, 64), 0);
  void* runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(runtime, nullptr) << "the newest that is there, where the process has none";
  const auto free = reinterpret_cast<int (*)(void*)>(dlvsym(runtime, "cudaFree", "libcudart.so.13"));
  EXPECT_EQ(free(reinterpret_cast<void*>(address)), 0);
  EXPECT_EQ(free(reinterpret_cast<void*>(address)), 1) << "cudaErrorInvalidValue: freed already";
}
// In a process that has no runtime yet, one of its own: libcuda.so.1 brings the one beside it.
TEST(DriverExports, EveryNameAndASharedState) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto alone = [] {
    driver_brings_its_runtime();
    _exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(alone(), testing::ExitedWithCode(0), "");
}

// CUDA's runtime initialises the driver: what comes after needs no cuInit.
TEST(DriverExports, TheRuntimeInitialisesTheDriver) {
  void* library = dlopen(COALESCE_BINARY_DIR "/lib/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  void* runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(runtime, nullptr);
  const auto allocate = reinterpret_cast<int (*)(void**, size_t)>(dlvsym(runtime, "cudaMalloc", "libcudart.so.13"));
  void* memory = nullptr;
  ASSERT_EQ(allocate(&memory, 64), 0);
  const auto free = reinterpret_cast<int (*)(unsigned long long)>(dlsym(library, "cuMemFree_v2"));
  EXPECT_EQ(free(reinterpret_cast<unsigned long long>(memory)), 0);
}

INSTANTIATE_TEST_SUITE_P(Sonames, Exports, ::testing::Values("13", "12", "11.0"));

}  // namespace
