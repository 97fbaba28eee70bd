// `coalesce compare`: our exports, Nsight Compute's CSV in both layouts, and how launches find each other.
#include "tool/present/compare.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/figures/error.h"
#include "tool/figures/ncu.h"
#include "tool/present/export.h"

namespace coalesce::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The output of ncu 2025.3: the program's lines, its own, the table with a row of units.
const char* const kRaw =
    "a \"quote\" of the program\n"
    "==PROF== Connected to process 5953 (/tmp/reduce)\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\","
    "\"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\",\"gpu__time_duration.sum\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"sector\",\"ns\"\n"
    "\"0\",\"5953\",\"sum(int *, int *, unsigned long)\",\"(48, 1, 1)\",\"(4, 1, "
    "1)\",\"9.0\",\"16,744,448\",\"241,792\"\n"
    "\"1\",\"5953\",\"sum(int *, int *, unsigned long)\",\"(48, 1, 1)\",\"(4, 1, 1)\",\"9.0\",\"12\",\"100\"\n";
const char* const kDetails =
    "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
    "\"0\",\"sum<int>(T1 *)\",\"(48, 1, 1)\",\"(4, 1, "
    "1)\",\"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\",\"sector\","
    "\"16'744'448\"\n"
    "\"0\",\"sum<int>(T1 *)\",\"(48, 1, 1)\",\"(4, 1, "
    "1)\",\"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum\",\"sector\","
    "\"7\"\n"
    "\"0\",\"sum<int>(T1 *)\",\"(48, 1, 1)\",\"(4, 1, "
    "1)\",\"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum\",\"\",\"30\"\n"
    "\"0\",\"sum<int>(T1 *)\",\"(48, 1, 1)\",\"(4, 1, "
    "1)\",\"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum\",\"\",\"4\"\n"
    "==PROF== Disconnected from process 5953\n";

TEST(Ncu, ColumnsOfMetrics) {
  const auto launches = read_launches(kRaw, "ncu.csv");
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "sum(int *, int *, unsigned long)");
  EXPECT_THAT(launches[0].grid, ElementsAre(4, 1, 1));
  EXPECT_THAT(launches[0].block, ElementsAre(48, 1, 1));
  EXPECT_EQ(launches[0].counters.global_load_sectors, 16744448u);
  EXPECT_EQ(launches[1].counters.global_load_sectors, 12u);
  EXPECT_EQ(std::popcount(launches[0].known), 1);  // nothing but what the file names
}

TEST(Ncu, RowsOfMetrics) {
  const auto launches = read_launches(kDetails, "ncu.csv");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].counters.global_load_sectors, 16744448u);
  EXPECT_EQ(launches[0].counters.global_store_sectors, 7u);
  EXPECT_EQ(launches[0].counters.shared_store_wavefronts, 34u);  // stores, and copies
}

TEST(Ncu, QuotesAndCommasInFields) {
  EXPECT_THAT(csv_records("a,\"b,\"\"c\"\"\nd\",\r\n1,2,3"),
              ElementsAre(ElementsAre("a", "b,\"c\"\nd", ""), ElementsAre("1", "2", "3")));
}

TEST(Compare, WhatIsNeitherIsAnError) {
  for (const char* text : {"", "hello", "{\"schema\":\"coalesce.lab/1\"}", "{"}) {
    EXPECT_THROW(read_launches(text, "file"), Error) << text;
  }
}

// The error's text; empty if there was none.
std::string refusal(const std::string& text) {
  try {
    read_launches(text, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Ncu, AFileThatWasCutShortIsRefused) {
  const std::string whole = kRaw;
  const std::size_t table = whole.find("\"ID\",");
  // Wherever the last row is cut, but not where only its end of line is missing.
  for (std::size_t end = whole.rfind("\n\"1\"") + 2; end + 1 < whole.size(); ++end)
    EXPECT_THAT(refusal(whole.substr(0, end)), HasSubstr("cut short")) << whole.substr(end);
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)), "");
  EXPECT_THAT(refusal(whole.substr(0, table + 4)), HasSubstr("neither"));
}

