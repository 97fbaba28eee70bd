// Figures from a GPU's record: times, bandwidth, counters beside ours, verdicts. The records are what libcoalesce_gpu
// wrote on an H200 (lab reduce), shortened.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/figures/claims.h"
#include "tool/figures/hardware.h"
#include "tool/present/export.h"
#include "tool/present/html_gpu.h"
#include "tool/present/lab.h"
#include "tool/present/lab_gpu.h"
#include "tool/present/report.h"
#include "tool/present/summary.h"

namespace coalesce::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kGpuHeader =
    R"({"record":"coalesce.record/1","on":"gpu","device":{"key":"gpu","name":"NVIDIA H200","compute_capability":[9,0],"l2_bytes":62914560},"program":"./reduce","pid":1137})"
    "\n";
const char* const kTimed =
    R"({"launch":0,"kernel":0,"grid":[8,1,1],"block":[512,1,1],"dynamic_shared_bytes":0,"seconds":0.000003,"fault":"","times":{"cold":[0.000004,0.000002,0.000003],"warm":[0.000002,0.000001,0.000001]},"counters":{}})"
    "\n";
const char* const kRepeatedRun =
    R"({"launch":1,"kernel":0,"grid":[8,1,1],"block":[512,1,1],"dynamic_shared_bytes":0,"seconds":0.000000000,"fault":"","counters":{"global_load_sectors":100,"shared_load_wavefronts":9}})"
    "\n";

Record record(const std::string& launches) {
  return read_text(kGpuHeader + kernel_text(0, "_Z3sumPiS_m") + launches + kEnd);
}

Experiment experiment() {
  Experiment e;
  e.name = "reduce", e.title = "Sums", e.gpu = "NVIDIA H200", e.device.name = "NVIDIA H200";
  e.limits = {.read = 4e9, .copy = 2e9, .launch_following = 4e-6, .launch_waited = 1e-5};
  Rung rung;
  rung.name = "sum", rung.launches = 1;
  rung.counters.global_load_sectors = 100, rung.counters.shared_load_wavefronts = 8;
  rung.counters.compulsory_bytes = 3000;
  rung.hardware = hardware_of(record(kTimed), "sum");
  const Hardware read = hardware_of(record(kRepeatedRun), "sum");
  rung.hardware->counters = read.counters, rung.hardware->known = read.known;
  e.rungs.push_back(rung);
  return e;
}

TEST(GpuRecord, OnlyWhatWasReadIsKnown) {
  const Record r = record(kRepeatedRun);
  EXPECT_TRUE(r.on_gpu);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.damage, "");
  ASSERT_EQ(r.launches.size(), 1u);
  EXPECT_EQ(std::popcount(r.launches[0].known), 2);
  EXPECT_EQ(r.launches[0].counters.global_load_sectors, 100u);
}

TEST(GpuRecord, NotesAndTheWhole) {
  const Record r = record("{\"note\":\"no hardware counters: forbidden\"}\n{\"span\":0.25}\n");
  EXPECT_THAT(r.notes, ElementsAre("no hardware counters: forbidden"));
  EXPECT_EQ(r.span, 0.25);
}

TEST(GpuRecord, LaunchesOfARungAddUp) {
  const Hardware h = hardware_of(record(std::string(kTimed) + kTimed), "sum");
  EXPECT_EQ(h.cold, (std::vector<double>{8e-6, 4e-6, 6e-6}));
  EXPECT_DOUBLE_EQ(h.seconds(), 6e-6);
  EXPECT_EQ(hardware_of(record(kTimed), "other").seconds(), 0);
}

TEST(GpuFigures, MedianAndSpread) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(spread({1}), 0);
  EXPECT_EQ(spread({1, 2, 3, 4, 5}), 1);  // quartiles 2 and 4
}

TEST(GpuFigures, BandwidthIsCompulsoryBytesOverTheColdTime) {
  EXPECT_DOUBLE_EQ(bandwidth(experiment().rungs[0]), 3000 / 3e-6);
  EXPECT_EQ(bandwidth(Rung{}), 0);
}

