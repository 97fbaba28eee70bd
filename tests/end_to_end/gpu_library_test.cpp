// libcoalesce_gpu in front of a CUDA runtime and driver, which here are the machine's: launches are repeated on memory
// that is put back, counters come from a CUPTI that answers 1000 and up (tests/gpu/fake_cupti.cpp), copies and waits
// are seen.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

using Json = nlohmann::json;

// The program under the library; its record, line by line.
std::vector<Json> measured(const Workplace& here, const std::vector<std::string>& settings,
                           const std::vector<std::string>& program, Result& result) {
  // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): a name and its value, from the build
  std::vector<std::string> words = {"env", "LD_PRELOAD=" GPU_LIBRARY, "COALESCE_GPU_RECORD=record",
                                    "COALESCE_CUPTI=" FAKE_CUPTI, "COALESCE_GPU_BATCH=1"};
  words.insert(words.end(), settings.begin(), settings.end());
  words.insert(words.end(), {kCommand, "run", "-q", "--compiler", "clang"});
  words.insert(words.end(), program.begin(), program.end());
  here.write("record", "");
  result = here.call(words);
  std::vector<Json> lines;
  std::istringstream text(here.read("record"));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<Json> of(const std::vector<Json>& lines, const char* what) {
  std::vector<Json> found;
  for (const Json& line : lines) {
    if (line.contains(what)) found.push_back(line);
  }
  return found;
}

// Six of the eleven rungs work in place or take tickets: without the memory as it was, a second run gives another sum.
TEST(GpuLibrary, RepeatsEveryLaunchOnTheSameMemory) {
  const Workplace here;
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_REPEAT=2", "COALESCE_GPU_COUNTERS=1"},
                              {kSource + "/lab/reduce/reduce.cu", "--n", "10007"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out.find("wrong"), std::string::npos) << result.out;
  const auto launches = of(lines, "launch");
  ASSERT_EQ(launches.size(), 11u);
  for (const Json& launch : launches) {
    for (const char* cache : {"cold", "warm"}) {  // twice, unless they take more than their two seconds
      EXPECT_GE(launch["times"][cache].size(), 1u);
      EXPECT_LE(launch["times"][cache].size(), 2u);
    }
    EXPECT_EQ(launch["counters"]["global_load_requests"], 1000);
  }
  EXPECT_TRUE(of(lines, "note").empty());
  EXPECT_EQ(of(lines, "end").size(), 1u);
  EXPECT_EQ(lines[0]["on"], "gpu");
}

TEST(GpuLibrary, WithoutCuptiTimesRemain) {
  const Workplace here;
  Result result;
  const auto lines =
      measured(here, {"COALESCE_GPU_COUNTERS=1", "FAKE_CUPTI_FAIL=cuptiRangeProfilerEnable", "FAKE_CUPTI_RESULT=35"},
               {kSource + "/lab/reduce/reduce.cu", "--n", "1000", "--rung", "warp_shuffle"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto notes = of(lines, "note");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0]["note"].get<std::string>().find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  const auto launches = of(lines, "launch");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_GT(launches[0]["seconds"], 0);
  EXPECT_TRUE(launches[0]["counters"].empty());
}

TEST(GpuLibrary, PlainTimesCopiesAndTheWhole) {
  const Workplace here;
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_PLAIN=1"},
                              {kSource + "/lab/transfer/transfer.cu", "--n", "100000", "--rung", "overlapped"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(of(lines, "launch").empty());
  const auto copies = of(lines, "copies");
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0]["copies"]["h2d"]["calls"], 8);
  EXPECT_EQ(copies[0]["copies"]["h2d"]["bytes"], 400000);
  const auto span = of(lines, "span");
  ASSERT_EQ(span.size(), 1u);
  EXPECT_GE(span[0]["span"], copies[0]["copies"]["h2d"]["seconds"]);
}

// Pending counters are read before the device is reset, and counting restarts after it.
TEST(GpuLibrary, AResetOfTheDeviceLosesNothing) {
  const Workplace here;
  here.write("reset.cu",
             "__global__ void one(int* p) { p[threadIdx.x] = 1; }\n"
             "int main() {\n"
             "  for (int i = 0; i < 2; ++i) {\n"
             "    int* p;\n"
             "    cudaMalloc(&p, 128);\n"
             "    one<<<1, 32>>>(p);\n"
             "    if (cudaDeviceReset()) return 1;\n"
             "  }\n"
             "}\n");
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_COUNTERS=1", "COALESCE_GPU_BATCH=32"}, {"reset.cu"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto launches = of(lines, "launch");
  ASSERT_EQ(launches.size(), 2u);
  for (const Json& launch : launches) EXPECT_EQ(launch["counters"]["global_load_requests"], 1000);
  EXPECT_EQ(of(lines, "record").size(), 2u);
  EXPECT_EQ(of(lines, "end").size(), 1u);
}

// Every launch is measured only so often; the others run.
TEST(GpuLibrary, LaunchesPastTheLimitOnlyRun) {
  const Workplace here;
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_COUNTERS=1", "COALESCE_GPU_LAUNCHES=2"},
                              {kSource + "/lab/addressing/addressing.cu", "--n", "4096"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  std::map<int, int> launched;
  for (const Json& launch : of(lines, "launch")) ++launched[launch["kernel"]];
  for (const auto& [kernel, times] : launched) EXPECT_LE(times, 2) << kernel;
  ASSERT_EQ(of(lines, "note").size(), 1u);
}

// Programs that speak to the driver: by dlsym, and by the driver's own look-up. The kernel works in place, and counts
// its launches in a variable that the program never asks for.
const char* const kDriverProgram = R"(
#include <dlfcn.h>
#include <cstdio>
#include <cstring>
static void* driver;
static bool by_address;
template <typename... A>
int call(const char* name, A... a) {
  void* f = dlsym(driver, name);
  int (*find)(const char*, void**, int, unsigned long long, int*) = nullptr;
  *reinterpret_cast<void**>(&find) = dlsym(driver, "cuGetProcAddress_v2");
  int status = 0;
  if (by_address && find(name, &f, 12000, 0, &status) != 0) return -1;
  return f ? reinterpret_cast<int (*)(A...)>(f)(a...) : -1;
}
const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.global .align 4 .u32 launches[64];\n"
    ".visible .entry add(.param .u64 to)\n{\n"
    ".reg .b32 %r<5>;\n.reg .b64 %rd<6>;\nld.param.u64 %rd1, [to];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
    "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\nadd.u32 %r2, %r2, %r1;\nmov.u64 %rd4, launches;\n"
    "add.s64 %rd5, %rd4, %rd2;\nld.global.u32 %r3, [%rd5];\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%rd3], %r2;\n"
    "add.u32 %r4, %r3, 1;\nst.global.u32 [%rd5], %r4;\nret;\n}\n";
int main(int count, char** words) {
  by_address = count > 1;
  const auto pick = [](const char* symbol, const char* name) { return by_address ? name : symbol; };
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver || call("cuInit", 0u)) return 1;
  for (int i = 0; i < 2; ++i) {
    void *context = nullptr, *module = nullptr, *kernel = nullptr;
    unsigned long long to = 0;
    int values[64] = {};
    if (reinterpret_cast<int (*)(void**, unsigned, int)>(dlsym(driver, "cuCtxCreate_v2"))(&context, 0u, 0)) return 2;
    if (call("cuModuleLoadData", &module, ptx) || call("cuModuleGetFunction", &kernel, module, "add")) return 3;
    if (call(pick("cuMemAlloc_v2", "cuMemAlloc"), &to, sizeof values)) return 4;
    if (call(pick("cuMemcpyHtoD_v2", "cuMemcpyHtoD"), to, (const void*)values, sizeof values)) return 5;
    void* parameters[] = {&to};
    void** none = nullptr;
    void* stream = nullptr;
    if (call("cuLaunchKernel", kernel, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, (void**)parameters, none)) return 6;
    if (call(pick("cuMemcpyDtoH_v2", "cuMemcpyDtoH"), (void*)values, to, sizeof values)) return 7;
    std::printf("%d\n", values[63]);
    if (call(pick("cuCtxDestroy_v2", "cuCtxDestroy"), context)) return 8;
  }
}
)";