TEST(Ncu, WhatIsNoCountIsRefused) {
  for (const char* value : {"-12", "nan", "inf", "0x10", "1e9", "1.5", "99999999999999999999", "twelve", ".5"})
    EXPECT_THAT(refusal(replaced(kRaw, "\"12\"", '"' + std::string(value) + '"')), HasSubstr("no count")) << value;
  EXPECT_EQ(refusal(replaced(kRaw, "\"12\"", "\"n/a\"")), "");
  EXPECT_EQ(read_launches(replaced(kRaw, "\"12\"", "\"12.00\""), "file")[1].counters.global_load_sectors, 12u);
}

TEST(Ncu, RoundedUnitsAndOddShapesAreRefused) {
  EXPECT_THAT(refusal(replaced(kRaw, "\"sector\"", "\"Ksector\"")), HasSubstr("--print-units base"));
  EXPECT_THAT(refusal(replaced(kDetails, "\"sector\"", "\"Msector\"")), HasSubstr("--print-units base"));
  for (const char* grid : {"(4, 1)", "", "(4, 1, 99999999999)"})
    EXPECT_THAT(refusal(replaced(kRaw, "\"(4, 1, 1)\"", '"' + std::string(grid) + '"')), HasSubstr("Grid Size"));
  EXPECT_THAT(refusal(replaced(kRaw, "\"1\",\"5953\"", "\"0\",\"5953\"")), HasSubstr("two reports"));
}