TEST(GpuPrinting, TimesAndDifferences) {
  std::ostringstream out;
  print_measured(out, experiment(), false);
  EXPECT_THAT(out.str(), HasSubstr("3.00"));
  EXPECT_THAT(out.str(), HasSubstr("25.0"));  // % of read: 1 of 4 GB/s
  EXPECT_THAT(out.str(), HasSubstr("50.0"));  // % of copy
  EXPECT_THAT(out.str(), HasSubstr("shared_load_wavefronts"));
  EXPECT_THAT(out.str(), Not(HasSubstr("global_load_sectors")));  // equal, and not asked for
  EXPECT_THAT(out.str(), HasSubstr("2 counters of memory that are not 0; 1 of them"));
  EXPECT_THAT(out.str(), HasSubstr("reads 4 GB/s and copies 2 GB/s at best"));
}

// With a GPU beside what it took, without one alone; where none was asked for, nothing says "estimated".
TEST(GpuPrinting, EstimatesOfRungs) {
  Experiment e = experiment();
  const auto texts = [&e] {
    std::ostringstream out, csv;
    print_experiment(out, e, {});
    write_lab_csv(csv, {e});
    return std::vector{out.str(), lab_json({e}), measured_html(e, "x"), csv.str()};
  };
  for (const std::string& text : texts()) EXPECT_THAT(text, Not(HasSubstr("estimated_"))) << "not asked for";
  for (const char* gpu : {"NVIDIA H200", ""}) {
    e.gpu = gpu;
    e.rungs[0].estimated_seconds = 12.34e-6;
    const auto text = texts();
    EXPECT_THAT(text[0], testing::AllOf(HasSubstr("estimated"), HasSubstr("12.34"))) << gpu;
    EXPECT_THAT(text[1], HasSubstr("\"estimated_seconds\":1.234e-05")) << gpu;
    EXPECT_THAT(text[2], testing::AllOf(HasSubstr("estimated"), HasSubstr("12.3"))) << gpu;
    EXPECT_THAT(text[3], testing::AllOf(HasSubstr(",estimated_us\n"), HasSubstr(",12.34\n"))) << gpu;
  }
}

TEST(GpuPrinting, EveryCounterWhenAskedFor) {
  Experiment e = experiment();
  e.every_counter = true;
  std::ostringstream out;
  print_measured(out, e, false);
  EXPECT_THAT(out.str(), HasSubstr("global_load_sectors"));
}

TEST(GpuPrinting, SummaryOfARun) {
  std::ostringstream out;
  print_gpu_summary(out, record(std::string(kTimed) + kTimed), false);
  EXPECT_THAT(out.str(), HasSubstr("reduce on NVIDIA H200 (measured"));
  EXPECT_THAT(out.str(), HasSubstr("6.00"));
}

TEST(GpuExport, JsonHasTimesAndOnlyKnownCounters) {
  std::ostringstream out;
  write_json(out, record(std::string(kTimed) + kRepeatedRun), 0, false);
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["on"], "gpu");
  EXPECT_EQ(json["launches"][0]["times"]["cold"]["median"], 3e-6);
  EXPECT_EQ(json["launches"][1]["counters"].size(), 2u);
}

TEST(GpuExport, LabJson) {
  const auto json = nlohmann::json::parse(lab_json({experiment()}))["experiments"][0];
  EXPECT_EQ(json["gpu"]["read_bytes_per_second"], 4e9);
  EXPECT_EQ(json["rungs"][0]["gpu"]["cold_seconds"]["median"], 3e-6);
  EXPECT_EQ(json["rungs"][0]["gpu"]["counters"]["shared_load_wavefronts"], 9);
}

TEST(GpuHtml, TimesAndCounters) {
  const std::string html = measured_html(experiment(), "reduce");
  EXPECT_THAT(html, HasSubstr("3.00"));
  EXPECT_THAT(html, HasSubstr("25.0 %"));
  EXPECT_THAT(html, HasSubstr("shared_load_wavefronts"));
  Experiment none = experiment();
  none.gpu.clear();
  EXPECT_EQ(measured_html(none, "reduce"), "");
}

Claim judged_rule(const std::string& rule, const std::vector<Rung>& rungs) {
  const ClaimFile file = parse_claims("[[claim]]\ntext = \"t\"\ndocument = \"d\"\nfigure = 2\n" + rule, "claims.toml");
  return judge(file.rows.at(0), rungs, true);
}

