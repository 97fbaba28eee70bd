// NVRTC's functions. Each compilation starts a compiler, so few tests compile, and those look at much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "nvrtc/abi.h"
#include "nvrtc/names.h"

namespace coalesce::nvrtc {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Made {
  coalesce_nvrtc_program program = nullptr;
  explicit Made(const std::string& source, const char* name = "my.cu") {
    EXPECT_EQ(nvrtcCreateProgram(&program, source.c_str(), name, 0, nullptr, nullptr), NVRTC_SUCCESS);
  }
  ~Made() { nvrtcDestroyProgram(&program); }
  Result compile(const std::vector<const char*>& options = {}) {
    return nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  }
  std::string ptx() { return text(nvrtcGetPTXSize, nvrtcGetPTX); }
  std::string log() { return text(nvrtcGetProgramLogSize, nvrtcGetProgramLog); }
  template <typename Size, typename Get>
  std::string text(Size size, Get get) {
    size_t bytes = 0;
    EXPECT_EQ(size(program, &bytes), NVRTC_SUCCESS);
    std::string into(bytes, 'x');
    EXPECT_EQ(get(program, into.data()), NVRTC_SUCCESS);
    EXPECT_EQ(into.back(), '\0');
    into.pop_back();
    return into;
  }
};

// Compilers that are found on this PATH only.
struct OnlyClang {
  std::string before = std::getenv("PATH");
  std::filesystem::path folder;
  OnlyClang() {
    std::string pattern = (std::filesystem::temp_directory_path() / "coalesce-test-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    std::filesystem::create_symlink("/usr/bin/clang++-19", folder / "clang++-19");
    setenv("PATH", folder.c_str(), 1);
    setenv("COALESCE_HEADERS", COALESCE_SOURCE_DIR "/cudart/include", 1);
  }
  ~OnlyClang() {
    setenv("PATH", before.c_str(), 1);
    std::filesystem::remove_all(folder);
  }
};

TEST(Nvrtc, AFirstProgram) {
  const OnlyClang only;
  coalesce_nvrtc_program program = nullptr;
  const char* texts[] = {"#include \"../deep.h\"\n", "#define DEEP 7\n"};
  const char* names[] = {"folder/h.h", "deep.h"};
  ASSERT_EQ(nvrtcCreateProgram(&program,
                               "#include \"folder/h.h\"\n"
                               "template <typename T> __global__ void k(T* p) { *p = DEEP; }\n"
                               "namespace n { __constant__ int v = ADDED; }\n"
                               "extern \"C\" __global__ void e(float* p) {\n"
                               "  *p = *p * 3 + p[1];\n}\n"
                               "#ifndef __CUDACC_RTC__\n#error not NVRTC\n#endif\n",
                               "dir/my.cu", 2, texts, names),
            NVRTC_SUCCESS);
  size_t bytes = 0;
  EXPECT_EQ(nvrtcGetPTXSize(program, &bytes), NVRTC_SUCCESS);
  EXPECT_EQ(bytes, 1u);
  const char* name = nullptr;
  EXPECT_EQ(nvrtcGetLoweredName(program, "k<int>", &name), NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
  for (const char* expression : {"k<int>", "&n::v", "k<int>", "e"})
    EXPECT_EQ(nvrtcAddNameExpression(program, expression), NVRTC_SUCCESS);
  const char* options[] = {"--gpu-architecture=compute_80", "-DADDED=2", "-lineinfo", "-fmad=false"};
  ASSERT_EQ(nvrtcCompileProgram(program, 4, options), NVRTC_SUCCESS);
  for (const auto& [expression, symbol] :
       std::vector<std::pair<const char*, const char*>>{{"k<int>", "_Z1kIiEvPT_"}, {"&n::v", "_ZN1n1vE"}, {"e", "e"}}) {
    ASSERT_EQ(nvrtcGetLoweredName(program, expression, &name), NVRTC_SUCCESS);
    EXPECT_STREQ(name, symbol);
  }
  EXPECT_EQ(nvrtcGetLoweredName(program, "k<float>", &name), NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
  EXPECT_EQ(nvrtcAddNameExpression(program, "k<char>"), NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
  ASSERT_EQ(nvrtcGetPTXSize(program, &bytes), NVRTC_SUCCESS);
  std::string ptx(bytes, 'x');
  ASSERT_EQ(nvrtcGetPTX(program, ptx.data()), NVRTC_SUCCESS);
  EXPECT_THAT(ptx, HasSubstr(".target sm_80"));
  EXPECT_THAT(ptx, HasSubstr(".entry _Z1kIiEvPT_"));
  EXPECT_THAT(ptx, HasSubstr("dir/my.cu"));    // line information
  EXPECT_THAT(ptx, Not(HasSubstr("fma.rn")));  // -fmad=false
  EXPECT_THAT(ptx, Not(HasSubstr("coalesce_name")));
  EXPECT_EQ(nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
  EXPECT_EQ(bytes, 0u);  // not asked for
  EXPECT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  EXPECT_EQ(program, nullptr);
}

TEST(Nvrtc, AllForTheDeviceAndACubinThatIsPtx) {
  const OnlyClang only;
  Made made("int twice(int x) { return 2 * x; }\nextern \"C\" __global__ void k(int* p) { *p = twice(*p); }\n");
  ASSERT_EQ(made.compile({"-arch=sm_86", "--device-as-default-execution-space"}), NVRTC_SUCCESS) << made.log();
  EXPECT_EQ(made.text(nvrtcGetCUBINSize, nvrtcGetCUBIN), made.ptx());
  EXPECT_THAT(made.ptx(), HasSubstr(".target sm_86"));
}

TEST(Nvrtc, WhatDoesNotCompileIsInTheLog) {
  const OnlyClang only;
  Made made("extern \"C\" __global__ void k() {\n  oops;\n}\n", "folder/wrong.cu");
  EXPECT_EQ(made.compile(), NVRTC_ERROR_COMPILATION);
  EXPECT_THAT(made.log(), HasSubstr("folder/wrong.cu:2:"));
  EXPECT_THAT(made.log(), HasSubstr("oops"));
  EXPECT_EQ(made.ptx(), "");
  Made unknown("__global__ void k() {}\n");
  EXPECT_EQ(unknown.compile({"--foo"}), NVRTC_ERROR_INVALID_OPTION);
  EXPECT_EQ(unknown.log(), "nvrtc: error: unrecognized option --foo found\n");
}

// With whatever compiler comes first on this computer: nvcc, if there is one.
TEST(Nvrtc, WhatCompilesFirst) {
  setenv("COALESCE_HEADERS", COALESCE_SOURCE_DIR "/cudart/include", 1);
  Made made("template <int N> __global__ void k(int* p) { *p = N; }\n");
  ASSERT_EQ(nvrtcAddNameExpression(made.program, "&k<3>"), NVRTC_SUCCESS);
  ASSERT_EQ(made.compile({"-arch=compute_90"}), NVRTC_SUCCESS) << made.log();
  const char* name = nullptr;
  ASSERT_EQ(nvrtcGetLoweredName(made.program, "&k<3>", &name), NVRTC_SUCCESS);
  EXPECT_STREQ(name, "_Z1kILi3EEvPi");
  EXPECT_THAT(made.ptx(), HasSubstr(".target sm_90"));
}

TEST(Nvrtc, NoCompilerIsNamed) {
  const std::string before = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  Made made("__global__ void k() {}\n");
  EXPECT_EQ(made.compile(), NVRTC_ERROR_COMPILATION);
  EXPECT_THAT(made.log(), HasSubstr("no compiler for CUDA"));
  setenv("PATH", before.c_str(), 1);
}

TEST(Nvrtc, AHeaderMayNotBeAFileElsewhere) {
  const OnlyClang only;
  for (const char* name : {"/etc/passwd", "../../../../../../../../../../../etc/passwd"}) {
    coalesce_nvrtc_program program = nullptr;
    const char* text = "";
    ASSERT_EQ(nvrtcCreateProgram(&program, "", nullptr, 1, &text, &name), NVRTC_SUCCESS);
    EXPECT_EQ(nvrtcCompileProgram(program, 0, nullptr), NVRTC_ERROR_COMPILATION);
    nvrtcDestroyProgram(&program);
  }
}

TEST(Nvrtc, ACallbackCancels) {
  const OnlyClang only;
  Made made("__global__ void k() {}\n");
  int calls = 0;
  const auto callback = [](void* payload, void*) { return ++*static_cast<int*>(payload) > 1 ? 1 : 0; };
  ASSERT_EQ(nvrtcSetFlowCallback(made.program, callback, &calls), NVRTC_SUCCESS);
  calls = 1;
  EXPECT_EQ(made.compile(), NVRTC_ERROR_CANCELLED);
  EXPECT_EQ(calls, 2);
}

TEST(Nvrtc, HandlesThatAreNone) {
  size_t bytes = 0;
  const char* name = nullptr;
  coalesce_nvrtc_program stale = nullptr;
  ASSERT_EQ(nvrtcCreateProgram(&stale, "", nullptr, 0, nullptr, nullptr), NVRTC_SUCCESS);
  coalesce_nvrtc_program copy = stale;
  ASSERT_EQ(nvrtcDestroyProgram(&copy), NVRTC_SUCCESS);
  int foreign[64] = {};
  for (coalesce_nvrtc_program handle :
       {coalesce_nvrtc_program(nullptr), stale, reinterpret_cast<coalesce_nvrtc_program>(foreign)}) {
    char to[1];
    EXPECT_EQ(nvrtcCompileProgram(handle, 0, nullptr), NVRTC_ERROR_INVALID_PROGRAM);
    for (auto size : {nvrtcGetPTXSize, nvrtcGetCUBINSize, nvrtcGetNVVMSize, nvrtcGetLTOIRSize, nvrtcGetOptiXIRSize,
                      nvrtcGetProgramLogSize, nvrtcGetPCHHeapSizeRequired})
      EXPECT_EQ(size(handle, &bytes), NVRTC_ERROR_INVALID_PROGRAM);
    for (auto get : {nvrtcGetPTX, nvrtcGetCUBIN, nvrtcGetNVVM, nvrtcGetLTOIR, nvrtcGetOptiXIR, nvrtcGetProgramLog})
      EXPECT_EQ(get(handle, to), NVRTC_ERROR_INVALID_PROGRAM);
    EXPECT_EQ(nvrtcAddNameExpression(handle, "k"), NVRTC_ERROR_INVALID_PROGRAM);
    EXPECT_EQ(nvrtcGetLoweredName(handle, "k", &name), NVRTC_ERROR_INVALID_PROGRAM);
    EXPECT_EQ(nvrtcGetPCHCreateStatus(handle), NVRTC_ERROR_INVALID_PROGRAM);
    EXPECT_EQ(nvrtcSetFlowCallback(handle, nullptr, nullptr), NVRTC_ERROR_INVALID_PROGRAM);
    coalesce_nvrtc_program to_destroy = handle;
    EXPECT_EQ(nvrtcDestroyProgram(&to_destroy), NVRTC_ERROR_INVALID_PROGRAM);
  }
  EXPECT_EQ(nvrtcDestroyProgram(nullptr), NVRTC_ERROR_INVALID_PROGRAM);
}

TEST(Nvrtc, NullPointers) {
  Made made("");
  coalesce_nvrtc_program program = nullptr;
  int number = 0;
  EXPECT_EQ(nvrtcCreateProgram(nullptr, "", nullptr, 0, nullptr, nullptr), NVRTC_ERROR_INVALID_PROGRAM);
  EXPECT_EQ(nvrtcCreateProgram(&program, nullptr, nullptr, 0, nullptr, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcCreateProgram(&program, "", nullptr, -1, nullptr, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcCreateProgram(&program, "", nullptr, 1, nullptr, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcVersion(nullptr, &number), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcGetPTXSize(made.program, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcGetPTX(made.program, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcAddNameExpression(made.program, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcCompileProgram(made.program, 1, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcGetNumSupportedArchs(nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcGetSupportedArchs(nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvrtcGetPCHHeapSize(nullptr), NVRTC_ERROR_INVALID_INPUT);
}

TEST(Nvrtc, SaysWhatItIs) {
  int major = 0, minor = 0, count = 0;
  EXPECT_EQ(nvrtcVersion(&major, &minor), NVRTC_SUCCESS);
  EXPECT_EQ(major, 13);
  EXPECT_EQ(minor, 0);
  ASSERT_EQ(nvrtcGetNumSupportedArchs(&count), NVRTC_SUCCESS);
  ASSERT_GT(count, 0);
  std::vector<int> all(static_cast<size_t>(count));
  ASSERT_EQ(nvrtcGetSupportedArchs(all.data()), NVRTC_SUCCESS);
  EXPECT_THAT(all, testing::Contains(90));
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_STREQ(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION");
  EXPECT_STREQ(nvrtcGetErrorString(static_cast<Result>(99)), "NVRTC_ERROR unknown");
  EXPECT_EQ(nvrtcSetPCHHeapSize(77), NVRTC_SUCCESS);
  size_t bytes = 0;
  EXPECT_EQ(nvrtcGetPCHHeapSize(&bytes), NVRTC_SUCCESS);
  EXPECT_EQ(bytes, 77u);
}

TEST(Names, AreTakenFromThePtx) {
  std::string ptx =
      "a\n.global .align 8 .u64 coalesce_name_0 = _Z1kv;\n.visible .global .align 8 .u64 coalesce_name_1 = "
      "generic(_ZN1n1vE);\nb\n";
  const auto names = take_names({"k", "&n::v", "gone"}, ptx);
  EXPECT_EQ(ptx, "a\nb\n");
  EXPECT_EQ(names.at("k"), "_Z1kv");
  EXPECT_EQ(names.at("&n::v"), "_ZN1n1vE");
  EXPECT_EQ(names.size(), 2u);
}

}  // namespace
}  // namespace coalesce::nvrtc