TEST(Compare, AnExportWithOtherThanCountsIsRefused) {
  const auto run = [](const std::string& grid, const std::string& value) {
    return refusal(R"({"schema":"coalesce.run/1","launches":[{"kernel":"k","grid":)" + grid +
                   R"(,"block":[1,1,1],"counters":{"global_load_sectors":)" + value + "}}]}");
  };
  EXPECT_EQ(run("[1,1,1]", "3"), "");
  for (const char* value : {"-3", "3.5", "\"3\"", "null", "1e30"})
    EXPECT_THAT(run("[1,1,1]", value), HasSubstr("global_load_sectors")) << value;
  for (const char* grid : {"[1,1]", "[1,1,-1]", "[1,1,4294967296]", "7", "\"abc\""})
    EXPECT_THAT(run(grid, "3"), HasSubstr("no export of a run")) << grid;
  EXPECT_THAT(refusal(R"({"schema":"coalesce.run/1"})"), HasSubstr("launches"));
  EXPECT_THAT(refusal(R"({"schema":"coalesce.run/1","launches":[{"kernel":"k")"), HasSubstr("no export of a run"));
  EXPECT_THAT(refusal(R"({"schema":"coalesce.run/99","launches":[]})"), HasSubstr("file is a coalesce.run/99"));
  EXPECT_THAT(refusal(R"({"schema":"coalesce.lab/1"})"), HasSubstr("file is a coalesce.lab/1"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("neither"));
  EXPECT_THAT(refusal(R"({"schema":)" + std::string(100000, '[')), HasSubstr("no export of a run"));
}

// Two launches of `sum`, by the machine.
Record counted() {
  return read_text(std::string(kHeader) + kernel_text(0, "_Z3sumPiS_m") +
                   launch_text(0, {{"global_load_sectors", 16744448}, {"global_store_sectors", 3}}) +
                   launch_text(0, {{"global_load_sectors", 11}}) + kEnd);
}

TEST(Compare, LaunchByLaunch) {
  const Comparing result = compare_launches(launches_of(counted()), read_launches(kRaw, "ncu.csv"));
  EXPECT_EQ(result.launches, 2u);
  EXPECT_EQ(result.equal_launches, 1u);
  ASSERT_EQ(result.rows.size(), 2u);  // stores are known on one side only
  EXPECT_EQ(result.rows[0].counted, result.rows[0].measured);
  EXPECT_EQ(result.rows[1].counted, 11u);
  EXPECT_EQ(result.rows[1].measured, 12u);
  EXPECT_TRUE(result.unmatched.empty());
  std::ostringstream out;
  print_comparing(out, result, false, false);
  EXPECT_THAT(out.str(), HasSubstr("1 of 2 launches agree in all counters, 1 of 2 counters"));
  EXPECT_THAT(out.str(), Not(HasSubstr("16,744,448")));
  const auto json = nlohmann::json::parse(comparing_json(result));
  EXPECT_EQ(json["counters"][1]["measured"], 12);
}

TEST(Compare, OurOwnExportAgreesWithItself) {
  std::ostringstream text;
  write_json(text, counted(), 0, false);
  const auto launches = read_launches(text.str(), "run.json");
  const Comparing result = compare_launches(launches_of(counted()), launches);
  EXPECT_EQ(result.equal_launches, 2u);
  EXPECT_EQ(result.equal, result.rows.size());
}

TEST(Compare, LaunchesThatOneSideLacks) {
  auto measured = read_launches(kRaw, "ncu.csv");
  measured[1].grid = {5, 1, 1};
  measured.push_back(measured[0]);
  measured.back().kernel = "other()";
  const Comparing result = compare_launches(launches_of(counted()), measured);
  EXPECT_EQ(result.launches, 1u);
  EXPECT_THAT(result.unmatched, ElementsAre("of another shape: sum(int*, int*, unsigned long) (launch 1)",
                                            "only measured: other() (launch 2)"));
}

// The counts of a launch that was stopped are partial.
TEST(Compare, StoppedLaunches) {
  Record part = counted();
  part.launches[1].interrupted = true;
  std::ostringstream text;
  write_json(text, part, 130, false);
  for (const auto& stopped : {launches_of(part), read_launches(text.str(), "run.json")}) {
    const Comparing result = compare_launches(stopped, launches_of(counted()));
    EXPECT_EQ(result.launches, 1u);
    EXPECT_THAT(result.unmatched, ElementsAre(testing::StartsWith("stopped before its end: sum(")));
  }
}

// Two runs of the machine: what became of the first.
TEST(Compare, ABaseline) {
  Record after = counted();
  after.launches[0].counters.global_load_sectors += 4;
  const auto before = launches_of(counted());
  const Comparing worse = compare_launches(before, launches_of(after), true);
  EXPECT_TRUE(worse.increased);
  std::ostringstream out;
  print_comparing(out, worse, false, false);
  EXPECT_THAT(out.str(), HasSubstr("before"));
  EXPECT_THAT(out.str(), testing::ContainsRegex("global_load_sectors +[0-9,]+ +[0-9,]+ +\\+[0-9.]+ %"));
  EXPECT_FALSE(compare_launches(launches_of(after), before, true).increased) << "less is no increase";
  EXPECT_FALSE(compare_launches(before, before, true).increased);
  auto more = before;
  more.push_back(before[0]);
  EXPECT_TRUE(compare_launches(before, more, true).increased) << "a launch that was not there";
  EXPECT_FALSE(compare_launches(more, before, true).increased);
  const auto json = nlohmann::json::parse(comparing_json(worse));
  EXPECT_TRUE(json["counters"][0].contains("before"));
}

TEST(Compare, TellsCountedFromMeasured) {
  std::ostringstream text;
  write_json(text, counted(), 0, false);
  EXPECT_TRUE(is_counted(text.str()));
  Record gpu = counted();
  gpu.on_gpu = true;
  std::ostringstream measured;
  write_json(measured, gpu, 0, false);
  EXPECT_FALSE(is_counted(measured.str()));
  EXPECT_FALSE(is_counted(kRaw));
}

TEST(Compare, NamesForNcu) {
  EXPECT_THAT(ncu_metrics(), HasSubstr("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,"));
  EXPECT_THAT(ncu_metrics(), HasSubstr("shared_op_ldgsts.sum"));
  EXPECT_THAT(ncu_metrics(), Not(HasSubstr("inst_executed.sum")));
}

}  // namespace
}  // namespace coalesce::tool
