// Errors before and during a program's run, each with the real command and real compilers: the exit code, the one line
// that says why, CUDA's own error codes in the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const char* const kProgram = R"(#include <cuda_runtime.h>
__global__ void nothing() {}
int main() {
  nothing<<<1, 1>>>();
  return cudaDeviceSynchronize();
}
)";

// One line `error: `, perhaps one `hint: `, and nothing else.
void expect_error(const Result& result, int code, const std::string& words) {
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("error: ", 0), 0u) << result.err;
  EXPECT_THAT(result.err, HasSubstr(words));
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
}

TEST(BadInputNightly, AnExecutableWithMachineCodeOnly) {
  NEEDS_COMPILER("nvcc");
  const Workplace here;
  here.write("x.cu", kProgram);
  ASSERT_EQ(here.call({"nvcc", "-cudart", "shared", "-gencode", "arch=compute_90,code=sm_90", "x.cu", "-o", "x"}).code,
            0);
  expect_error(here.coalesce({"./x"}), 125, "PTX");
}

// Another's rights: the dynamic linker would ignore what says where our runtime is.
TEST(BadInputNightly, AProgramWithAnothersRights) {
  NEEDS_COMPILER("nvcc");
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  const Workplace here;
  const auto path = here.write("x.cu", kProgram);
  ASSERT_EQ(here.call({"nvcc", "x.cu", "-o", "x"}).code, 0);
  const std::string program = path.parent_path() / "x";
  ASSERT_EQ(chown(program.c_str(), 1, 1), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  expect_error(here.coalesce({"./x"}), 125, "set-user-ID");
}

// A program that expects what stops its kernel decides by its own exit code.
TEST(BadInput, AKernelThatIsStopped) {
  NEEDS_COMPILER("clang");
  const Workplace here;
  here.write("x.cu", R"(#include <cuda_runtime.h>
__global__ void stops() { __trap(); }
int main() {
  stops<<<1, 1>>>();
  return cudaDeviceSynchronize() == cudaErrorLaunchFailure ? 0 : 1;
}
)");
  EXPECT_EQ(here.coalesce({"--compiler", "clang", "x.cu"}).code, 4);
  EXPECT_EQ(here.coalesce({"--compiler", "clang", "--allow-stopped", "x.cu"}).code, 0);
}

TEST(BadInput, ALabThatNeedsMoreMemoryThanThereIs) {
  const Workplace here;
  const Result result = here.call({kCommand, "lab", "reduce", "--compiler", "clang", "--n", "1000000000000"});  // 4 TB
  EXPECT_THAT(result.err, HasSubstr("error: this computer has not enough memory"));
  EXPECT_THAT(result.err, HasSubstr("hint: a smaller --n"));
  EXPECT_NE(result.code, 134) << result.err;
}

TEST(BadInput, WhatIsNoExecutable) {
  const Workplace here;
  const fs::path text = here.write("notes", "not a program\n");
  expect_error(here.coalesce({"./notes"}), 125, "notes");
  fs::permissions(text, fs::perms::owner_all);
  expect_error(here.coalesce({"./notes"}), 125, "notes");
  fs::permissions(here.write("empty", ""), fs::perms::owner_all);
  expect_error(here.coalesce({"./empty"}), 125, "empty");
  fs::permissions(here.write("torn", std::string("\x7f"
                                                 "ELF\x02\x01\x01",
                                                 7)),
                  fs::perms::owner_all);
  expect_error(here.coalesce({"./torn"}), 125, "torn");
  expect_error(here.coalesce({"."}), 125, ".");
  expect_error(here.coalesce({"./none"}), 125, "none");
  expect_error(here.coalesce({"none.cu"}), 125, "none.cu");
  fs::create_directory(here.write("a", "").parent_path() / "folder.cu");
  expect_error(here.coalesce({"folder.cu"}), 125, "folder.cu' is a folder");
  expect_error(here.coalesce({"/bin/true"}), 125, "/bin/true");
}

// A program that dies before it asks anything of the runtime (half a download, a missing instruction set) is named as
// what it is, not as one without kernels.
TEST(BadInput, AProgramEndedBeforeItsFirstCall) {
  const Workplace here;
  here.write("x.cu", "#include <csignal>\n__attribute__((constructor(101))) void dies() { std::raise(SIGKILL); }\n" +
                         std::string(kProgram));
  const Result result = here.call({kCommand, "run", "--compiler", "clang", "x.cu"});
  EXPECT_EQ(result.code, 128 + 9) << result.err;
  EXPECT_THAT(result.err, HasSubstr("ended by signal 9 (Killed: for want of memory"));
  EXPECT_THAT(result.err, HasSubstr("before it called"));
}

TEST(BadInput, UnknownOptionMetricDevice) {
  const Workplace here;
  here.write("x.cu", kProgram);
  expect_error(here.coalesce({"--tracee", "x.cu"}), 2, "--tracee");
  expect_error(here.coalesce({"--metrics", "gld_transactionz", "x.cu"}), 2, "gld_transactionz");
  expect_error(here.coalesce({"--device", "h2000", "x.cu"}), 2, "h2000");
  expect_error(here.coalesce({"--threads", "many", "x.cu"}), 2, "many");
}

TEST(BadInput, NoCompiler) {
  const Workplace here;
  here.write("x.cu", kProgram);
  // env -i keeps nothing; the command is named by its path, so PATH is only asked for compilers.
  for (const char* compiler : {"auto", "clang", "nvcc"}) {
    expect_error(here.call({"env", "-i", "PATH=/nonexistent", "HOME=/nonexistent", kCommand, "run", "--compiler",
                            compiler, "x.cu"}),
                 3, compiler == std::string("auto") ? "compiler" : compiler);
  }
}

class CompilerTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { NEEDS_COMPILER(GetParam()); }
  // Compiles and runs; `options` are coalesce's.
  Result run(const std::string& source, std::vector<std::string> options = {}) const {
    here.write("x.cu", source);
    options.insert(options.end(), {"--compiler", GetParam(), "x.cu"});
    return here.coalesce(options);
  }
  Workplace here;
};

