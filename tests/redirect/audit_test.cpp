// The audit library on programs and plug-ins that have a runtime of ours linked in statically, which says who it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "redirect/names.h"

namespace coalesce::redirect {
namespace {

using testing::HasSubstr;

const std::string kFolder = FAKE_FOLDER;
const std::string kArchive = kFolder + "/libfake_static.a";

struct Ran {
  int code = -1;
  std::string text;  // both outputs
};

Ran run(const std::string& command, const std::string& archives = kArchive, const std::string& to = kFolder) {
  const std::string line = "COALESCE_REDIRECT_TO='" + to + "' COALESCE_REDIRECT_ARCHIVES='" + archives +
                           "' LD_AUDIT=" AUDIT_LIBRARY " " + command + " 2>&1";
  Ran ran;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return ran;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.text.append(buffer, n);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

// The user's output if its functions are those of the runtime that begins counting at `base`: each returns that and its
// place in the list (as the list stands, not sorted).
std::string told(int base) {
  constexpr std::string_view kListed[] = {
#define X(name) #name,
#include "cudart/api/symbols.def"
#undef X
  };
  std::string text;
  for (const std::string_view name :
       {"__cudaRegisterFatBinary", "cudaMalloc", "cudaMemcpy", "cudaGetDeviceProperties_v2", "cudaStreamCreate"}) {
    const auto at = std::find(std::begin(kListed), std::end(kListed), name) - std::begin(kListed);
    text += (text.empty() ? "" : " ") + std::to_string(base + at);
  }
  return text + "\n";
}

constexpr int kStatic = 1000, kShared = 5000, kLevel = 7000;

class Users : public testing::TestWithParam<const char*> {};

TEST_P(Users, WithoutUsCallTheirOwnRuntime) {
  const Ran ran = run("env -u LD_AUDIT " + kFolder + "/" + GetParam());
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.text, told(kStatic));
}

TEST_P(Users, CallTheSharedRuntimeFromTheirFirstConstructorOn) {
  const Ran ran = run(kFolder + "/" + GetParam());
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.text, told(kShared));
}

TEST_P(Users, AreNamedWhereThereIsNoSharedRuntime) {
  const Ran ran = run(kFolder + "/" + GetParam(), kArchive, "/nowhere");
  EXPECT_THAT(ran.text, HasSubstr("coalesce: error: '"));
  EXPECT_THAT(ran.text, HasSubstr("there is no '/nowhere/libcudart.so.13' to take its place"));
  EXPECT_THAT(ran.text, HasSubstr(told(kStatic)));
}

INSTANTIATE_TEST_SUITE_P(Redirect, Users,
                         testing::Values("fake_program", "fake_program_fixed", "fake_program_stripped",
                                         "fake_host " FAKE_FOLDER "/libfake_plugin.so",
                                         "fake_host " FAKE_FOLDER "/libfake_plugin_stripped.so"),
                         [](const auto& test) { return "n" + std::to_string(test.index); });

TEST(Redirect, StrippedWithoutTheArchiveIsNamed) {
  for (const std::string& archives : {std::string(), std::string("/nowhere/libcudart_static.a"),
                                      std::string("/usr/lib/x86_64-linux-gnu/libc_nonshared.a")}) {
    const Ran ran = run(kFolder + "/fake_program_stripped", archives);
    EXPECT_THAT(ran.text, HasSubstr("coalesce: error: '"));
    EXPECT_THAT(ran.text, HasSubstr("it has no symbols"));
    EXPECT_THAT(ran.text, HasSubstr("coalesce: hint: rebuild it with nvcc -cudart shared"));
    EXPECT_THAT(ran.text, HasSubstr(told(kStatic)));
  }
}

// The dynamic linker's own list of levels says which copy this CPU can run.
TEST(Redirect, TakesTheCopyOfTheCpusLevel) {
  namespace fs = std::filesystem;
  const std::string searched = run("env -u LD_AUDIT /lib64/ld-linux-x86-64.so.2 --help").text;
  int supported = 0;
  for (const std::string level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    std::string folder = testing::TempDir() + "coalesce-levels-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    fs::create_directories(folder + "/glibc-hwcaps/" + level);
    fs::copy_file(kFolder + "/libcudart.so.13", folder + "/libcudart.so.13");
    fs::copy_file(kFolder + "/libfake_level.so", folder + "/glibc-hwcaps/" + level + "/libcudart.so.13");
    const bool runs = searched.find(level + " (supported, searched)") != std::string::npos;
    EXPECT_EQ(run(kFolder + "/fake_program", kArchive, folder).text, told(runs ? kLevel : kShared)) << level;
    supported += runs;
    fs::remove_all(folder);
  }
  EXPECT_GT(supported, 0);
}

TEST(Redirect, LeavesOthersAlone) {
  const Ran ran = run("/bin/echo hello");
  EXPECT_EQ(ran.text, "hello\n");
  EXPECT_EQ(ran.code, 0);
}

// On a GPU (a library stands in front) machine code is what is wanted.
TEST(Redirect, ACompilerAnswersWithPtx) {
  EXPECT_EQ(run(kFolder + "/fake_asker").text, "1 2 1 2\n");
  EXPECT_EQ(run("env COALESCE_REDIRECT_FRONT=/front.so " + kFolder + "/fake_asker").text, "1 2 3 4\n");
}

// cuBLAS does by public functions what it refuses without private interfaces; on a GPU nobody stands between.
TEST(Redirect, CublasDoesWithoutPrivateInterfaces) {
  std::string folder = testing::TempDir() + "coalesce-cublas-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::filesystem::copy_file(kFolder + "/libfake_memory.so", folder + "/libcudart.so.13");
  for (const std::string& user : {kFolder + "/fake_blas_user", kFolder + "/fake_blas_user libcublas.so.13"}) {
    const Ran ran = run("env LD_LIBRARY_PATH=" + kFolder + " " + user, kArchive, folder);
    EXPECT_THAT(ran.text, HasSubstr("right\n"));
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.text, HasSubstr("coalesce: warning: cublasSgemm runs as cublasSgemmStridedBatched"));
    EXPECT_THAT(run("env COALESCE_REDIRECT_FRONT=/front.so LD_LIBRARY_PATH=" + kFolder + " " + user).text,
                HasSubstr("product: status 15"));
  }
  std::filesystem::remove_all(folder);
}

