#include "record/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "machine/api/machine.h"
#include "record/record.h"

namespace coalesce::record {
namespace {

class RecordWriter : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "coalesce_record_XXXXXX";
    const int file = mkstemp(name.data());
    ASSERT_GE(file, 0);
    close(file);
    path_ = name;
  }
  void TearDown() override {
    unlink(path_.c_str());
    unlink((path_ + kTruncated).c_str());
  }

  std::vector<nlohmann::json> lines() const {
    std::ifstream file(path_);
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  std::string path_;
};

constexpr Header kH200{.key = "h200", .name = "NVIDIA H200", .major = 9, .minor = 0};

std::vector<machine::LineCounters> line_of(uint64_t sectors) {
  machine::Counters counters;
  counters.global_load_sectors = sectors;
  return {{{"dir/\"odd\"\n.cu", 12, 3}, 40, counters}};
}

LaunchEntry entry(uint64_t sectors) {
  LaunchEntry e{.kernel = 3, .grid = {4, 2, 1}, .block = {256, 1, 1}, .dynamic_shared_bytes = 64, .seconds = 0.5};
  e.counters.global_load_sectors = sectors;
  return e;
}

void begin(Writer& writer, const std::string& path) {
  writer.open(path);
  writer.header(kH200);
}

// Writes a launch as the emulator's runtime does.
void launch(Writer& writer, LaunchEntry e) {
  const auto lines = line_of(e.counters.global_load_sectors);
  e.lines = &lines;
  writer.name_kernel(e.kernel, "_Z1kv");
  writer.launch(e);
}

machine::Diagnostic race() {
  machine::Diagnostic d;
  d.severity = machine::Severity::warning;
  d.fault = machine::Fault::illegal_address;
  d.message = "load of 4 bytes";
  d.place = {"a.cu", 7, 1};
  d.ptx_line = 9;
  d.ptx_text = "ld.global.u32 %r1, [%rd1];";
  d.kernel = "_Z1kv";
  d.block = {1, 2, 3};
  d.warp = 4;
  d.lanes = 5;
  d.thread = {6, 7, 8};
  d.notes = {"first", "second"};
  d.hazard = machine::Hazard::race_shared;
  d.what = "read";
  d.address = "offset 128";
  d.count = 17;
  d.other = machine::Party{"write", {"b.cu", 70, 0}, 90, {9, 0, 0}, {10, 0, 0}, {{"c.cu", 8, 0}}, "a copy"};
  d.inlined_at = {{"d.cu", 1, 0}, {"e.cu", 2, 0}};
  d.who = "a fill";
  d.traces = {{"called", {"a+0x1", "b+0x2"}}};
  return d;
}

TEST_F(RecordWriter, HoldsEveryLine) {
  Writer record;
  begin(record, path_);
  launch(record, entry(8));
  launch(record, entry(8));
  LaunchEntry faulty = entry(9);
  faulty.fault = "illegal_address";
  faulty.interrupted = true;
  launch(record, faulty);
  record.diagnostic(race());
  record.copy(CopyPath::h2d, 100);
  record.copy(CopyPath::h2d, 11);
  record.end();
  record.copy(CopyPath::h2d, 1);
  launch(record, entry(8));

  const auto all = lines();
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[0]["record"], "coalesce.record/1");
  EXPECT_EQ(all[0]["device"]["key"], "h200");
  EXPECT_EQ(all[0]["device"]["compute_capability"], (std::vector<int>{9, 0}));
  for (const auto& line : all) EXPECT_EQ(line["pid"], getpid());
  EXPECT_EQ(all[1], (nlohmann::json{{"kernel", 3}, {"name", "_Z1kv"}, {"pid", getpid()}}));
  EXPECT_EQ(all[2]["launch"], 0);
  EXPECT_EQ(all[2]["grid"], (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(all[2]["dynamic_shared_bytes"], 64);
  EXPECT_EQ(all[2]["seconds"], 0.5);
  EXPECT_EQ(all[2]["counters"].size(), machine::kCounterCount);
  EXPECT_EQ(all[2]["counters"]["global_load_sectors"], 8);
  EXPECT_EQ(all[2]["lines"][0], (nlohmann::json{"dir/\"odd\"\n.cu", 12, 40, {{"global_load_sectors", 8}}}));
  EXPECT_FALSE(all[3].contains("lines")) << "as in the launch before";
  EXPECT_EQ(all[4]["launch"], 2);
  EXPECT_EQ(all[4]["fault"], "illegal_address");
  EXPECT_EQ(all[4]["interrupted"], true);
  EXPECT_TRUE(all[4].contains("lines"));
  EXPECT_EQ(all[5]["diagnostic"]["message"], "load of 4 bytes");
  EXPECT_EQ(all[5]["diagnostic"]["line"], 7);
  EXPECT_EQ(all[6]["copies"]["h2d"], (nlohmann::json{{"calls", 2}, {"bytes", 111}}));
  EXPECT_EQ(all[7], (nlohmann::json{{"end", true}, {"pid", getpid()}}));
}

TEST_F(RecordWriter, WritesAnEstimateOnceWhileItStays) {
  Writer writer;
  begin(writer, path_);
  machine::TimeEstimate one, other, none;
  one.us = 1.5, other.us = 2.5, none.none = "it prints";
  const std::vector<const machine::TimeEstimate*> given{nullptr, &one, &one, &other, nullptr, nullptr, &none, &other};
  for (const machine::TimeEstimate* time : given) {
    LaunchEntry e = entry(8);
    e.time = time;
    launch(writer, e);
  }
  writer.end();
  const auto all = lines();
  std::vector<bool> written;
  for (std::size_t k = 0; k < given.size(); ++k) written.push_back(all.at(2 + k).contains("time"));
  EXPECT_EQ(written, (std::vector<bool>{false, true, false, true, true, false, true, true}));
  const Record record = read_record_file(path_).value();
  ASSERT_EQ(record.launches.size(), given.size());
  for (std::size_t k = 0; k < given.size(); ++k) {
    const auto& time = record.launches[k].time;
    ASSERT_EQ(time != nullptr, given[k] != nullptr) << k;
    if (time) EXPECT_EQ(time->us, given[k]->us) << k;
    if (time) EXPECT_EQ(time->none, given[k]->none) << k;
  }
}

// The reader reads what was written.
TEST_F(RecordWriter, ReadsBack) {
  Writer writer;
  begin(writer, path_);
  LaunchEntry e = entry(8);
  uint64_t value = 100;
  for (const auto& row : machine::kCounterRows) e.counters.*row.field = value++;
  launch(writer, e);
  writer.diagnostic(race());
  writer.end();
  const Record record = read_record_file(path_).value();
  EXPECT_EQ(record.damage, "");
  EXPECT_TRUE(record.complete);
  EXPECT_FALSE(record.on_gpu);
  ASSERT_EQ(record.launches.size(), 1u);
  const Launch& read = record.launches[0];
  EXPECT_EQ(read.grid, e.grid);
  EXPECT_EQ(read.block, e.block);
  EXPECT_EQ(read.dynamic_shared_bytes, 64u);
  for (const auto& row : machine::kCounterRows) EXPECT_EQ(read.counters.*row.field, e.counters.*row.field) << row.name;
  EXPECT_EQ(read.lines->at(0).file, "dir/\"odd\"\n.cu");
  ASSERT_EQ(record.diagnostics.size(), 1u);
  const machine::Diagnostic d = diagnostic_of(record.diagnostics[0]), was = race();
  EXPECT_EQ(d.severity, was.severity);
  EXPECT_EQ(d.fault, was.fault);
  EXPECT_EQ(d.message, was.message);
  EXPECT_EQ(d.place.column, was.place.column);
  EXPECT_EQ(d.ptx_text, was.ptx_text);
  EXPECT_EQ(d.block, was.block);
  EXPECT_EQ(d.lanes, was.lanes);
  EXPECT_EQ(d.thread, was.thread);
  EXPECT_EQ(d.notes, was.notes);
  EXPECT_EQ(d.hazard, was.hazard);
  EXPECT_EQ(d.address, was.address);
  EXPECT_EQ(d.count, was.count);
  ASSERT_TRUE(d.other);
  EXPECT_EQ(d.other->what, was.other->what);
  EXPECT_EQ(d.other->place.line, was.other->place.line);
  EXPECT_EQ(d.other->who, was.other->who);
  ASSERT_EQ(d.other->inlined_at.size(), 1u);
  EXPECT_EQ(d.other->inlined_at[0].file, "c.cu");
  ASSERT_EQ(d.inlined_at.size(), 2u);
  EXPECT_EQ(d.inlined_at[1].line, 2u);
  EXPECT_EQ(d.who, was.who);
  ASSERT_EQ(d.traces.size(), 1u);
  EXPECT_EQ(d.traces[0].title, "called");
  EXPECT_EQ(d.traces[0].frames, was.traces[0].frames);
  EXPECT_EQ(d.other->block, was.other->block);
}

TEST_F(RecordWriter, OfAGpu) {
  Writer writer;
  writer.open(path_);
  writer.header({.key = "gpu", .name = "NVIDIA H200", .major = 9, .minor = 0, .on_gpu = true, .l2_bytes = 1024});
  writer.name_kernel(0, "k");
  LaunchEntry e = entry(8);
  e.kernel = 0;
  e.known = 0b101;
  e.cold = {4e-6, 2e-6};
  e.warm = {1e-9};
  e.metrics = {{"lts__t_sectors.sum", 12.4}};
  writer.launch(e);
  writer.note("no \"counters\"");
  writer.copy(CopyPath::d2h, 5, 0.25);
  writer.end(1.5);
  const auto all = lines();
  EXPECT_EQ(all[0]["device"]["l2_bytes"], 1024);
  EXPECT_EQ(all[2]["metrics"]["lts__t_sectors.sum"], 12);
  EXPECT_EQ(all[4]["copies"]["d2h"], (nlohmann::json{{"calls", 1}, {"bytes", 5}, {"seconds", 0.25}}));
  const Record record = read_record_file(path_).value();
  EXPECT_EQ(record.damage, "");
  EXPECT_TRUE(record.on_gpu);
  EXPECT_EQ(record.launches.at(0).known, 0b101u);
  EXPECT_EQ(record.launches.at(0).cold, (std::vector<double>{4e-6, 2e-6}));
  EXPECT_EQ(record.launches.at(0).warm, (std::vector<double>{1e-9}));
  EXPECT_EQ(record.notes, (std::vector<std::string>{"no \"counters\""}));
  EXPECT_EQ(record.span, 1.5);
}

// After a reset of the device kernels' ids start anew.
TEST_F(RecordWriter, ASecondHeaderNamesKernelsAgain) {
  Writer writer;
  begin(writer, path_);
  writer.name_kernel(0, "a");
  writer.name_kernel(0, "a");
  writer.header(kH200);
  writer.name_kernel(0, "b");
  EXPECT_EQ(lines().size(), 4u);
}

// Here a limit to the size of files stands for a full disk.
TEST_F(RecordWriter, SaysThatItIsCut) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{400, 400};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    Writer writer;
    begin(writer, path_);
    for (int k = 0; k < 10; ++k) launch(writer, entry(8));
    writer.end();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(std::filesystem::file_size(path_), 400u);
  EXPECT_EQ(std::filesystem::file_size(path_ + kTruncated), 0u);
  const Record record = read_record_file(path_).value();
  EXPECT_TRUE(record.started);
  EXPECT_FALSE(record.complete);
  EXPECT_NE(record.damage.find("no room"), std::string::npos) << record.damage;
}

TEST_F(RecordWriter, AForkedChildWritesNothing) {
  Writer record;
  begin(record, path_);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    launch(record, entry(1));
    record.end();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(lines().size(), 1u);
  record.end();
  EXPECT_EQ(lines().size(), 3u);
}

TEST_F(RecordWriter, TheFirstRunIsKept) {
  Writer first, while_open, later;
  begin(first, path_);
  begin(while_open, path_);
  while_open.end();
  first.end();
  ASSERT_EQ(lines().size(), 3u);
  begin(later, path_);
  later.end();
  EXPECT_EQ(lines().size(), 3u);
}

TEST(RecordFile, AnUnwritablePathIsNoFailure) {
  Writer record;
  begin(record, "/nonexistent/folder/record");
  EXPECT_FALSE(record.active());
  launch(record, entry(1));
  record.end();
  EXPECT_FALSE(read_record_file("/nonexistent/folder/record"));
}

}  // namespace
}  // namespace coalesce::record
