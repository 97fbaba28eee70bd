// Every program of tests/programs, by every compiler: it checks its own results and exits 0; what it counts, per launch
// and per source line, is the same interpreted and as native code, with one thread and with more. Lines `//
// expected-output:` say what it prints. All are compiled as one program that runs the one it is asked for: reading
// CUDA's headers takes longer than all of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/end_to_end/command.h"
#include "tests/sanitized.h"

namespace coalesce::end_to_end {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kSource + "/tests/programs")) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The text after every `// expected-output: `, a line each; empty where the program's output is its own affair.
std::string expected_output(const std::string& source) {
  const std::string mark = "// expected-output: ";
  std::istringstream lines(source);
  std::string expected;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(mark)) expected += line.substr(mark.size()) + "\n";
  }
  return expected;
}

const std::string kBegins = "== ";  // in front of a program's name, when it begins

// One program of all: each in a namespace of its own, the headers before them. Their mains become functions that return
// nothing: only the program's own may leave out its value.
std::string all_in_one(const std::vector<std::string>& names) {
  std::string headers, bodies, calls;
  for (const std::string& name : names) {
    const std::string source = kSource + "/tests/programs/" + name + ".cu";
    std::ifstream file(source);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("#include <")) headers += line + "\n";
    }
    bodies += "namespace program_" + name + " {\n#include \"" + source + "\"\n}\n";
    calls += "    if (name == \"" + name + "\") program_" + name + "::run();\n";
  }
  return headers + "#include <string>\n#include \"" + kSource + "/tests/programs/check.h\"\n" +
         "#define main() no_result; void run()\n" + bodies + "#undef main\n" +
         "int main(int count, char** words) {\n  for (int k = 1; k < count; ++k) {\n    const std::string name = "
         "words[k];\n"
         "    std::printf(\"" +
         kBegins + "%s\\n\", words[k]), std::fflush(stdout);\n" + calls + "  }\n}\n";
}

// The file's place is fixed, so that it is compiled only when a program changes. A rename makes it appear whole,
// because tests run side by side.
std::string all_in_one_file() {
  const std::string path = COALESCE_BINARY_DIR "/tests/programs.cu", text = all_in_one(programs());
  std::ostringstream before;
  before << std::ifstream(path).rdbuf();
  if (before.str() == text) return path;
  const std::string own = path + std::to_string(getpid());
  std::ofstream(own) << text;
  fs::rename(own, path);
  return path;
}

// The output of each program: what follows the line with its name.
std::map<std::string, std::string> by_program(const std::string& out) {
  std::map<std::string, std::string> all;
  std::istringstream lines(out);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kBegins))
      name = line.substr(kBegins.size());
    else
      all[name] += line + "\n";
  }
  return all;
}

// One process runs all programs. The last name in its output is the one that has ended it.
void run_alike(const Workplace& here, const std::string& all, const std::string& compiler) {
  nlohmann::json first;
  std::vector<std::pair<const char*, const char*>> ways = {{"1", "interpreter"}, {"2", "native"}};
  if (!few_cases()) ways.insert(ways.end(), {{"2", "interpreter"}, {"1", "native"}, {"8", "native"}});
  for (const auto& [threads, engine] : ways) {
    if (engine == std::string("native") && !fs::exists(COALESCE_BINARY_DIR "/lib/libcoalesce_native.so")) continue;
    SCOPED_TRACE(std::string(engine) + ", " + threads + " thread(s)");
    // The largest of them executes under 20 million warp instructions: one that hangs ends here, not at a time-out.
    std::vector<std::string> words = {"--compiler",         compiler,    "--threads", threads, "--engine", engine,
                                      "--max-instructions", "100000000", "--lines",   all};
    for (const std::string& name : programs()) words.push_back(name);
    const Result result = here.coalesce(words);
    ASSERT_EQ(result.code, 0) << result.out << result.err;
    const auto printed = by_program(result.out);
    for (const std::string& name : programs()) {
      const std::string expected = expected_output(here.read(kSource + "/tests/programs/" + name + ".cu"));
      if (!expected.empty()) EXPECT_EQ(printed.contains(name) ? printed.at(name) : "", expected) << name;
    }
    const nlohmann::json counted = here.json();
    ASSERT_TRUE(counted.contains("launches")) << counted;
    if (first.is_null()) {
      first = counted;
      EXPECT_GE(first["launches"].size(), programs().size());
    } else {
      EXPECT_EQ(counted["launches"], first["launches"]) << nlohmann::json::diff(first, counted);
    }
  }
}

