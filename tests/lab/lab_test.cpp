// The experiments themselves: the real command, compiler and machine. Results right for sizes that divide by nothing,
// and at the default sizes, compiled by nvcc, the counts that an NVIDIA H200 made (truth/kernels.json, and the claims
// of the document "measured").
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sanitized.h"

namespace {

using coalesce::few_cases;
using nlohmann::json;
namespace fs = std::filesystem;

bool on_path(const std::string& program) { return std::system(("command -v " + program + " >/dev/null").c_str()) == 0; }

// The output of `coalesce lab <arguments> --json FILE`; null if it failed.
json lab(const std::string& arguments) {
  const std::string command = COALESCE_BINARY_DIR "/bin/coalesce";
  const fs::path file = fs::path(testing::TempDir()) / ("coalesce-lab-" + std::to_string(getpid()) + ".json");
  const int code = std::system((command + " lab " + arguments + " --json " + file.string() + " >/dev/null").c_str());
  EXPECT_EQ(code, 0) << arguments;
  std::ifstream in(file);
  json result = json::parse(in, nullptr, false);
  fs::remove(file);
  EXPECT_FALSE(result.is_discarded()) << arguments;
  return code || result.is_discarded() ? json() : result["experiments"][0];
}

const char* const kExperiments[] = {"addressing", "alignment", "banks",   "divergence", "latency",  "matmul",
                                    "reduce",     "registers", "reverse", "square_sum", "transfer", "transpose"};

class Experiments : public testing::TestWithParam<const char*> {};

void all_right(const std::string& name, const std::string& options) {
  const json experiment = lab(name + ' ' + options);
  ASSERT_FALSE(experiment.is_null());
  EXPECT_FALSE(experiment["rungs"].empty());
  for (const json& rung : experiment["rungs"]) EXPECT_EQ(rung["result"], "ok") << name << ' ' << rung["name"];
}

// Two compilers, several sizes: minutes for all experiments. Every change runs other sizes of one
// (tests/end_to_end/ladder_test.cpp).
class OddSizes : public Experiments {};

TEST_P(OddSizes, AreRight) {
  const std::string name = GetParam();
  for (const std::string compiler : {"nvcc", "clang"}) {
    if (!on_path(compiler == "clang" ? "clang++-19" : "nvcc")) continue;
    if (compiler == "nvcc" && few_cases()) continue;
    const std::string with = " --compiler " + compiler;
    if (name == "banks") {
      for (const char* options : {"--stride 0", "--stride 7 --width 1", "--stride 3 --width 8 --pad 2",
                                  "--stride 5 --width 16 --lanes 19", "--stride 33 --width 2"}) {
        all_right(name, options + with);
      }
    } else if (name == "matmul" || name == "transpose" || name == "transfer" || name == "latency") {
      for (const char* options : {"--n 1", "--n 37", "--n 100"}) all_right(name, options + with);
    } else {
      for (const char* options : {"--n 1", "--n 1000003", "--n 8191 --block 64", "--n 4097 --block 1024"})
        all_right(name, options + with);
    }
  }
}

class Engines : public Experiments {};

TEST_P(Engines, CountTheSame) {
  if (!fs::exists(COALESCE_BINARY_DIR "/lib/libcoalesce_native.so")) GTEST_SKIP() << "built without LLVM";
  const std::string name = GetParam();
  const std::string options = name == "banks" ? " --stride 3"
                              : name == "matmul" || name == "transpose" || name == "transfer" || name == "latency"
                                  ? " --n 100"
                                  : " --n 8191";
  const json interpreted = lab(name + options + " --compiler clang --engine interpreter");
  const json native = lab(name + options + " --compiler clang --engine native");
  ASSERT_FALSE(interpreted.is_null() || native.is_null());
  ASSERT_EQ(interpreted["rungs"].size(), native["rungs"].size());
  for (std::size_t k = 0; k < interpreted["rungs"].size(); ++k) {
    EXPECT_EQ(native["rungs"][k]["result"], "ok") << interpreted["rungs"][k]["name"];
    EXPECT_EQ(interpreted["rungs"][k]["counters"], native["rungs"][k]["counters"]) << interpreted["rungs"][k]["name"];
  }
}

TEST_P(Experiments, DefaultsCountWhatHardwareCounted) {
  if (!on_path("nvcc")) GTEST_SKIP() << "there is no nvcc, and other compilers' PTX differs";
  const json experiment = lab(std::string(GetParam()) + " --compiler nvcc");
  ASSERT_FALSE(experiment.is_null());
  for (const json& claim : experiment["claims"]) {
    if (claim["document"] == "measured") EXPECT_EQ(claim["verdict"], "holds") << claim.dump(1);
    // Whatever the machine could judge it must judge: a misspelled rung would go unnoticed otherwise.
    if (!claim["holds_expression"].get<std::string>().empty())
      EXPECT_NE(claim["verdict"], "cannot be judged here") << claim.dump(1);
  }
  // Which measured kernel a rung is. Where volatile and the like let the compiler choose, nothing is listed.
  static const struct {
    const char *experiment, *rung, *measured;
  } kSame[] = {
      {"reduce", "neighbored_global", "neighboured pairs in global memory, int, n=2^24, 512 threads"},
      {"reduce", "neighbored_shared", "neighboured pairs in shared memory, int, n=2^24, 512 threads"},
      {"reduce", "halving_global",
       "halving in global memory, last warp unrolled with volatile, int, n=2^24, 512 threads"},
      {"reduce", "halving_shared",
       "halving in shared memory, last warp unrolled with volatile, int, n=2^24, 512 threads"},
      {"reduce", "unroll4_shared", "four loads a thread, then halving in shared memory, int, n=2^24, 512 threads"},
      {"addressing", "interleaved_modulo",
       "stride doubling with tid % (2*stride), float, n=2^24, 256 threads, dynamic shared memory"},
      {"addressing", "sequential", "stride halving, float, n=2^24, 256 threads, static shared memory"},
      {"reverse", "reverse_shared", "reverse through dynamic shared memory, int, n=2^24, 256 threads"},
      {"transpose", "shared_padded", "transpose 4096x4096 float, 32x33 tile, 32x8 threads"},
  };
  std::ifstream in(COALESCE_SOURCE_DIR "/tests/truth/kernels.json");
  const json truth = json::parse(in);
  for (const auto& [name, rung_name, measured] : kSame) {
    if (experiment["name"] != name) continue;
    int found = 0;
    for (const json& kernel : truth) {
      if (kernel["what"] != measured) continue;
      for (const json& rung : experiment["rungs"]) {
        if (rung["name"] != rung_name) continue;
        ++found;
        for (const auto& [counter, value] : kernel["counters"].items())
          EXPECT_EQ(rung["counters"][counter], value) << rung_name << ' ' << counter;
      }
    }
    EXPECT_EQ(found, 1) << measured;
  }
}

std::string name_of(const testing::TestParamInfo<const char*>& test) { return test.param; }
std::vector<const char*> others_than(std::initializer_list<std::string_view> names) {
  std::vector<const char*> others;
  for (const char* name : kExperiments)
    if (std::find(names.begin(), names.end(), name) == names.end()) others.push_back(name);
  return others;
}
INSTANTIATE_TEST_SUITE_P(Nightly, Experiments, testing::ValuesIn(kExperiments), name_of);
INSTANTIATE_TEST_SUITE_P(Nightly, OddSizes, testing::ValuesIn(kExperiments), name_of);
INSTANTIATE_TEST_SUITE_P(Lab, Engines, testing::Values("reduce"), name_of);
INSTANTIATE_TEST_SUITE_P(Nightly, Engines, testing::ValuesIn(others_than({"reduce"})), name_of);

TEST(Lab, EveryExperimentIsTested) {
  std::size_t folders = 0;
  for (const auto& entry : fs::directory_iterator(COALESCE_SOURCE_DIR "/lab")) folders += entry.is_directory();
  EXPECT_EQ(folders, std::size(kExperiments));
}

}  // namespace
