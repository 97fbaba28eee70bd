// The library on the machine, by the programs of tests/library (`./dev gpu-test` runs the same ones on a GPU): they
// check their own results; what they may cost is held here against what was counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/end_to_end/command.h"
#include "tests/sanitized.h"

namespace coalesce::end_to_end {
namespace {

namespace fs = std::filesystem;

const std::string kPrograms = kSource + "/tests/library/";

std::vector<std::string> names_in(const std::string& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) names.push_back(fs::relative(entry.path(), folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// `coalesce run` (or check) of a program, with more words behind it. Half the time of -O3, and the same accesses. What
// runs on the CPU is not worth optimising. All tests of a program have the same words, and compile it once.
std::vector<std::string> words_for(const std::string& program, const std::vector<std::string>& more = {},
                                   const std::string& device = "h200") {
  std::vector<std::string> words = {
      "--device",           device,      "--compiler",       "clang", "-X", "-O1", "-X", "-Xarch_host", "-X", "-O0",
      "--max-instructions", "100000000", kPrograms + program};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// For gtest's names.
std::string word(std::string name) {
  name.resize(name.rfind('.'));
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

long long sum(const nlohmann::json& launch, const std::string& what) {
  long long all = 0;
  for (const char* access : {"shared_load_", "shared_store_", "shared_atomic_"}) {
    all += launch["counters"][access + what].get<long long>();
  }
  return all;
}

// The programs of the folder itself; exact/ has another test.
std::vector<std::string> library_programs() {
  std::vector<std::string> names = names_in(kPrograms, ".cu");
  std::erase_if(names, [](const std::string& name) { return name.find('/') != std::string::npos; });
  return names;
}

class LibraryTest : public testing::TestWithParam<std::string> {};

// Kernels of which some shapes still meet banks twice, and how many of their wavefronts that may be, in per mille: what
// was measured over these programs, rounded up. All others have none.
struct Conflicts {
  const char* kernel;
  const char* type;  // also in its name
  long long per_mille;
};
constexpr Conflicts kConflicts[] = {
    {"reduce_dense_columns<", "", 3},               // a copy of a column that begins inside a vector
    {"reduce_dense_columns<16", "", 10},            // of 16 columns
    {"reduce_segments<", "", 46},                   // lanes that mark ends in one word, or ask for what is at two ends
    {"reduce_segments<", "array<signed char", 41},  // bytes: more ends to a word
    {"reduce_segments<", "arrays<", 50},            // products of 8 bytes
    {"reduce_shared_rows<16", "", 120},             // rows that do not begin at 16 bytes, copied element by element
    {"reduce_shared_nested_rows<16", "", 142},      // the same
    {"reduce_shared_long_rows<", "", 10},           // the last vectors of rows that 8 lanes share
    {"reduce_shared_middle<", "", 600},             // middle axes: a row's end meets the next one's beginning
    {"transpose_flat_bytes<", "true>", 450},        // even numbers of rows: lanes on both sides of two gaps
    {"transpose_flat<4, 3>", "", 350},              // elements of three words, which overlap in the banks with those
    {"transpose_tall<4, 3>", "", 350},              // of other rows
};

// budgets.cu prints a line for each of its calls, in order: "budget WHAT least SECTORS over PER_MILLE". One launch
// each, which loads at least so many sectors, and at most that much more.
void every_call_is_one_launch_that_loads_what_it_must(const std::string& said, const nlohmann::json& launches) {
  std::istringstream lines(said);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string budget, what, least_word, over_word;
    long long least = 0, over = 0;
    words >> budget >> what >> least_word >> least >> over_word >> over;
    ASSERT_TRUE(words && budget == "budget") << line;
    ASSERT_LT(count, launches.size()) << "fewer launches than calls";
    const auto& launch = launches[count++];
    const long long loaded = launch["counters"]["global_load_sectors"];
    EXPECT_GE(loaded, least) << what << ": " << launch["kernel"];
    EXPECT_LE(loaded * 1000, least * (1000 + over)) << what << ": " << launch["kernel"];
  }
  EXPECT_EQ(count, launches.size()) << "more launches than calls";
  // One of the launches has counts of an H200: copies past L1, whose sectors depend on both sides.
  std::ifstream file(kSource + "/tests/truth/segments.json");
  const nlohmann::json truth = nlohmann::json::parse(file);
  int compared = 0;
  for (const auto& launch : launches) {
    if (launch["kernel"].get<std::string>().find(truth["kernel"].get<std::string>()) == std::string::npos) continue;
    for (const auto& [name, value] : truth["counters"].items()) EXPECT_EQ(launch["counters"][name], value) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 1);
}

TEST_P(LibraryTest, IsRightAndCleanAndHasNoBankConflicts) {
  const Workplace here;
  const std::vector<std::string> words = words_for(GetParam());
  const Result result = here.coalesce(words);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const nlohmann::json counted = here.json();
  std::map<std::string, std::pair<long long, long long>> waves;  // of a kernel: all, and ideal
  for (const auto& launch : counted["launches"]) {
    auto& [all, ideal] = waves[launch["kernel"].get<std::string>()];
    all += sum(launch, "wavefronts");
    ideal += sum(launch, "wavefronts_ideal");
  }
  for (const auto& [kernel, counts] : waves) {
    long long allowed = 0;
    for (const Conflicts& c : kConflicts) {
      if (kernel.find(c.kernel) != std::string::npos && kernel.find(c.type) != std::string::npos) {
        allowed = c.per_mille;
      }
    }
    const auto [all, ideal] = counts;
    EXPECT_LE((all - ideal) * 1000, all * allowed) << kernel << ": " << all - ideal << " conflicts";
  }
  // Here, so that the program is compiled once: tests run beside each other.
  if (GetParam() == "budgets.cu") every_call_is_one_launch_that_loads_what_it_must(result.out, counted["launches"]);
  if (few_cases()) return;
  // No race, and nothing read that was not written.
  std::vector<std::string> check = {kCommand, "check"};
  check.insert(check.end(), words.begin(), words.end());
  const Result checked = here.call(check);
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.err, testing::HasSubstr("no hazards in "));
}

// The program that calls every function once runs in every change; all types and shapes, half a minute each, run every
// night.
bool takes_long(const std::string& program) { return program != "budgets.cu"; }
std::vector<std::string> programs_that(bool take_long) {
  std::vector<std::string> names = library_programs();
  std::erase_if(names, [&](const std::string& name) { return takes_long(name) != take_long; });
  return names;
}
INSTANTIATE_TEST_SUITE_P(Programs, LibraryTest, testing::ValuesIn(programs_that(false)),
                         [](const auto& test) { return word(test.param); });
INSTANTIATE_TEST_SUITE_P(Nightly, LibraryTest, testing::ValuesIn(programs_that(true)),
                         [](const auto& test) { return word(test.param); });

// A device of 8 multiprocessors has blocks of 512 threads for matrices of 2 MB, and of 1024 for the first of these, of
// 1000 columns, whose rows are whole lines four by four; of all columns each block leaves one partial result. From 8 MB
// on other matrices have blocks as wide as their rows need.
TEST(LibraryColumnsNightly, ALargeMatrixHasOneBlockOfManyThreadsAMultiprocessor) {
  const Workplace here;
  const Result result = here.coalesce({"--device", "p2000", "--compiler", "clang", "-X", "-O1", "-X", "-Xarch_host",
                                       "-X", "-O0", kSource + "/tests/hardware/library_columns.cu"});
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const nlohmann::json launches = here.json()["launches"];
  std::vector<int> threads;
  for (const auto& launch : launches) threads.push_back(launch["block"][0]);
  // Rows of 275 columns lie in 70 vectors, a third of 811 in 69: four below each other, in whole warps.
  EXPECT_THAT(threads, testing::ElementsAre(1024, 512, 512, 512, 288, 288));
}

// A device of 8 multiprocessors deals out two million elements in two waves of a portion for each warp. Each portion of
// the second is taken by a ticket, and each warp asks once in vain; each portion has one more ticket, by which the last
// of 128 is known, and so have these.
TEST(LibrarySegmentsNightly, AWarpThatHasEndedTakesAnotherPortion) {
  const Workplace here;
  const Result result = here.coalesce(words_for("segments.cu", {"found"}, "p2000"));
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const nlohmann::json launches = here.json()["launches"];
  ASSERT_EQ(launches.size(), 4u);
  for (const auto& launch : launches) {
    const long long blocks = launch["grid"][0], warps = 4 * blocks;
    EXPECT_EQ(launch["counters"]["global_atomic_requests"], 2 * warps + 2 * warps + (2 * warps + 127) / 128);
  }
}

// With this many segments all threads of a block search for the beginnings of portions. The search shares its memory
// with the tiles, so `check` runs too, on a device with strong stores: those of a P2000 are volatile and have no order
// for it.
TEST(LibrarySegmentsNightly, ManySegments) {
  const Workplace here;
  const Result result = here.coalesce(words_for("segments.cu", {"many"}, "p2000"));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  std::vector<std::string> check = words_for("segments.cu", {"many"}, "t4");
  check.insert(check.begin(), {kCommand, "check"});
  const Result checked = here.call(check);
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.err, testing::HasSubstr("no hazards in "));
}

// The public headers: those outside the library's private folders.
std::vector<std::string> public_headers() {
  std::vector<std::string> names;
  for (const std::string& name : names_in(kSource + "/include/coalesce", ".cuh")) {
    const std::string folder = name.substr(0, name.find('/'));
    if (folder == name || folder == "block" || folder == "warp") names.push_back(name);
  }
  return names;
}

// They compile without a warning: clang's device pass, with what the command gives it, stopped before any code is made.
// (All of them and both compilers, with code: the programs above, and ./dev gpu-test.)
void expect_to_compile(const std::vector<std::string>& headers) {
  const Workplace here;
  std::string text;
  for (const std::string& header : headers) text += "#include <coalesce/" + header + ">\n";
  const fs::path source = here.write("headers.cu", text);
  const Result result = here.call({"clang++-19",
                                   "-x",
                                   "cuda",
                                   "--cuda-path=/nonexistent",
                                   "-nocudainc",
                                   "-nocudalib",
                                   "-Xclang",
                                   "-target-sdk-version=12.5",
                                   "--cuda-gpu-arch=sm_90",
                                   "--cuda-feature=+ptx78",
                                   "--cuda-device-only",
                                   "-std=c++17",
                                   "-isystem",
                                   kSource + "/cudart/include",
                                   "-include",
                                   "cuda_runtime.h",
                                   "-Wall",
                                   "-Wextra",
                                   "-Wshadow",
                                   "-Werror",
                                   "-I" + kSource + "/include",
                                   "-idirafter",  // NCCL's header, where there is none
                                   kSource + "/tests/library/nccl",
                                   "-fsyntax-only",
                                   source.string()});
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST(LibraryHeaders, CompileTogether) { expect_to_compile(public_headers()); }

class NightlyHeaderTest : public testing::TestWithParam<std::string> {};
TEST_P(NightlyHeaderTest, CompilesAlone) { expect_to_compile({GetParam()}); }
INSTANTIATE_TEST_SUITE_P(Headers, NightlyHeaderTest, testing::ValuesIn(public_headers()),
                         [](const auto& test) { return word(test.param); });

// The documents quote regions of programs that tests compile and run; `./dev docs` puts them there.
class Document : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(Document, QuotesWhatIsCompiled) {
  const Workplace here;
  std::istringstream document(here.read(kSource + "/" + GetParam().first));
  const std::string begin = "<!-- begin: ";
  int quoted = 0;
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with(begin + "tests/")) continue;
    ++quoted;
    std::istringstream words(line.substr(begin.size()));
    std::string file, name, quote, region;
    words >> file >> name;
    for (std::string text; std::getline(document, text) && text != "<!-- end -->";) quote += text + "\n";
    std::istringstream source(here.read(kSource + "/" + file));
    std::size_t indent = std::string::npos;
    for (std::string text; std::getline(source, text);) {
      const std::size_t start = text.find_first_not_of(' ');
      const std::string rest = start == std::string::npos ? "" : text.substr(start);
      if (indent != std::string::npos && rest == "// [end]") break;
      if (indent != std::string::npos) region += (text.size() > indent ? text.substr(indent) : "") + "\n";
      if (rest == "// [" + name + "]") indent = start;
    }
    EXPECT_FALSE(region.empty()) << file << " has no region " << name;
    EXPECT_EQ(quote, "```cpp\n" + region + "```\n") << "./dev docs brings " << name << " up to date";
  }
  EXPECT_GE(quoted, GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Documents, Document,
                         testing::Values(std::pair{"docs/library.md", 10}, std::pair{"docs/exact.md", 3},
                                         std::pair{"README.md", 1}),
                         [](const auto& test) { return word(test.param.first); });

// After each `// refused: MESSAGE` of tests/library/refused.txt something must not compile, and the compiler must say
// MESSAGE, which is ours, and nothing else.
TEST(LibraryRefusals, MisuseIsRefusedInOurOwnWords) {
  const Workplace here;
  const std::string text = here.read(kPrograms + "refused.txt"), mark = "// refused: ";
  const fs::path source = here.write("refused.cu", text + "\nint main() {}\n");
  const Result result = here.coalesce({"--compiler", "clang", "-X", "-ferror-limit=0", source.string()});
  EXPECT_NE(result.code, 0);
  std::istringstream lines(text);
  int cases = 0, errors = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(mark)) continue;
    ++cases;
    EXPECT_NE(result.err.find(line.substr(mark.size())), std::string::npos) << "not said: " << line << "\n"
                                                                            << result.err;
  }
  std::istringstream said(result.err);
  for (std::string line; std::getline(said, line);) {
    errors += line.find(" error: ") != std::string::npos;
    EXPECT_TRUE(line.find(" error: ") == std::string::npos || line.find("static assertion failed") != std::string::npos)
        << line;
  }
  EXPECT_EQ(errors, cases) << result.err;
  EXPECT_GE(cases, 3);
}

}  // namespace
}  // namespace coalesce::end_to_end
