#include "tool/figures/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <tuple>

#include "tool/figures/finding_rules.h"

namespace coalesce::tool {
namespace {

constexpr double kWorthSaying = 0.1;  // of what the rule judges
constexpr double kOfKernel = 0.01;    // of what the kernel spends
constexpr double kWorthATime = 0.01;  // of the kernel's estimated time

// Cycles of all accesses, or instructions, that share the rule's resources.
double spent_of(const FindingRule& rule, const Judged& kernel) {
  if (!rule.per_line && rule.resources[0] == machine::BoundBy::issue) return rule.judge(kernel).spent;
  double cycles = 0;
  for (const FindingRule& other : finding_rules())
    if (other.per_line && other.resources == rule.resources) cycles += other.judge(kernel).spent;
  return cycles;
}

// The part of an estimated time that `waste` of `spent` cycles takes: the resource that takes the longest alone bounds
// the launch, before and after, and the launch's time follows it. Waiting is not counted, as it grows and shrinks with
// what is waited for.
double part_saved(const EstimatedTotal& time, const FindingRule& rule, double waste, double spent) {
  auto parts = time.parts_us;
  const double before = *std::max_element(parts.begin(), parts.end());
  if (time.us <= 0 || spent <= 0) return 0;
  const double kept = std::max(0.0, 1 - waste / spent);
  for (const machine::BoundBy b : std::set(rule.resources.begin(), rule.resources.end()))
    parts[static_cast<std::size_t>(b)] *= kept;
  return before <= 0 ? 0 : (1 - *std::max_element(parts.begin(), parts.end()) / before) * time.bounded_us / time.us;
}

// Adds what `rule` says of `judged`, which is the kernel or a line of it; `shown` is the line that people are sent to.
void consider(const FindingRule& rule, const Judged& judged, const Line* shown, const KernelTotal& kernel,
              std::vector<Finding>& found) {
  const Cycles cycles = rule.judge(judged);
  if (cycles.waste <= 0 || cycles.waste < kWorthSaying * cycles.spent) return;
  Finding finding{.kind = rule.kind,
                  .line = shown ? *shown : Line{},
                  .waste = cycles.waste,
                  .spent = cycles.spent,
                  .what = rule.what(judged),
                  .cause = rule.cause(judged),
                  .remedy = rule.remedy(judged),
                  .saves = rule.saves(judged)};
  finding.line.counters = judged;
  if (kernel.time)
    finding.faster =
        part_saved(*kernel.time, rule, cycles.waste, spent_of(rule, {kernel.counters, kernel.threads, kernel.warps}));
  found.push_back(std::move(finding));
}

std::string as_sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + '.';
}

}  // namespace

std::vector<Finding> find_waste(const KernelTotal& total) {
  std::vector<Finding> found;
  if (!total.ended()) return found;
  for (const FindingRule& rule : finding_rules()) {
    if (rule.per_line && !total.lines.empty()) {
      for (const Line& line : total.lines) consider(rule, {line.counters}, &line, total, found);
      continue;
    }
    const Line* blamed = nullptr;
    uint64_t most = 0;
    for (const Line& line : total.lines) {
      const uint64_t blame = rule.blame ? rule.blame({line.counters}) : 0;
      if (blame > most) blamed = &line, most = blame;
    }
    consider(rule, {total.counters, total.threads, total.warps}, blamed, total, found);
  }
  const double least = kOfKernel * spent_cycles(total.counters);
  std::erase_if(found, [&](const Finding& finding) { return finding.waste < least; });
  std::sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    if (a.waste != b.waste) return a.waste > b.waste;
    const auto place = [](const Finding& f) {
      return std::tuple(std::string_view(f.line.file), f.line.line, f.line.ptx_line, std::string_view(f.kind));
    };
    return place(a) < place(b);
  });
  return found;
}

double wasted_cycles(const machine::Counters& counters) {
  double cycles = 0;
  for (const FindingRule& rule : finding_rules()) {
    if (rule.per_line) cycles += rule.judge({counters}).waste;
  }
  return cycles;
}

std::string place_of(const Line& line) {
  if (!line.file.empty()) return fmt::format("{}:{}", line.file.substr(line.file.rfind('/') + 1), line.line);
  return line.ptx_line ? fmt::format("PTX line {}", line.ptx_line) : std::string();
}

std::string diagnosis(const Finding& finding) { return as_sentence(finding.what) + ' ' + as_sentence(finding.cause); }

std::string advice(const Finding& finding) {
  std::string text = as_sentence(finding.remedy);
  const bool faster = finding.faster >= kWorthATime;
  if (!finding.saves.empty()) text += " This saves up to " + finding.saves + (faster ? "" : ".");
  if (faster)
    text += fmt::format("{} about {:.0f} % of the estimated time.", finding.saves.empty() ? " This saves" : ", and",
                        100 * finding.faster);
  return text;
}

std::string sentences(const Finding& finding) { return diagnosis(finding) + ' ' + advice(finding); }

std::string count_text(uint64_t count) {
  if (count <= 9999) return std::to_string(count);
  double scaled = static_cast<double>(count);
  const char* prefix = "kMGTPE";
  // 999.5 is where three digits round up to the next prefix.
  for (scaled /= 1000; scaled >= 999.5 && prefix[1]; scaled /= 1000) ++prefix;
  return fmt::format("{:.{}f}{}", scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, *prefix);
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double scaled = static_cast<double>(bytes);
  const char* prefix = "kMGTPE";
  // If three digits round up, the next prefix begins.
  for (scaled /= 1000; scaled >= 999.5 && prefix[1]; scaled /= 1000) ++prefix;
  return fmt::format("{:.{}f} {}B", scaled, scaled < 99.95 ? 1 : 0, *prefix);
}

}  // namespace coalesce::tool
