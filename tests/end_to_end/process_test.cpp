// Programs of several processes, and libraries whose code is for newer devices than the usual one.
#include <gmock/gmock.h>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

using testing::HasSubstr;

// Launches an empty kernel as often as its argument says. Its fat binary is one of compute_121, or of what the second
// argument says.
constexpr char kLauncher[] = R"(
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
struct Dim { unsigned x, y, z; };
extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
int cudaLaunchKernel(const void*, Dim, Dim, void**, size_t, void*);
int cudaDeviceSynchronize();
int cudaDeviceGetAttribute(int*, int, int);
const char* cudaGetErrorName(int);
}
static std::string bytes;
template <typename T>
void put(T value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
static char kernel;
int main(int count, char** words) {
  const unsigned architecture = count > 2 ? std::atoi(words[2]) : 121;
  std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
  ptx.resize((ptx.size() + 8) / 8 * 8);
  put<uint32_t>(0xba55ed50), put<uint16_t>(1), put<uint16_t>(16), put<uint64_t>(64 + ptx.size());
  put<uint16_t>(1), put<uint16_t>(0x101), put<uint32_t>(64), put<uint64_t>(ptx.size()), put<uint64_t>(0);
  put<uint16_t>(0), put<uint16_t>(9), put<uint32_t>(architecture), put<uint64_t>(0);
  put<uint64_t>(0x11), put<uint64_t>(0), put<uint64_t>(0);
  bytes += ptx;
  static struct { uint32_t magic, version; const void *data, *parts; } wrapper{0x466243b1, 1, bytes.data(), nullptr};
  void** module = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(module, &kernel, &kernel, "k", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  int major = 0, minor = 0, status = 0;
  cudaDeviceGetAttribute(&major, 75, 0);
  cudaDeviceGetAttribute(&minor, 76, 0);
  for (int i = 0; i < std::atoi(words[1]); ++i) {
    const int one = cudaLaunchKernel(&kernel, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr);
    if (status == 0) status = one;
  }
  if (status == 0) status = cudaDeviceSynchronize();
  std::printf("%d.%d %s\n", major, minor, cudaGetErrorName(status));
}
)";

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    here.write("program.cpp", kLauncher);
    ASSERT_EQ(
        here.call({"clang++-19", "program.cpp", "-o", "program", COALESCE_BINARY_DIR "/lib/libcudart.so.13"}).code, 0);
  }
  const Workplace here;
};

TEST_F(Processes, AreCountedTogetherAndNamed) {
  const Result result = here.coalesce({"/bin/sh", "-c", "./program 3 80 & ./program 5 80 & wait; ./program 1 80"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, testing::Not(HasSubstr("is not recorded")));
  const nlohmann::json counted = here.json();
  ASSERT_EQ(counted["processes"].size(), 3u) << counted;
  std::map<std::string, int> launches;
  for (const auto& process : counted["processes"]) launches[process["command"]] = process["launches"];
  EXPECT_EQ(launches,
            (std::map<std::string, int>{{"./program 3 80", 3}, {"./program 5 80", 5}, {"./program 1 80", 1}}));
  ASSERT_EQ(counted["launches"].size(), 9u);
  for (const auto& launch : counted["launches"])
    ++launches[counted["processes"][launch["process"].get<size_t>()]["command"]];
  EXPECT_EQ(launches["./program 5 80"], 10);
  EXPECT_EQ(counted["complete"], true);
}

// As under `coalesce run mpirun`: which rank writes first does not matter.
TEST_F(Processes, RanksAreInOrder) {
  const Result result = here.coalesce(
      {"/bin/sh", "-c",
       "export OMPI_COMM_WORLD_SIZE=2; OMPI_COMM_WORLD_RANK=1 ./program 3 80; OMPI_COMM_WORLD_RANK=0 ./program 1 80"});
  EXPECT_EQ(result.code, 0) << result.err;
  const nlohmann::json counted = here.json();
  EXPECT_EQ(counted["ranks"], 2);
  ASSERT_EQ(counted["processes"].size(), 2u) << counted;
  EXPECT_EQ(counted["processes"][0]["rank"], 0);
  EXPECT_EQ(counted["processes"][1]["launches"], 3);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(counted["launches"].at(i)["process"], i == 0 ? 0 : 1);
}

TEST_F(Processes, OneIsNotNamed) {
  const Result result = here.coalesce({"./program", "2", "80"});
  EXPECT_EQ(result.out, "9.0 cudaSuccess\n");
  EXPECT_FALSE(here.json().contains("processes"));
}

TEST_F(Processes, TheDeviceIsOneThatTakesTheCode) {
  const Result result = here.coalesce({"./program", "1"});
  EXPECT_EQ(result.out, "12.1 cudaSuccess\n") << result.err;
  EXPECT_THAT(result.err, HasSubstr("the device is an NVIDIA GB10, because code of the program is for compute_121"));
  EXPECT_EQ(here.json()["device"]["key"], "gb10");
  EXPECT_EQ(here.coalesce({"./program", "1", "100"}).out, "10.0 cudaSuccess\n");
}

TEST_F(Processes, TheDeviceThatWasChosenStays) {
  const Result result = here.coalesce({"--device", "a100", "./program", "1"});
  EXPECT_EQ(result.out, "8.0 cudaErrorNoKernelImageForDevice\n");
  EXPECT_THAT(result.err, HasSubstr("hint: compile it for an older architecture, or coalesce run --device gb10"));
}

}  // namespace
}  // namespace coalesce::end_to_end
