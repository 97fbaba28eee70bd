// Programs find every function of the real runtime in ours, under its version, whichever CUDA built them.
#include <dlfcn.h>
#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Sonames, Exports, ::testing::Values("13", "12", "11.0"));

}  // namespace
