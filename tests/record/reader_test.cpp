#include <gtest/gtest.h>

#include "record/names.h"
#include "tests/record/fixture.h"
#include "tests/sanitized.h"

namespace coalesce::record {
namespace {

const std::string kComplete =
    std::string(kHeader) + kernel_text(3, "_Z6reducePiS_i") +
    launch_text(3, {{"global_load_requests", 5}}, R"(,"lines":[["a.cu",41,7,{"global_load_requests":5}]])") +
    launch_text(3, {{"global_load_requests", 6}}) + launch_text(3, {}, R"(,"lines":[])") + kEnd;

TEST(Record, ReadsEveryPart) {
  const Record record = read_text(kComplete);
  EXPECT_TRUE(record.started);
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(record.damage, "");
  EXPECT_EQ(record.device.name, "NVIDIA H200");
  EXPECT_EQ(record.device.compute_capability[0], 9u);
  ASSERT_EQ(record.kernels.size(), 1u);
  EXPECT_EQ(record.kernels[0].full, "reduce(int*, int*, int)");
  ASSERT_EQ(record.launches.size(), 3u);
  EXPECT_EQ(record.launches[1].counters.global_load_requests, 6u);
  EXPECT_EQ(record.launches[0].dynamic_shared_bytes, 16u);
  EXPECT_EQ(record.launches[0].warps(), 8u) << "48 threads are two warps, the second half empty";
  EXPECT_EQ(record.copies["h2d"]["bytes"], 64);
}

TEST(Record, LinesLeftOutAreTheLaunchBefores) {
  const Record record = read_text(kComplete);
  ASSERT_EQ(record.launches[0].lines->size(), 1u);
  EXPECT_EQ(record.launches[0].lines->at(0).line, 41u);
  EXPECT_EQ(record.launches[1].lines, record.launches[0].lines);
  EXPECT_TRUE(record.launches[2].lines->empty());
}

// Two processes that write by turns: kernels' ids are each one's own.
TEST(Record, ProcessesThatWriteByTurns) {
  const auto by = [](std::string text, int pid) {
    for (size_t at = 0; (at = text.find("}\n", at)) != std::string::npos; at += 12)
      text.replace(at, 2, ",\"pid\":" + std::to_string(pid) + "}\n");
    return text;
  };
  const std::string header = kHeader;
  const Record record =
      read_text(by(header, 11) + by(header, 22) + by(kernel_text(0, "_Z1av"), 11) + by(kernel_text(0, "_Z1bv"), 22) +
                by(launch_text(0, {}, R"(,"lines":[])"), 11) + by(launch_text(0, {}, R"(,"lines":[])"), 22) +
                by(launch_text(0, {}, ""), 11) + by(kEnd, 11));
  EXPECT_EQ(record.damage, "");
  ASSERT_EQ(record.processes.size(), 2u);
  EXPECT_EQ(record.processes[1].pid, 22u);
  EXPECT_EQ(record.processes[0].launches, 2u);
  ASSERT_EQ(record.launches.size(), 3u);
  for (size_t i : {0, 1, 2}) EXPECT_EQ(record.launches[i].process, i % 2);
  EXPECT_EQ(record.kernels[record.launches[0].kernel].full, "a()");
  EXPECT_EQ(record.kernels[record.launches[1].kernel].full, "b()");
  EXPECT_FALSE(record.complete) << "the second process has not ended";
  EXPECT_EQ(read_text(by(header, 11) + by(header, 22) + by(kEnd, 22) + by(kEnd, 11)).copies["h2d"]["bytes"], 128);
}

// A program may die at any byte. Whatever was whole before that must be there, and nothing may crash.
TEST(Record, EveryPrefixIsReadable) {
  const std::size_t kStep = kSanitized ? 7 : 1;  // ends with the whole
  std::size_t launches = 0;
  for (std::size_t size = kComplete.size() % kStep; size <= kComplete.size(); size += kStep) {
    const Record record = read_text(kComplete.substr(0, size));
    EXPECT_EQ(record.damage, "") << "cut after " << size;
    EXPECT_GE(record.launches.size(), launches);
    launches = record.launches.size();
  }
  EXPECT_EQ(launches, 3u);
}

TEST(Record, NonsenseInTheMiddleIsDamageNotACrash) {
  const std::string bad[] = {"nonsense\n",
                             "[1,2]\n",
                             launch_text(99, {}),
                             "{\"launch\":0,\"kernel\":3}\n",
                             "{\"launch\":0,\"kernel\":3,\"grid\":[1,2],\"block\":[1,1,1]}\n",
                             "{\"launch\":0,\"kernel\":3,\"grid\":[4294967296,1,1]}\n",
                             "{\"launch\":0,\"kernel\":3,\"grid\":[-1,1,1]}\n",
                             launch_text(3, {}, R"(,"lines":[[1,2,3]])"),
                             launch_text(3, {}, R"(,"lines":7)"),
                             "{\"record\":\"coalesce.record/2\"}\n",
                             "{\"record\":\"coalesce.record/1\",\"device\":7}\n",
                             "\xff\xfe\n"};
  for (const std::string& line : bad) {
    const Record record = read_text(kHeader + kernel_text(3, "k") + launch_text(3, {}) + line + launch_text(3, {}));
    EXPECT_EQ(record.launches.size(), 1u) << line;
    EXPECT_NE(record.damage, "") << line;
  }
}

TEST(Record, ACounterThatIsMissingIsAnotherVersionNotAZero) {
  std::string text = launch_text(3, {});
  text.replace(text.find("\"shuffles\""), 10, "\"shufflez\"");
  EXPECT_NE(read_text(kHeader + kernel_text(3, "k") + text).damage, "");
}

TEST(Record, WithoutHeaderNothingStarted) {
  EXPECT_FALSE(read_text("").started);
  EXPECT_FALSE(read_text("{\"end\":true}\n").started);
}

TEST(Record, Faults) {
  std::string text = launch_text(0, {}, R"(,"interrupted":true)");
  text.replace(text.find("\"fault\":\"\""), 10, "\"fault\":\"budget\"");
  const Record record = read_text(kHeader + kernel_text(0, "k") + launch_text(0, {}) + text);
  ASSERT_NE(record.faulted(), nullptr);
  EXPECT_EQ(record.faulted()->fault, "budget");
  EXPECT_TRUE(record.interrupted());
}

TEST(Names, Shortened) {
  EXPECT_EQ(shorten("reduce(int*, int)"), "reduce");
  EXPECT_EQ(shorten("void reduce<512u>(int const*, int*)"), "reduce<512u>");
  EXPECT_EQ(shorten("void (anonymous namespace)::k<(Op)1, a::b<int> >(int)"), "k<(Op)1, a::b<int> >");
  EXPECT_EQ(shorten("a::b::kernel(void (*)(int))"), "kernel");
  EXPECT_EQ(shorten("plain_c_name"), "plain_c_name");
  EXPECT_EQ(demangle("_Z3sumB2v1B5cw51cPi"), "sum(int*)");  // with ABI tags, as Numba has them
  for (const char* odd : {"", ")", "(", "a)", "((", "x::", "<>", "operator<<(int)"}) EXPECT_NO_THROW(shorten(odd));
  EXPECT_EQ(without_template_arguments("reduce<512u>"), "reduce");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
}

}  // namespace
}  // namespace coalesce::record
