// Findings, metrics and derived figures, from counters that a person can check by hand.
#include "tool/figures/figures.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/figures/error.h"
#include "tool/figures/findings.h"
#include "tool/present/metrics.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;

// The findings for a launch of 4 blocks.
std::vector<Finding> findings_for(const Values& values, const std::string& lines, uint32_t threads = 64) {
  std::string launch = launch_text(0, values, ",\"lines\":" + lines);
  const std::string block = "\"block\":[48,";
  launch.replace(launch.find(block), block.size(), "\"block\":[" + std::to_string(threads) + ',');
  const Record record = read_text(kHeader + kernel_text(0, "k") + launch);
  EXPECT_EQ(record.damage, "");
  return find_waste(totals(record).at(0));
}

std::string line(int number, const Values& values) {
  return "[\"/home/a/reduce.cu\"," + std::to_string(number) + ",7," + counters_text(values, false) + "]";
}

TEST(Record, Filter) {
  const std::string text =
      kHeader + kernel_text(0, "_Z3foov") + kernel_text(1, "_Z3bari") + launch_text(0, {}) + launch_text(1, {});
  Record record = read_text(text);
  filter(record, "^bar");
  ASSERT_EQ(record.launches.size(), 1u);
  EXPECT_EQ(record.kernels[record.launches[0].kernel].full, "bar(int)");
  EXPECT_THROW(filter(record, "("), Error);
}

TEST(Findings, NameTheLoadThatWastes) {
  // Every lane reads 4 of 8 bytes: 8 sectors a request, 128 bytes wanted, 4 would do.
  const Values bad = {{"global_load_requests", 10}, {"global_load_sectors", 80}, {"global_load_bytes_requested", 1280}};
  const Values good = {
      {"global_load_requests", 50}, {"global_load_sectors", 200}, {"global_load_bytes_requested", 6400}};
  const auto found = findings_for({}, "[" + line(12, good) + "," + line(41, bad) + "]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].kind, "loads");
  EXPECT_EQ(found[0].what, "loads move 2.0 times the bytes that they need (8.0 sectors a request, 4.0 would do)");
  EXPECT_EQ(found[0].cause, "the lanes of a warp are spread over 8.0 sectors");
  EXPECT_EQ(found[0].saves, "1.3 kB of 2.6 kB");  // 40 of 80 sectors of 32 bytes
  EXPECT_EQ(place_of(found[0].line), "reduce.cu:41");
}

TEST(Findings, TellLonelyLanesFromMisalignedWarps) {
  const Values lone = {
      {"global_store_requests", 2}, {"global_store_sectors", 64}, {"global_store_bytes_requested", 256}};
  EXPECT_THAT(findings_for(lone, "[]").at(0).cause, HasSubstr("a sector of its own"));
  EXPECT_THAT(findings_for(lone, "[]").at(0).remedy, HasSubstr("swap the indices"));
  const Values shifted = {
      {"global_load_requests", 2}, {"global_load_sectors", 10}, {"global_load_bytes_requested", 256}};
  EXPECT_THAT(findings_for(shifted, "[]").at(0).cause, HasSubstr("do not begin at a multiple of 32"));
}

// The fix saves 56 of 64 sectors, and with them seven eighths of L2's time; then instructions take the longest.
TEST(Findings, SayWhatAFixSavesOfAnEstimatedTime) {
  const Values lone = {
      {"global_store_requests", 2}, {"global_store_sectors", 64}, {"global_store_bytes_requested", 256}};
  const auto found = [&](machine::BoundBy bound_by) {
    Record record = read_text(kHeader + kernel_text(0, "k") + launch_text(0, lone));
    machine::TimeEstimate time;
    time.us = 20;
    time.bound_by = bound_by;
    const auto part = [&](machine::BoundBy b) -> double& { return time.part_us[static_cast<std::size_t>(b)]; };
    part(machine::BoundBy::l2) = 16, part(machine::BoundBy::dram) = 4;
    part(machine::BoundBy::issue) = 6, part(machine::BoundBy::latency) = 19;
    record.launches[0].time = std::make_shared<machine::TimeEstimate>(time);
    return find_waste(totals(record).at(0)).at(0);
  };
  EXPECT_DOUBLE_EQ(found(machine::BoundBy::l2).faster, 1 - 6.0 / 16);
  const std::string bytes = " This saves up to 1.8 kB of 2.0 kB";
  EXPECT_THAT(advice(found(machine::BoundBy::l2)),
              testing::EndsWith(bytes + ", and about 62 % of the estimated time."));
  EXPECT_THAT(advice(found(machine::BoundBy::latency)), testing::EndsWith(bytes + "."));
}

// The pad is found by the machine's own rule for banks.
TEST(Findings, NameThePadThatFreesTheBanks) {
  for (const uint64_t degree : {2, 4, 32}) {
    const Values column = {
        {"shared_load_requests", 5}, {"shared_load_wavefronts", 5 * degree}, {"shared_load_wavefronts_ideal", 5}};
    const auto found = findings_for(column, "[]");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].remedy, "leave one word unused after every " + std::to_string(degree) + " words");
    EXPECT_EQ(found[0].saves, std::to_string(5 * degree - 5) + " of " + std::to_string(5 * degree) + " passes");
  }
  const Values uneven = {
      {"shared_load_requests", 5}, {"shared_load_wavefronts", 13}, {"shared_load_wavefronts_ideal", 5}};
  EXPECT_THAT(findings_for(uneven, "[]").at(0).cause, HasSubstr("without a regular stride"));
}