// There, libraries keep their static runtimes, and nobody complains.
TEST(Redirect, OnlyExecutablesBehindAFront) {
  const std::string front = "env COALESCE_REDIRECT_FRONT=/front.so " + kFolder;
  EXPECT_EQ(run(front + "/fake_program").text, told(kShared));
  EXPECT_EQ(run(front + "/fake_host " + kFolder + "/libfake_plugin.so").text, told(kStatic));
  EXPECT_EQ(run(front + "/fake_program", kArchive, "/nowhere").text, told(kStatic));
}

// Every page of every process it touches, after the jumps are written.
TEST(Redirect, NoPageIsWritableAndExecutable) {
  const Ran ran = run(kFolder + "/fake_maps");
  EXPECT_THAT(ran.text, HasSubstr(" r-xp "));
  EXPECT_THAT(ran.text, testing::Not(HasSubstr(" rwxp ")));
  EXPECT_THAT(ran.text, HasSubstr(told(kShared)));
}

TEST(Names, AreSortedAndFound) {
  EXPECT_GT(kNames.size(), 422u);
  EXPECT_TRUE(std::is_sorted(kNames.begin(), kNames.end()));
  for (size_t k = 0; k < kNames.size(); ++k) EXPECT_EQ(index_of(kNames[k]), k);
  for (const char* name : {"", "cuda", "cudaMallo", "cudaMallocc", "main", "__cuda"})
    EXPECT_EQ(index_of(name), kNoName);
}

}  // namespace
}  // namespace coalesce::redirect
