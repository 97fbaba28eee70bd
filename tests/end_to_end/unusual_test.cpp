// Unusual programs: they launch when the process ends, close files that they did not open, fill the disk.
#include <gmock/gmock.h>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

namespace fs = std::filesystem;

// Kernels launched by destructors of static objects run when other static objects are already gone.
TEST(Programs, MayLaunchFromTheirLastDestructor) {
  const Workplace here;
  const fs::path source = here.write("last.cu", R"(
#include <cstdio>
__global__ void first(int* out) { *out = 1; }
__global__ void last(int* out) { *out = static_cast<int>(__popc(threadIdx.x + 7) + blockDim.x); }
struct AtTheEnd {
  int* out = nullptr;
  ~AtTheEnd() {
    int result = 0;
    last<<<1, 1>>>(out);
    const cudaError_t status = cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
    std::printf("%d %s\n", result, cudaGetErrorString(status));
  }
};
int main() {
  static AtTheEnd at_the_end;  // made before the first launch: destroyed after what that made, if anything
  cudaMalloc(reinterpret_cast<void**>(&at_the_end.out), sizeof(int));
  first<<<1, 1>>>(at_the_end.out);
  return cudaDeviceSynchronize();
}
)");
  // Nothing in the cache: the one kernel's code is written to it before the destructors run, the other's never.
  const std::string cache = "XDG_CACHE_HOME=" + (source.parent_path() / "cache").string();
  for (const char* engine : {"interpreter", "native"}) {
    const Result result =
        here.call({"env", cache, kCommand, "run", "-q", "--compiler", "clang", "--engine", engine, source.string()});
    EXPECT_EQ(result.code, 0) << engine << result.err;
    EXPECT_EQ(result.out, "4 no error\n") << engine;
  }
}

// A GPU ends such a kernel with the process.
TEST(Programs, MayEndWhileAKernelWaitsForThem) {
  const Workplace here;
  here.write("left.cu", R"(
__global__ void left(volatile int* flag, int* out) {
  while (*flag == 0) {}
  *out = 1;
}
int main() {
  int* memory;
  cudaMallocManaged(&memory, 2 * sizeof *memory);
  memory[0] = 0;
  left<<<1, 32>>>(memory, memory + 1);
  return 5;
}
)");
  const Result result = here.call({"timeout", "60", kCommand, "run", "-q", "--compiler", "clang", "left.cu"});
  EXPECT_NE(result.code, 124) << "it never ends";
  EXPECT_THAT(result.err, testing::HasSubstr("the program has ended and a kernel still waits"));
}

// Kernels run on the stack of who launches them, and what libraries keep for each thread lies on it, too.
TEST(Programs, MayLaunchFromThreadsWithSmallStacks) {
  const Workplace here;
  const fs::path source = here.write("small.cu", R"(
#include <cstdio>
#include <pthread.h>
#include <coalesce/reduce.cuh>
__global__ void fill(float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = i % 7;
}
void* thread(void*) {
  const int n = 70000;
  float *in, *out, sum = 0;
  cudaMalloc(reinterpret_cast<void**>(&in), n * sizeof(float));
  cudaMalloc(reinterpret_cast<void**>(&out), sizeof(float));
  fill<<<8, 256>>>(in, n);
  coalesce::sum(in, n, out);
  cudaMemcpy(&sum, out, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%.0f\n", sum);
  return nullptr;
}
int main() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  pthread_t one;
  return pthread_create(&one, &small, thread, nullptr) != 0 || pthread_join(one, nullptr) != 0;
}
)");
  for (const char* engine : {"interpreter", "native"}) {
    const Result result = here.coalesce({"--compiler", "clang", "--engine", engine, source.string()});
    EXPECT_EQ(result.code, 0) << engine << result.err;
    EXPECT_EQ(result.out, "210000\n") << engine;
  }
}

// A disk that is full, here by a limit to the size of files (that of messages, too): what was counted is shown, and
// nobody takes it for all.
TEST(Records, ThatAreCutAreNoSuccess) {
  const Workplace here;
  const fs::path source = here.write("many.cu", R"(
__global__ void one(int* out) { out[threadIdx.x] = 1; }
int main() {
  int* out;
  cudaMalloc(reinterpret_cast<void**>(&out), 128);
  for (int k = 0; k < 20; ++k) one<<<1, 32>>>(out);
  return cudaDeviceSynchronize();
}
)");
  for (const char* subcommand : {"run", "check"}) {
    const auto limited = [&](const char* blocks) {  // of 512 bytes
      return here.call({"sh", "-c", std::string("trap '' XFSZ; ulimit -f ") + blocks + "; exec \"$@\"", "sh", kCommand,
                        subcommand, "--compiler", "clang", source.string()});
    };
    ASSERT_EQ(limited("unlimited").code, 0);
    for (const char* blocks : {"1", "4"}) {
      const Result cut = limited(blocks);
      EXPECT_EQ(cut.code, 3) << cut.err;
      EXPECT_THAT(cut.err, testing::ContainsRegex("cannot write the record '[^']*': File too large"));
      EXPECT_THAT(cut.err, testing::HasSubstr("launches after it are missing: there was no room for it"));
      EXPECT_THAT(cut.err, testing::Not(testing::HasSubstr("made no call")));
    }
  }
}