const char* const kTimedTwice =  // repeated, and counted
    R"({"launch":0,"kernel":0,"grid":[8,1,1],"block":[512,1,1],"dynamic_shared_bytes":0,"seconds":0.000003,"fault":"","times":{"cold":[0.000004,0.000002,0.000003],"warm":[0.000002,0.000001,0.000001]},"counters":{"global_load_sectors":100,"shared_load_wavefronts":9}})"
    "\n";

// ---- The report of a run
// ---------------------------------------------------------------------------------------------

TEST(GpuReport, OfAGpuAlone) {
  std::ostringstream out;
  write_report(out, record(kTimedTwice), {});
  for (const char* wanted : {"Measured on an <b>NVIDIA H200</b>", "on an NVIDIA H200", ">3.00<", ">100<"})
    EXPECT_TRUE(out.str().find(wanted) != std::string::npos) << wanted;
  // Figures that a GPU does not provide must not appear as 0.
  for (const char* unwanted : {"Counted by the Coalesce machine", "nothing is timed", "Most wasted", "wasted</th>"})
    EXPECT_TRUE(out.str().find(unwanted) == std::string::npos) << unwanted;
}

TEST(GpuReport, OfTheMachineAndAGpu) {
  const Record counted = read_text(std::string(kHeader) + kernel_text(0, "_Z3sumPiS_m") +
                                   launch_text(0, {{"global_load_sectors", 100}, {"compulsory_bytes", 3000}}) + kEnd);
  const Record measured = record(kTimedTwice);
  std::ostringstream out;
  write_report(out, counted, {}, &measured);
  for (const char* wanted :
       {"Counted and measured", "Time and bandwidth", "are an <b>NVIDIA H200</b>'s", ">3.00<", ">1.0<"})
    EXPECT_TRUE(out.str().find(wanted) != std::string::npos) << wanted;
}

TEST(GpuClaims, TimesAreJudgedWhereThereAreTimes) {
  const std::string rule = "needs = \"time\"\ngpu_value = \"sum.seconds * 1000000\"\ngpu_holds = \"value > figure\"\n";
  const Claim claim = judged_rule(rule, experiment().rungs);
  EXPECT_EQ(claim.verdict, Verdict::holds);
  EXPECT_TRUE(claim.measured);
  EXPECT_DOUBLE_EQ(*claim.value, 3);
  EXPECT_EQ(figures_text(claim), "claimed 2, measured 3");
  std::vector<Rung> counted = experiment().rungs;
  counted[0].hardware.reset();
  EXPECT_EQ(judged_rule(rule, counted).reason, "a time: --time estimates it, a GPU measures it");
  // An estimate judges it, too, and says so; what a time alone does not show stays open.
  counted[0].estimated_seconds = 5e-6;
  const Claim estimated = judged_rule(rule, counted);
  EXPECT_FALSE(estimated.measured);
  EXPECT_EQ(verdict_text(estimated), "holds (estimated)");
  EXPECT_EQ(figures_text(estimated), "claimed 2, estimated 5");
  counted[0].estimated_seconds = 1e-6;
  EXPECT_EQ(verdict_text(judged_rule(rule, counted)), "does not hold (estimated)");
  const Claim open = judged_rule("needs = \"time\"\ngpu_holds = \"sum.cycles > 1\"\n", counted);
  EXPECT_EQ(verdict_text(open), "cannot be judged here");
  EXPECT_EQ(open.reason, "the cycles of sum: needs a GPU");
}

TEST(GpuClaims, HardwareCounters) {
  EXPECT_EQ(
      judged_rule("needs = \"gpu\"\ngpu_holds = \"sum.gpu_shared_load_wavefronts == 9\"\n", experiment().rungs).verdict,
      Verdict::holds);
  EXPECT_THAT(
      judged_rule("needs = \"gpu\"\ngpu_holds = \"sum.gpu_local_load_sectors == 0\"\n", experiment().rungs).reason,
      HasSubstr("were not read"));
}

TEST(GpuClaims, KeysThatDoNotBelong) {
  EXPECT_ANY_THROW(judged_rule("holds = \"1\"\ngpu_holds = \"1\"\n", {}));
  EXPECT_ANY_THROW(judged_rule("needs = \"gpu\"\ngpu_holds = \"sum.gpu_nothing == 0\"\n", {}));
}

}  // namespace
}  // namespace coalesce::tool