TEST(Findings, SayNothingAboutAnUpdateInPlace) {
  // x[i] = f(x[i]): 200 sectors, each read once and written once.
  const Values once = {
      {"global_load_requests", 50},  {"global_load_sectors", 200},   {"global_store_requests", 50},
      {"global_store_sectors", 200}, {"compulsory_bytes", 200 * 32}, {"global_load_bytes_requested", 6400},
      {"instructions", 100},         {"thread_instructions", 3200},  {"global_store_bytes_requested", 6400}};
  EXPECT_TRUE(findings_for(once, "[" + line(12, once) + "]").empty());
  Values often = once;  // read three times, written once
  often["global_load_requests"] *= 3, often["global_load_sectors"] *= 3, often["global_load_bytes_requested"] *= 3;
  const auto found = findings_for(often, "[" + line(12, often) + "]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "asks for 4.0 times the bytes it touches");
}

// Sectors that a store wastes are one finding, not two.
TEST(Findings, CountWasteOnce) {
  const Values naive = {
      {"global_load_requests", 32},  {"global_load_sectors", 128},   {"global_load_bytes_requested", 4096},
      {"global_store_requests", 32}, {"global_store_sectors", 1024}, {"global_store_bytes_requested", 4096},
      {"compulsory_bytes", 8192}};
  const auto found = findings_for(naive, "[" + line(12, naive) + "]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].kind, "stores");
}

TEST(Findings, SayNothingAboutAPerfectKernel) {
  const Values good = {
      {"global_load_requests", 50}, {"global_load_sectors", 200},  {"global_load_bytes_requested", 6400},
      {"shared_load_requests", 9},  {"shared_load_wavefronts", 9}, {"shared_load_wavefronts_ideal", 9},
      {"instructions", 100},        {"thread_instructions", 3200}, {"branches", 4},
      {"compulsory_bytes", 6400}};
  EXPECT_TRUE(findings_for(good, "[" + line(12, good) + "]").empty());
  EXPECT_EQ(wasted_cycles(totals(read_text(kHeader + kernel_text(0, "k") + launch_text(0, good)))[0].counters), 0);
}

TEST(Findings, AreRankedByWaste) {
  const Values few = {
      {"global_load_requests", 10}, {"global_load_sectors", 80}, {"global_load_bytes_requested", 1280}};  // 20 cycles
  const Values many = {
      {"shared_load_requests", 1}, {"shared_load_wavefronts", 32}, {"shared_load_wavefronts_ideal", 1}};  // 31
  const auto found = findings_for({}, "[" + line(1, few) + "," + line(2, many) + "]");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].what, "bank conflicts take 32.0 passes a request where 1.0 would do");
  EXPECT_EQ(place_of(found[0].line), "reduce.cu:2");
}

// The reduction that adds neighbours in global memory: most of its sectors are wasted, and its branches part, too.
TEST(Findings, WastedSectorsOutrankBranches) {
  const Values values = {{"global_load_requests", 6'260'000},
                         {"global_load_sectors", 16'700'000},
                         {"global_load_bytes_requested", 200'000'000},
                         {"instructions", 37'000'000},
                         {"thread_instructions", 829'000'000},
                         {"branches", 9'000'000},
                         {"divergent_branches", 3'150'000}};
  const auto found = findings_for(values, "[" + line(3, values) + "]");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_STREQ(found[0].kind, "loads");
  EXPECT_STREQ(found[1].kind, "branches");
}

TEST(Findings, OfLinesThatHardlyMatterAreLeftOut) {
  const Values most = {
      {"global_load_requests", 5000}, {"global_load_sectors", 20000}, {"global_load_bytes_requested", 640000}};
  const Values little = {
      {"global_store_requests", 1}, {"global_store_sectors", 32}, {"global_store_bytes_requested", 128}};
  Values all = most;
  all.insert(little.begin(), little.end());
  EXPECT_TRUE(findings_for(all, "[" + line(1, most) + "," + line(2, little) + "]").empty());
}