TEST(GpuLibrary, ProgramsThatSpeakToTheDriver) {
  const Workplace here;
  here.write("program.cpp", kDriverProgram);
  ASSERT_EQ(here.call({"clang++-19", "program.cpp", "-o", "program"}).code, 0);
  for (const std::vector<std::string>& program : {std::vector<std::string>{"./program"}, {"./program", "address"}}) {
    Result result;
    const auto lines =
        measured(here, {"COALESCE_REDIRECT_FRONT=" GPU_LIBRARY, "COALESCE_GPU_REPEAT=3", "COALESCE_GPU_COUNTERS=1"},
                 program, result);
    ASSERT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_EQ(result.out, "63\n63\n");
    const auto launches = of(lines, "launch");
    ASSERT_EQ(launches.size(), 2u) << program.size();
    for (const Json& launch : launches) {
      EXPECT_FALSE(launch["times"]["warm"].empty());  // three, unless they take more than their two seconds
      EXPECT_EQ(launch["counters"]["global_load_requests"], 1000);
      EXPECT_EQ(launch["block"], Json({64, 1, 1}));
    }
    EXPECT_EQ(of(lines, "name")[0]["name"], "add");
    EXPECT_EQ(of(lines, "copies")[0]["copies"]["h2d"]["bytes"], 512);
    EXPECT_EQ(of(lines, "record").size(), 2u);  // a header for each context
    EXPECT_EQ(of(lines, "end").size(), 1u);
    EXPECT_TRUE(of(lines, "note").empty());
  }
}

// Python's modules are loaded with what they need for themselves alone: the next definition of a name is not theirs.
TEST(GpuLibrary, ARuntimeThatOnlyOneLibrarySees) {
  const Workplace here;
  here.write("module.cpp",
             "extern \"C\" int cudaMalloc(void**, unsigned long), cudaMemcpy(void*, const void*, unsigned long, int);\n"
             "extern \"C\" int work() {\n"
             "  void* p = nullptr;\n"
             "  if (int error = cudaMalloc(&p, 128)) return error;\n"
             "  char bytes[128] = {};\n"
             "  return cudaMemcpy(p, bytes, 128, 1);\n"
             "}\n");
  here.write("program.cpp",
             "#include <dlfcn.h>\n"
             "int main() {\n"
             "  void* module = dlopen(\"./module.so\", RTLD_NOW | RTLD_LOCAL);\n"
             "  return module ? reinterpret_cast<int (*)()>(dlsym(module, \"work\"))() : 99;\n"
             "}\n");
  ASSERT_EQ(here.call({"clang++-19", "-shared", "-fPIC", "module.cpp", "-o", "module.so",
                       "-L" COALESCE_BINARY_DIR "/lib", "-l:libcudart.so.12"})
                .code,
            0);
  ASSERT_EQ(here.call({"clang++-19", "program.cpp", "-o", "program"}).code, 0);
  Result result;
  const auto lines = measured(here, {}, {"./program"}, result);
  EXPECT_EQ(result.code, 0) << result.err;
  ASSERT_EQ(of(lines, "copies").size(), 1u);
  EXPECT_EQ(of(lines, "copies")[0]["copies"]["h2d"]["bytes"], 128);
}

}  // namespace
}  // namespace coalesce::end_to_end