TEST(DefaultProgramsNightly, MachineCodeWithLineNumbersBringsItsPtx) {
  NEEDS_COMPILER("nvcc");
  const Workplace here;
  here.write("k.cu",
             "__global__ void fill(int* x) { x[threadIdx.x] = 3; }\n"
             "int main() {\n"
             "  int *x, y = 0;\n"
             "  cudaMalloc(&x, 128);\n"
             "  fill<<<1, 32>>>(x);\n"
             "  cudaMemcpy(&y, x + 31, 4, cudaMemcpyDeviceToHost);\n"
             "  return y == 3 ? 0 : 1;\n"
             "}\n");
  const auto counted = [&](const std::string& code, const std::string& option) {
    EXPECT_EQ(here.call({"nvcc", "-gencode", "arch=compute_90,code=" + code, option, "k.cu", "-o", "k"}).code, 0);
    const Result result = here.coalesce({"./k"});
    EXPECT_EQ(result.code, 0) << option << result.err;
    return here.json()["launches"];
  };
  const nlohmann::json launches = counted("compute_90", "-O3");
  EXPECT_EQ(launches.size(), 1u);
  EXPECT_EQ(counted("sm_90", "-lineinfo"), launches);
  EXPECT_EQ(counted("sm_90", "-G").size(), 1u);
}

// nvcc links the runtime in statically by default. One compiled file, linked in each way.
TEST(DefaultProgramsNightly, CountAsThoseWithTheSharedRuntime) {
  NEEDS_COMPILER("nvcc");
  const Workplace here;
  const std::vector<std::string> names = {"device_printf", "functions", "groups",         "managed",
                                          "pitch_copies",  "symbols",   "streams_events", "struct_parameters"};
  here.write("all.cu", all_in_one(names));
  ASSERT_EQ(here.call({"nvcc", "-std=c++17", "-lineinfo", "-c", "all.cu", "-o", "all.o"}).code, 0);
  ASSERT_EQ(here.call({"nvcc", "-cudart", "shared", "all.o", "-o", "shared"}).code, 0);
  ASSERT_EQ(here.call({"nvcc", "all.o", "-o", "plain"}).code, 0);
  ASSERT_EQ(here.call({"nvcc", "-Xlinker", "-no-pie", "all.o", "-o", "fixed"}).code, 0);
  ASSERT_EQ(here.call({"nvcc", "-Xlinker", "-s", "all.o", "-o", "stripped"}).code, 0);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const Result first = here.coalesce({"--lines", "./shared", name});
    ASSERT_EQ(first.code, 0) << first.err;
    const nlohmann::json counted = here.json();
    EXPECT_FALSE(counted["launches"].empty());
    for (const char* program : {"./plain", "./fixed", "./stripped"}) {
      const Result result = here.coalesce({"--lines", program, name});
      EXPECT_EQ(result.code, 0) << program << result.err;
      EXPECT_EQ(result.out, first.out) << program;
      EXPECT_EQ(result.err, first.err) << program;
      const nlohmann::json json = here.json();
      EXPECT_EQ(json["launches"], counted["launches"]) << program;
      EXPECT_EQ(json["copies"], counted["copies"]) << program;
    }
  }
}

class ProgramTest : public testing::TestWithParam<std::string> {};

TEST_P(ProgramTest, AllAreRightAndCountTheSameHoweverTheyRun) {
  NEEDS_COMPILER(GetParam());
  const Workplace here;
  const std::string all = all_in_one_file();
  run_alike(here, all, GetParam());
}

// The compilers differ less than the executors: the second one runs every night.
INSTANTIATE_TEST_SUITE_P(Nightly, ProgramTest, testing::Values("nvcc"), [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Programs, ProgramTest, testing::Values("clang"), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace coalesce::end_to_end