TEST(Findings, OfAStoppedKernelAreNone) {
  const Values bad = {
      {"global_store_requests", 2}, {"global_store_sectors", 64}, {"global_store_bytes_requested", 256}};
  const Record record = read_text(kHeader + kernel_text(0, "k") + launch_text(0, bad, ",\"interrupted\":true"));
  EXPECT_TRUE(find_waste(totals(record).at(0)).empty());
}

TEST(Findings, WithoutLinesTheKernelIsJudged) {
  const Values bad = {
      {"global_store_requests", 2}, {"global_store_sectors", 64}, {"global_store_bytes_requested", 256}};
  const auto found = findings_for(bad, "[]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "stores move 8.0 times the bytes that they need (32.0 sectors a request, 4.0 would do)");
  EXPECT_EQ(place_of(found[0].line), "");
}

TEST(Findings, DivergenceIsBlamedOnTheLineThatParts) {
  const Values whole = {
      {"instructions", 100}, {"thread_instructions", 1600}, {"branches", 30}, {"divergent_branches", 20}};
  const auto found = findings_for(whole, "[" + line(5, {{"branches", 10}, {"divergent_branches", 1}}) + "," +
                                             line(9, {{"branches", 20}, {"divergent_branches", 19}}) + "]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "16.0 of 32 lanes work on average");
  EXPECT_EQ(place_of(found[0].line), "reduce.cu:9");
}

// for (i = 0; i < 64; ++i) y[i] += x[i] by one thread, four times: each request is a lane's 4 bytes. What is moved
// again and again is no work for shared memory.
TEST(Findings, OneThreadAWarpIsTheLaunchsFault) {
  const Values values = {
      {"global_load_requests", 512},  {"global_load_sectors", 512},  {"global_load_bytes_requested", 2048},
      {"global_store_requests", 256}, {"global_store_sectors", 256}, {"global_store_bytes_requested", 1024},
      {"instructions", 3200},         {"thread_instructions", 3200}, {"compulsory_bytes", 2048},
      {"divergent_branches", 0}};
  const auto found =
      findings_for(values, "[" + line(3, {{"instructions", 3000}}) + "," + line(4, {{"instructions", 200}}) + "]", 1);
  ASSERT_EQ(found.size(), 1u) << found.at(1).what;
  EXPECT_STREQ(found[0].kind, "few threads");
  EXPECT_EQ(found[0].what, "warps have 1.0 threads on average, where 32 fit");
  EXPECT_EQ(found[0].saves, "3100 of 3200 warp instructions");  // 31 of 32 lanes
  EXPECT_EQ(place_of(found[0].line), "reduce.cu:3");
  // The same counters of whole warps: lanes that take turns do read their sectors again.
  EXPECT_STREQ(findings_for(values, "[]", 32).at(0).kind, "reads again");
}

TEST(Findings, LanesWithoutAThreadAreNotTheBranches) {
  const Values values = {{"instructions", 100}, {"thread_instructions", 1600}, {"divergent_branches", 20}};
  const auto found = findings_for(values, "[]", 48);  // warps of 32 and 16
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].saves, "25 of 100 warp instructions");
  EXPECT_EQ(found[1].saves, "25 of 100 warp instructions");
  EXPECT_EQ(findings_for(values, "[]", 64).at(0).saves, "50 of 100 warp instructions");
  EXPECT_TRUE(findings_for({{"instructions", 100}, {"thread_instructions", 3150}}, "[]", 64).empty());
}

TEST(Findings, BytesInThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(4194304), "4.2 MB");
  EXPECT_EQ(bytes_text(33554432), "33.6 MB");
  EXPECT_EQ(bytes_text(99'940'000), "99.9 MB");
  EXPECT_EQ(bytes_text(99'960'000), "100 MB");
  EXPECT_EQ(bytes_text(999'600'000), "1.0 GB");
}

TEST(Figures, AtomicsMoveASectorOnce) {
  machine::Counters c;
  c.global_reduction_sectors = 32;  // all lanes on one word: 32 passes over one sector
  c.global_reduction_lines = 1;
  EXPECT_EQ(moved_bytes(c), 32u * 4);
}

TEST(Figures, IdealSectors) {
  EXPECT_EQ(ideal_sectors(1, 128), 4u);
  EXPECT_EQ(ideal_sectors(1, 4), 1u);
  EXPECT_EQ(ideal_sectors(1, 33), 2u);
  EXPECT_EQ(ideal_sectors(0, 0), 0u);
}

