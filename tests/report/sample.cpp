// Prints a report of made-up figures, names among them that try to be markup: what page_test.mjs opens in a browser.
#include <iostream>
#include <memory>
#include <string_view>

#include "tool/present/report.h"

using namespace coalesce;

namespace {

tool::Rung rung(const std::string& name, uint64_t sectors, uint64_t wavefronts, uint64_t conflicts) {
  tool::Rung r;
  r.name = name;
  r.changed = "One `change` & <b>no</b> markup";
  r.expected = "fewer sectors";
  r.result = tool::Rung::Result::right;
  r.launches = 1;
  r.grid = {64, 1, 1};
  r.block = {256, 1, 1};
  auto& c = r.counters;
  c.global_load_requests = sectors / 4;
  c.global_load_sectors = sectors;
  c.global_load_bytes_requested = sectors * 16;
  c.compulsory_bytes = sectors * 16;
  c.shared_load_requests = wavefronts ? wavefronts - conflicts : 0;
  c.shared_load_wavefronts = wavefronts;
  c.shared_load_wavefronts_ideal = wavefronts - conflicts;
  c.instructions = 10 * sectors;
  c.thread_instructions = 300 * sectors;
  c.branches = 10;
  for (uint32_t line = 6; line < 10; ++line)
    r.lines.push_back({COALESCE_SOURCE_DIR "/tests/report/sample.cpp", line, line, c});
  r.lines.push_back({"/not/there/<i>x.cu", 3, 4, c});
  return r;
}

// Three kernels: two waste, one does not.
void write_run() {
  tool::Record record;
  record.started = record.complete = true;
  record.device = {"h200", "NVIDIA H200", {9, 0}};
  record.program = "sample.cu";
  const char* names[] = {"wasteful", "banked<int, 4>", "</script><script>alert(1)</script>"};
  const uint64_t sectors[] = {4000, 900, 100}, wavefronts[] = {0, 6400, 40}, conflicts[] = {0, 6200, 0};
  for (std::size_t k = 0; k < std::size(names); ++k) {
    const tool::Rung one = rung(names[k], sectors[k], wavefronts[k], conflicts[k]);
    record.kernels.push_back({names[k], std::string(names[k]) + "(int*)", names[k]});
    tool::Launch launch;
    launch.kernel = k;
    launch.grid = one.grid;
    launch.block = one.block;
    launch.counters = one.counters;
    launch.counters.compulsory_bytes = 32 * sectors[k];
    if (k != 0) launch.counters.global_load_bytes_requested = 32 * sectors[k];
    tool::Line line = one.lines[0];
    line.counters = launch.counters;
    launch.lines = std::make_shared<tool::Lines>(tool::Lines{line});
    record.launches.push_back(launch);
  }
  tool::write_report(std::cout, record, "sample.cu");
}

}  // namespace

// `run` prints the report of a run, anything else that of the lab.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "run") return write_run(), 0;
  std::vector<tool::Experiment> experiments(12);  // as many as the lab has
  const char* names[] = {"ladder", "</script><script>alert(1)</script>", "banks"};
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    tool::Experiment& e = experiments[i];
    e.name = i < std::size(names) ? names[i] : "other" + std::to_string(i);
    e.title = "What <i>this</i> shows";
    e.chart = {"slow", "fast", "moved_bytes"};
    e.device = {"h200", "NVIDIA H200", {9, 0}};
    e.rungs = {rung("slow", 4000, 0, 0), rung("middle<int, 4>", 900, 6400, 6200), rung("fast", 100, 40, 0)};
    tool::Step step;
    step.name = "1";
    step.active_warps = 8;
    e.rungs[1].steps = {step, step};
    e.comparisons = {{"fast", "moves", "sectors", "slow", 40.0}};
    tool::Claim claim;
    claim.text = "forty times fewer";
    claim.document = "lecture";
    claim.device = "P100";
    claim.figure = 40;
    claim.value = 40;
    claim.verdict = tool::Verdict::holds;
    e.claims = {claim, claim};
    e.claims[1].verdict = tool::Verdict::does_not_hold;
    e.claims[1].value = 7.25;
    e.output = "slow ok\n<script>alert(3)</script>\n";
  }
  tool::write_report(std::cout, experiments);
}
