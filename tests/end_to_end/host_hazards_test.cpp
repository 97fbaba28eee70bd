// `coalesce check` on the host's side: each mistake of tests/hazards/host_*.cu is found as what it is, on the line that
// says so, and the cases put right are clean. What the command makes of findings: suppressions, exit codes, JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

using testing::HasSubstr;
using testing::Not;
using Finding = std::pair<std::string, int>;  // kind, line

std::string hazards_source(const std::string& name) { return kSource + "/tests/hazards/" + name + ".cu"; }

// The lines that end in `HERE: hazard`.
std::set<Finding> announced_lines(const std::string& path) {
  std::set<Finding> all;
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number)
    if (const auto at = line.find("// HERE: "); at != std::string::npos) all.emplace(line.substr(at + 9), number);
  return all;
}

struct HostChecked {
  HostChecked(const Workplace& here, std::vector<std::string> words) {
    words.insert(words.begin(), {kCommand, "check", "--json", "found", "--compiler", "clang"});
    result = here.call(words);
    if (here.exists("found")) report = here.json("found");
    for (const char* list : {"findings", "warnings"})
      for (const auto& f : report.value(list, nlohmann::json::array()))
        found.emplace(f["kind"].get<std::string>(), f["line"].is_null() ? 0 : f["line"].get<int>());
  }
  Result result;
  nlohmann::json report;
  std::set<Finding> found;
};

class HostHazards : public testing::TestWithParam<const char*> {};

TEST_P(HostHazards, FindsEachMistakeAndNothingElse) {
  const Workplace here;
  const std::string source = hazards_source(GetParam());
  HostChecked wrong(here, {source, "wrong"});
  EXPECT_EQ(wrong.result.code, 4);
  // One by one, those that end a launch: they end others' kernels with it.
  const std::set<Finding> announced = announced_lines(source);
  std::istringstream list(here.call({kCommand, "run", "-q", "--compiler", "clang", source, "list"}).out);
  for (std::string name; std::getline(list, name);)
    for (const Finding& f : HostChecked(here, {source, name, "wrong"}).found)
      if (announced.contains(f)) wrong.found.insert(f);
  EXPECT_EQ(wrong.found, announced) << wrong.result.err;
  const HostChecked right(here, {source, "right"});
  EXPECT_EQ(right.result.code, 0);
  EXPECT_EQ(right.found, std::set<Finding>{}) << right.result.err;
  EXPECT_EQ(right.report["complete"], true);
}
INSTANTIATE_TEST_SUITE_P(Files, HostHazards,
                         testing::Values("host_calls", "host_order", "host_graphs", "host_overlap", "host_forum"));

TEST(HostHazards, NamesTheAllocationAndTheCalls) {
  const Workplace here;
  const HostChecked twice(here, {hazards_source("host_calls"), "freed_twice", "wrong"});
  EXPECT_THAT(twice.result.err, HasSubstr("cudaFree of memory that was freed before"));
  EXPECT_THAT(twice.result.err, HasSubstr(" freed by void freed_twice<false>() ("));
  EXPECT_THAT(twice.result.err, HasSubstr("from main ("));
  const HostChecked past(here, {hazards_source("host_calls"), "element_past_the_end", "wrong"});
  EXPECT_EQ(past.result.code, 4);
  ASSERT_EQ(past.report["findings"].size(), 1u) << past.result.err;
  EXPECT_EQ(past.report["findings"][0]["kind"], "illegal_address");
  EXPECT_THAT(past.result.err, HasSubstr("allocation #1 by device_ints"));
}