TEST(Figures, TotalsAddLaunchesAndTheirLines) {
  const Values values = {{"global_load_requests", 3}};
  const Record record =
      read_text(kHeader + kernel_text(0, "a") + kernel_text(1, "b") + launch_text(1, values) +
                launch_text(0, values, ",\"lines\":[" + line(4, values) + "]") + launch_text(0, values));
  const auto sums = totals(record);
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(record.kernels[sums[0].kernel].mangled, "b") << "order of first launch";
  EXPECT_EQ(sums[1].launches, 2u);
  EXPECT_EQ(sums[1].counters.global_load_requests, 6u);
  ASSERT_EQ(sums[1].lines.size(), 1u);
  EXPECT_EQ(sums[1].lines[0].counters.global_load_requests, 6u) << "the second launch shares the first one's lines";
}

TEST(Figures, DerivedMetricsNeverDivideByZero) {
  for (const Derived& row : kDerived) {
    const auto value = row.value(Launch{});
    EXPECT_TRUE(!value || *value == 0) << row.name;
  }
}

TEST(Metrics, AllThreeNamesMeanTheSame) {
  const char* nsight = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
  const char* bare = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld";
  for (const char* name : {"global_load_sectors", "gld_transactions", nsight, bare}) {
    ASSERT_EQ(parse_metrics(name).size(), 1u);
    EXPECT_EQ(parse_metrics(name)[0].counter->field, &machine::Counters::global_load_sectors) << name;
  }
  EXPECT_EQ(parse_metrics(" gld_efficiency , inst_executed").size(), 2u);
  EXPECT_EQ(parse_metrics("all").size(), machine::kCounterCount + kDerived.size());
}

TEST(Metrics, EveryNameFindsItsOwnRow) {
  for (const auto& row : machine::kCounterRows) {
    for (const auto name : {row.name, row.nvprof, row.nsight}) {
      if (!name.empty()) {
        EXPECT_EQ(parse_metrics(std::string(name))[0].counter, &row) << name;
      }
    }
  }
  for (const auto& row : kDerived) {
    for (const auto name : {row.name, row.nsight}) {
      if (!name.empty()) {
        EXPECT_EQ(parse_metrics(std::string(name))[0].derived, &row) << name;
      }
    }
  }
}

TEST(Metrics, UnknownNamesAreUsageErrorsWithTheNearest) {
  try {
    parse_metrics("gld_transaction");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Exit::usage);
    EXPECT_THAT(error.hint, HasSubstr("gld_transactions"));
  }
  try {
    parse_metrics("issue_slot_utilization");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.hint, HasSubstr("does not time"));
  }
  EXPECT_THROW(parse_metrics(""), Error);
  EXPECT_THROW(parse_metrics(",,"), Error);
  EXPECT_THROW(parse_metrics(std::string(100000, 'x')), Error);
}

TEST(Metrics, NvprofsLayout) {
  const Record record = read_text(kHeader + kernel_text(0, "_Z1kPi") +
                                  launch_text(0, {{"global_load_sectors", 8}, {"global_load_requests", 2}}) +
                                  launch_text(0, {{"global_load_sectors", 9}, {"global_load_requests", 2}}));
  std::ostringstream out;
  print_metrics(out, record, parse_metrics("gld_transactions,gld_transactions_per_request,gst_efficiency"));
  std::istringstream lines(out.str());
  std::vector<std::vector<std::string>> words;
  for (std::string text; std::getline(lines, text);) {
    std::istringstream in(text);
    words.emplace_back();
    for (std::string word; in >> word;) words.back().push_back(word);
  }
  ASSERT_EQ(words.size(), 6u) << out.str();
  EXPECT_THAT(out.str(), HasSubstr("Device \"NVIDIA H200 (0)\"\n    Kernel: k(int*)\n"));
  EXPECT_EQ(words[3].front(), "2");
  EXPECT_EQ(words[3][1], "gld_transactions");
  EXPECT_EQ(std::vector<std::string>(words[3].end() - 3, words[3].end()),
            (std::vector<std::string>{"8", "9", "8.500000"}));
  EXPECT_EQ(std::vector<std::string>(words[4].end() - 3, words[4].end()),
            (std::vector<std::string>{"4", "4.500000", "4.250000"}));
  EXPECT_EQ(words[5].front(), "0") << "no stores: the metric does not apply";
}

TEST(Metrics, MeansOfHugeCountsAreExact) {
  const uint64_t huge = (uint64_t{1} << 63) + 1;
  const Record record = read_text(kHeader + kernel_text(0, "k") + launch_text(0, {{"instructions", huge}}) +
                                  launch_text(0, {{"instructions", huge}}));
  std::ostringstream out;
  print_metrics_csv(out, record, parse_metrics("instructions"));
  const std::string text = std::to_string(huge);
  EXPECT_THAT(out.str(), HasSubstr(text + "," + text + "," + text + "\n"));
}

}  // namespace
}  // namespace coalesce::tool