// A daemon closes all files and leaves its folder. The record is found again, and the program's own files are not
// written to.
TEST(Records, OutliveProgramsThatCloseAllFilesAndLeaveTheirFolder) {
  const Workplace here;
  const fs::path source = here.write("closes.cu", R"(
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
__global__ void before(int* out) { *out = 1; }
__global__ void after(int* out) { *out = 2; }
int main(int, char** words) {
  int* out;
  cudaMalloc(reinterpret_cast<void**>(&out), sizeof(int));
  before<<<1, 1>>>(out);
  if (chdir("/") != 0) return 1;
  for (int file = 3; file < 1024; ++file) close(file);
  int own = 3;
  while (own >= 0 && own < 300) own = open(words[1], O_CREAT | O_APPEND | O_WRONLY, 0600);
  if (write(own, "mine", 4) != 4) return 2;
  after<<<1, 1>>>(out);
  const cudaError_t status = cudaDeviceSynchronize();
  return status == cudaSuccess && write(own, "!", 1) == 1 ? 0 : 3;
}
)");
  const fs::path own = source.parent_path() / "own";
  for (const char* record : {"", "record"}) {  // the command's, which has a full path; and one of the user's
    fs::remove(own);
    const fs::path json = source.parent_path() / "json";
    Result result;
    if (*record) {
      std::string program;
      for (const auto& entry : fs::directory_iterator(source.parent_path() / "cache/coalesce"))
        if (fs::exists(entry.path() / "program")) program = (entry.path() / "program").string();
      result = here.call({"env", "-C", source.parent_path().string(), "COALESCE_RECORD=record",
                          "LD_LIBRARY_PATH=" COALESCE_BINARY_DIR "/lib", program, own.string()});
    } else {
      result = here.call({"env", "XDG_CACHE_HOME=" + (source.parent_path() / "cache").string(), kCommand, "run", "-q",
                          "--compiler", "clang", "--json", json.string(), source.string(), own.string()});
    }
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(here.read(own.string()), "mine!");
    const std::string written = here.read((*record ? source.parent_path() / record : json).string());
    for (const char* wanted : {"before", "after", *record ? "{\"end\":true" : "\"complete\":true"})
      EXPECT_THAT(written, testing::HasSubstr(wanted));
  }
}

// A usage message names what the user typed, not a folder of the cache.
TEST(Programs, AreCalledAsTheUserCallsThem) {
  const Workplace here;
  here.write("named.cu", R"(#include <cstdio>
__global__ void nothing() {}
int main(int, char** words) {
  nothing<<<1, 1>>>();
  std::puts(words[0]);
  return cudaDeviceSynchronize();
}
)");
  const Result result = here.coalesce({"--compiler", "clang", "named.cu", "x"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "named.cu\n");
}

// A filter of system calls that answers with an error makes the machine seem to lack memory, or room for its record.
TEST(Programs, WithFiltersOfSystemCallsAreToldSo) {
  const Workplace here;
  here.write("filter.cu", R"(#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
__global__ void nothing() {}
int main(int, char** words) {
  sock_filter steps[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
                         {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(atoi(words[1]))},
                         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
                         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog filter = {4, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 9;
  void* memory;
  if (cudaMalloc(&memory, 1 << 20) != cudaSuccess) return 7;
  nothing<<<1, 1>>>();
  return cudaDeviceSynchronize();
}
)");
  const std::string warning = "warning: this program has a filter of system calls (seccomp)";
  const auto run = [&](const std::string& forbidden) {
    return here.call({kCommand, "run", "--compiler", "clang", "filter.cu", forbidden});
  };
  const Result no_memory = run("9"), no_record = run("1"), unharmed = run("999");  // mmap, write, no call
  EXPECT_EQ(no_memory.code, 7) << no_memory.err;
  EXPECT_THAT(no_memory.err, testing::HasSubstr(warning));
  EXPECT_THAT(no_record.err, testing::HasSubstr(warning));
  EXPECT_EQ(unharmed.code, 0) << unharmed.err;
  EXPECT_THAT(unharmed.err, testing::Not(testing::HasSubstr("seccomp")));
}

// On a terminal, a launch of one block that takes long is shown to be alive.
TEST(Progress, IsDrawnWhileNoBlockEnds) {
  const Workplace here;
  const fs::path source = here.write("slow.cu", R"(#include <cstdio>
__global__ void slow(volatile int* stop) { while (*stop == 0) stop[1] = 1; }
int main() {
  int* stop;
  cudaMalloc(reinterpret_cast<void**>(&stop), 8);
  cudaMemset(stop, 0, 8);
  slow<<<1, 32>>>(stop);
  cudaDeviceSynchronize();
}
)");
  ASSERT_NE(here.coalesce({"--compiler", "clang", "--max-instructions", "1000", source.string()}).code, 125);
  const std::string command = "timeout -s INT 3 " + kCommand + " run --compiler clang " + source.string();
  // script gives the command a terminal, and needs no input itself.
  const Result shown = here.call({"sh", "-c", "timeout 60 script -qec '" + command + "' /dev/null < /dev/null"});
  EXPECT_THAT(shown.out, testing::HasSubstr("slow  0 % of blocks  1 s")) << shown.err;
  EXPECT_THAT(shown.out, testing::HasSubstr("slow  0 % of blocks  2 s"));
}

}  // namespace
}  // namespace coalesce::end_to_end
