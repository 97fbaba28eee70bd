#include "tool/figures/experiment.h"

#include <algorithm>
#include <sstream>

namespace coalesce::tool {
namespace {

constexpr std::string_view kSteps = "_steps";  // ends the name of a kernel that stops after so many steps

bool has_word(const std::string& line, const std::string& word) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !letter(line[at - 1])) && (end == line.size() || !letter(line[end]))) return true;
  }
  return false;
}

// The experiment's output about a rung: lines that begin with its name and a space.
Rung::Result result_of(const std::string& rung, const std::string& output) {
  std::istringstream in(output);
  auto result = Rung::Result::unknown;
  for (std::string line; std::getline(in, line);) {
    const auto start = line.find_first_not_of(' ');
    if (start == std::string::npos || line.compare(start, rung.size(), rung) != 0) continue;
    const std::size_t end = start + rung.size();
    if (end < line.size() && line[end] != ' ') continue;
    if (has_word(line, "wrong")) return Rung::Result::wrong;
    if (line.ends_with("ok")) result = Rung::Result::right;
  }
  return result;
}

// The counts of the launch with k steps beyond those of the one with k - 1.
Step difference(const machine::Counters& more, const machine::Counters& fewer, std::size_t number) {
  Step step;
  step.name = std::to_string(number);
  for (const auto& row : machine::kCounterRows) {
    step.counters.*row.field = above(more.*row.field, fewer.*row.field);
  }
  step.active_warps = step.counters.shared_store_requests;
  step.divergent_warps = step.counters.divergent_branches;
  step.conflict_degree = ratio(shared_wavefronts(step.counters), shared_requests(step.counters)).value_or(0);
  return step;
}

std::vector<Step> steps_of(const Record& record, std::size_t kernel) {
  std::vector<Step> steps;
  const machine::Counters* before = nullptr;
  for (const Launch& launch : record.launches) {
    if (launch.kernel != kernel) continue;
    if (before) steps.push_back(difference(launch.counters, *before, steps.size() + 1));
    before = &launch.counters;
  }
  return steps;
}

Copies copies_of(const Record& record) {
  Copies copies;
  const auto get = [&](const char* path, uint64_t& calls, uint64_t& bytes) {
    if (!record.copies.is_object()) return;
    const auto found = record.copies.find(path);
    if (found == record.copies.end() || !found->is_object()) return;
    calls = found->value("calls", uint64_t{0});
    bytes = found->value("bytes", uint64_t{0});
  };
  get("h2d", copies.h2d_calls, copies.h2d_bytes);
  get("d2h", copies.d2h_calls, copies.d2h_bytes);
  get("d2d", copies.d2d_calls, copies.d2d_bytes);
  return copies;
}

// All launches of the kernel; empty where one has no estimate.
std::optional<double> estimated_seconds(const Record& record, std::size_t kernel) {
  double us = 0;
  for (const Launch& launch : record.launches) {
    if (launch.kernel != kernel) continue;
    if (!launch.time || !launch.time->none.empty()) return std::nullopt;
    us += launch.time->us;
  }
  return us / 1e6;
}

}  // namespace

std::vector<Rung> rungs(const Record& record, const std::string& output) {
  std::vector<Rung> ladder;
  const std::vector<KernelTotal> kernels = totals(record);
  std::vector<std::pair<std::string, std::size_t>> stepped;  // rung, kernel
  for (const KernelTotal& kernel : kernels) {
    const std::string& name = record.kernels[kernel.kernel].short_name;
    // Template arguments tell rungs apart only where one template is several rungs.
    const std::string base = without_template_arguments(name);
    if (base.ends_with(kSteps)) {
      stepped.emplace_back(base.substr(0, base.size() - kSteps.size()), kernel.kernel);
      continue;
    }
    const auto same = std::count_if(kernels.begin(), kernels.end(), [&](const KernelTotal& other) {
      return without_template_arguments(record.kernels[other.kernel].short_name) == base;
    });
    Rung rung;
    rung.name = same == 1 ? base : name;
    rung.counters = kernel.counters;
    rung.launches = kernel.launches;
    rung.fault = kernel.fault.empty() && kernel.interrupted ? "interrupted" : kernel.fault;
    rung.lines = kernel.lines;
    const auto first = std::find_if(record.launches.begin(), record.launches.end(),
                                    [&](const Launch& launch) { return launch.kernel == kernel.kernel; });
    rung.grid = first->grid, rung.block = first->block, rung.shared_bytes = first->dynamic_shared_bytes;
    rung.estimated_seconds = estimated_seconds(record, kernel.kernel);
    rung.result = kernel.ended() ? result_of(rung.name, output) : Rung::Result::wrong;
    ladder.push_back(std::move(rung));
  }
  for (const auto& [name, kernel] : stepped) {
    const auto rung = std::find_if(ladder.begin(), ladder.end(), [&](const Rung& r) { return r.name == name; });
    if (rung != ladder.end()) rung->steps = steps_of(record, kernel);
  }
  return ladder;
}

Rung whole_rung(const Record& record, const std::string& name, const std::string& output) {
  Rung whole;
  whole.name = name;
  whole.result = result_of(name, output);
  whole.copies = copies_of(record);
  for (Rung& part : rungs(record, "")) {
    if (whole.launches == 0) {
      whole.grid = part.grid, whole.block = part.block, whole.shared_bytes = part.shared_bytes;
    }
    whole.counters += part.counters;
    if (whole.launches == 0) whole.estimated_seconds = 0;
    if (whole.estimated_seconds && part.estimated_seconds)
      *whole.estimated_seconds += *part.estimated_seconds;
    else
      whole.estimated_seconds.reset();
    whole.launches += part.launches;
    if (!part.fault.empty()) whole.fault = part.fault, whole.result = Rung::Result::wrong;
    whole.lines.insert(whole.lines.end(), part.lines.begin(), part.lines.end());
  }
  return whole;
}

double bandwidth(const Rung& rung) {
  const double seconds = rung.hardware ? rung.hardware->seconds() : 0;
  return seconds == 0 ? 0 : static_cast<double>(rung.counters.compulsory_bytes) / seconds;
}

}  // namespace coalesce::tool