TEST_P(CompilerTest, TheCompilersOwnMessageComesThrough) {
  const Result result = run("#include <cuda_runtime.h>\nint main() { return undeclared_thing; }\n");
  EXPECT_EQ(result.code, 125);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::ContainsRegex(R"(x\.cu[:(]2[:)].*error)"));
  EXPECT_THAT(result.err, HasSubstr("undeclared_thing"));
  EXPECT_THAT(result.err, HasSubstr("\nerror: 'x.cu' does not compile"));
}

TEST_P(CompilerTest, AnUnwritableExportStopsBeforeAnythingRuns) {
  here.write("x.cu", kProgram);
  const Result result = here.call({kCommand, "run", "--json", "no/such/folder/json", "--compiler", GetParam(), "x.cu"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--json"));
}

// nvcc's machine code says how many registers ptxas has given; clang makes none.
TEST_P(CompilerTest, EstimatesKnowPtxasRegisters) {
  here.write("x.cu", kProgram);
  const bool nvcc = GetParam() == std::string("nvcc");
  for (const char* device : nvcc ? std::vector{"h200", "rtx4090"} : std::vector{"h200"}) {
    const Result result =
        here.call({kCommand, "run", "--time", "--device", device, "--json", "json", "--compiler", GetParam(), "x.cu"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(here.read("json"),
                testing::ContainsRegex(std::string("\"registers_from\": ?\"") + (nvcc ? "ptxas" : "liveness")));
  }
}

// Codes as CUDA 13 returns them: 1 is invalid value.
TEST_P(CompilerTest, KernelsTooBigForTheDevice) {
  const Result result = run(R"(#include <cuda_runtime.h>
#include <cstdio>
extern __shared__ int many[];
__global__ void touch() { many[threadIdx.x] = 1; }
void launch(const char* what, dim3 grid, dim3 block, size_t shared) {
  touch<<<grid, block, shared>>>();
  std::printf("%s %d\n", what, static_cast<int>(cudaGetLastError()));
}
int main() {
  launch("fits", 1, 1024, 48 << 10);
  launch("threads", 1, 1025, 8192);
  launch("threads_in_z", 1, dim3(1, 1, 65), 1024);
  launch("no_threads", 1, 0, 1024);
  launch("no_blocks", 0, 32, 1024);
  launch("blocks_in_y", dim3(1, 65536), 32, 1024);
  launch("shared", 1, 32, (48 << 10) + 1);
  std::printf("opt_in %d\n", (int)cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
  launch("shared_after_opt_in", 1, 32, 227 << 10);
  launch("shared_beyond_all", 1, 32, (227 << 10) + 1);
  std::printf("opt_in_too_much %d\n",
              (int)cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize, (227 << 10) + 1));
  cudaGetLastError();
  launch("still_fits", 1, 32, 1024);
  std::printf("synchronize %d\n", (int)cudaDeviceSynchronize());
})");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out,
            "fits 0\nthreads 1\nthreads_in_z 1\nno_threads 1\nno_blocks 1\nblocks_in_y 1\nshared 1\nopt_in 0\n"
            "shared_after_opt_in 0\nshared_beyond_all 1\nopt_in_too_much 1\nstill_fits 0\nsynchronize 0\n");
}

// The toolkit's headers bring <utility>, and with it lists in braces.
TEST_P(CompilerTest, ListsInBracesWithoutAnInclude) {
  const Result result = run(R"(__global__ void count(int* out) { atomicAdd(out, 1); }
int main() {
  int *out, sum = 0;
  cudaMalloc(&out, 4);
  cudaMemset(out, 0, 4);
  for (int n : {1, 33, 66}) count<<<1, n>>>(out);
  cudaMemcpy(&sum, out, 4, cudaMemcpyDeviceToHost);
  return sum == 100 ? 0 : 1;
})");
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(CompilerTest, MemoryThatIsNotThere) {
  here.write("x.cu", R"(#include <cuda_runtime.h>
#include <cstdio>
int main() {
  void *p = nullptr, *q = nullptr;
  std::printf("%d ", (int)cudaMalloc(&p, size_t{1} << 46));  // more than any device has
  std::printf("%d ", (int)cudaMalloc(&p, size_t{32} << 30));  // the device has it; this process may not
  std::printf("%d ", (int)cudaMallocHost(&q, size_t{32} << 30));
  std::printf("%d ", (int)cudaGetLastError());
  std::printf("%d\n", (int)cudaMalloc(&p, 1 << 20));  // out of memory does not stick
})");
  // Compile without the limit, then run with it.
  const std::vector<std::string> words = {kCommand, "run", "-q", "--compiler", GetParam(), "x.cu"};
  ASSERT_EQ(here.call(words).code, 0);
  const Result result = here.call(words, size_t{16} << 30);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "2 2 2 2 0\n");
}

TEST_P(CompilerTest, AnEndlessKernelIsStoppedAndItsLoopNamed) {
  const Result result = run(R"(#include <cuda_runtime.h>
#include <cstdio>
__global__ void spin(volatile int* flag) {
  if (threadIdx.x == 0) flag[1] = 7;
  while (*flag == 0) {
    flag[2] = 1;
  }
}
int main() {
  int* flag;
  cudaMalloc(&flag, 12);
  cudaMemset(flag, 0, 12);
  spin<<<1, 32>>>(flag);
  std::printf("%d\n", (int)cudaDeviceSynchronize());
})",
                            {"--max-instructions", "100000"});
  EXPECT_EQ(result.code, 4) << result.out << result.err;
  EXPECT_NE(result.out, "0\n");
  EXPECT_THAT(result.err, HasSubstr("--max-instructions"));
  EXPECT_THAT(result.err, testing::ContainsRegex(R"(x\.cu:[56]:)")) << "the loop's lines are 5 and 6";
  EXPECT_THAT(result.err, HasSubstr("spin"));
}

std::string compiler_of(const testing::TestParamInfo<std::string>& test) { return test.param; }
INSTANTIATE_TEST_SUITE_P(Compilers, CompilerTest, testing::Values("clang"), compiler_of);
INSTANTIATE_TEST_SUITE_P(Nightly, CompilerTest, testing::Values("nvcc"), compiler_of);

}  // namespace
}  // namespace coalesce::end_to_end