TEST(HostHazards, WhatIsAllowedIsNoFinding) {
  const Workplace here;
  const std::string source = hazards_source("host_calls");
  const auto code = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {kCommand, "check", "--compiler", "clang"});
    words.insert(words.end(), {source, "freed_twice", "wrong"});
    return here.call(words).code;
  };
  here.write("one", "# both\nbad_free at=host_calls.cu\n");
  here.write("other", "bad_free at=calls.cu\nrace\nbad_free kernel=store\n");
  here.write("bad", "bad_free\nbad_fre\n");
  EXPECT_EQ(code({}), 4);
  EXPECT_EQ(code({"--suppress", "one"}), 3) << "nothing was launched";
  EXPECT_EQ(code({"--suppress", "other"}), 4);
  EXPECT_EQ(code({"--suppress", "bad"}), 2);
  EXPECT_EQ(code({"--suppress", "no such"}), 2);
  EXPECT_EQ(code({"--disable", "bad_free"}), 3);
  EXPECT_EQ(code({"--disable", "race,leak"}), 4);
  EXPECT_EQ(code({"--disable", "speed"}), 2);

  const auto program = here.write("allowed.cu", R"(
__global__ void count(int* p) { *p += 1; }  // coalesce: allow race
__global__ void other(int* p) { *p += 1; }
int main(int argc, char**) {
  int* p = nullptr;
  cudaMalloc(&p, 4);
  cudaMemset(p, 0, 4);
  (argc == 1 ? count : other)<<<2, 1>>>(p);
  return cudaDeviceSynchronize();
}
)");
  const HostChecked allowed(here, {program.string()});
  EXPECT_EQ(allowed.result.code, 0) << allowed.result.err;
  EXPECT_THAT(allowed.result.err, HasSubstr("suppressed"));
  EXPECT_THAT(allowed.result.err, HasSubstr("4 bytes of device memory were not freed"));
  EXPECT_GT(allowed.report["suppressed"], 0);
  EXPECT_EQ(HostChecked(here, {program.string(), "other"}).result.code, 4);
  const HostChecked leak(here, {"--leaks", "error", program.string()});
  EXPECT_EQ(leak.result.code, 4);
  EXPECT_EQ(leak.report["findings"][0]["kind"], "leak");
  EXPECT_THAT(HostChecked(here, {"--leaks", "off", program.string()}).result.err, Not(HasSubstr("not freed")));
}

TEST(HostHazards, WhatCannotRunIsNotChecked) {
  const Workplace here;
  const auto program = here.write("stops.cu", R"(
#include <cassert>
__global__ void stops(int n) { assert(n == 0); }
__global__ void unknown() { asm volatile("mbarrier.no_such_form.b64 %0;" :: "r"(0)); }
int main(int argc, char**) {
  if (argc == 1) stops<<<1, 1>>>(1);
  else unknown<<<1, 1>>>();
  cudaDeviceSynchronize();
}
)");
  for (const bool unknown : {false, true}) {
    std::vector<std::string> words = {program.string()};
    if (unknown) words.emplace_back("unknown");
    const HostChecked stopped(here, words);
    EXPECT_EQ(stopped.result.code, 3) << stopped.result.err;
    EXPECT_EQ(stopped.report["complete"], false);
    EXPECT_EQ(stopped.report["findings"].size(), 0u);
    EXPECT_GE(stopped.report["not_checked"].size(), 1u) << stopped.result.err;
    EXPECT_THAT(stopped.result.err, HasSubstr("not checked: "));
    EXPECT_THAT(stopped.result.err, HasSubstr("not all was checked"));
  }
}

TEST(HostHazards, AKilledRunLeavesValidJson) {
  const Workplace here;
  here.write("found", "what an earlier run has left");
  const auto program = here.write("sleeps.cu",
                                  "#include <unistd.h>\n#include <cstdio>\n"
                                  "int main() { cudaFree(nullptr); fclose(fopen(\"runs\", \"w\")); sleep(60); }\n");
  const pid_t child = here.start({kCommand, "check", "--json", "found", "--compiler", "clang", program.string()});
  for (int k = 0; k < 1200 && !here.exists("runs"); ++k) usleep(50000);
  ASSERT_TRUE(here.exists("runs"));
  kill(-child, SIGKILL);
  here.finish(child);
  const auto json = here.json("found");
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["schema"], "coalesce.check/2");
  EXPECT_EQ(json["complete"], false);
  EXPECT_TRUE(json["exit_code"].is_null());
}

// The compiler is one that never ends.
TEST(HostHazards, WhoIsKilledWhileCompilingLeavesValidJson) {
  const Workplace here;
  const auto compiler = here.write("nvcc", "#!/bin/sh\ntouch \"${0%/*}/runs\"\nexec sleep 60\n");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const auto program = here.write("empty.cu", "int main() {}\n");
  for (const char* command : {"check", "run"}) {
    std::filesystem::remove(here.write("runs", ""));
    const pid_t child = here.start({"/usr/bin/env", "PATH=" + compiler.parent_path().string() + ":/usr/bin:/bin",
                                    kCommand, command, "--json", command, "--compiler", "nvcc", program.string()});
    for (int k = 0; k < 1200 && !here.exists("runs"); ++k) usleep(50000);
    ASSERT_TRUE(here.exists("runs"));
    kill(-child, SIGKILL);
    here.finish(child);
    const auto json = here.json(command);
    ASSERT_TRUE(json.is_object()) << command;
    EXPECT_EQ(json["complete"], false);
    EXPECT_TRUE(json["exit_code"].is_null());
  }
}

}  // namespace
}  // namespace coalesce::end_to_end
