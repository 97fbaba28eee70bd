#include "bench/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/others.h"

namespace coalesce::bench {

using nlohmann::json;

namespace {

std::string number(double value) { return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0); }

std::string rate(const json& row, const char* key) {
  return row.contains(key) ? number(row[key]["median"].get<double>()) : "-";
}
std::string plain(const json& row, const char* key) {
  return row.contains(key) ? fmt::format("{:.2f}", row[key].get<double>()) : "-";
}
std::string milliseconds(const json& row, const char* where, const char* key) {
  if (!row.contains(where) || !row[where].contains(key)) return "-";
  const json& value = row[where][key];
  if (value.is_number()) return fmt::format("{:.0f}", value.get<double>() * 1e3);
  return value.empty() ? "-" : fmt::format("{:.1f}", median(value.get<std::vector<double>>()) * 1e3);
}

std::string n_of(const json& row) {
  const std::string n = std::to_string(row["n"].get<uint64_t>());
  return row["times"] == 1 ? n : fmt::format("{}, {} times", n, row["times"].get<uint64_t>());
}

// Native code's speed on one thread as a share of a plain loop's; 0 if either is missing.
double of_plain(const json& row) {
  if (!row.contains("plain_seconds") || !row.contains("native")) return 0;
  return median(row["plain_seconds"].get<std::vector<double>>()) /
         median(row["native"]["seconds"].get<std::vector<double>>());
}

struct Column {
  const char* head;
  std::string (*text)(const json& row);
};

const Column kRates[] = {
    {"kernel", [](const json& r) { return r["kernel"].get<std::string>(); }},
    {"n", n_of},
    {"instructions", [](const json& r) { return fmt::format("{:.1f} M", r["instructions"].get<double>() / 1e6); }},
    {"interpreter", [](const json& r) { return rate(r, "one_thread"); }},
    {"2 threads", [](const json& r) { return rate(r, "two_threads"); }},
    {"target", [](const json& r) { return r["target"] > 0 ? number(r["target"].get<double>()) : "-"; }},
    {"native", [](const json& r) { return rate(r, "native"); }},
    {"2 threads", [](const json& r) { return rate(r, "native_two"); }},
    {"ratio", [](const json& r) { return plain(r, "native_ratio"); }},
    {"side by side", [](const json& r) { return plain(r, "side_by_side"); }},
    {"plain loop's", [](const json& r) { return plain(r, "plain_two_threads"); }},
    {"faster", [](const json& r) { return plain(r, "faster"); }},
    {"of plain loop", [](const json& r) { return of_plain(r) > 0 ? fmt::format("{:.2f}", of_plain(r)) : "-"; }},
    {"AVX2", [](const json& r) { return rate(r, "avx2"); }},
    {"SSE", [](const json& r) { return rate(r, "sse"); }},
    {"POCL", [](const json& r) { return rate(r, "pocl"); }},
    {"Oclgrind", [](const json& r) { return rate(r, "oclgrind"); }},
};

// The seconds by which the launches of `key` were later than those measured just before them, sorted; empty: none were.
std::vector<double> later(const json& row, const char* key) {
  if (!row.contains("first_launch")) return {};
  const auto before = row["first_launch"]["interpreter"].get<std::vector<double>>();
  auto seconds = row["first_launch"][key].get<std::vector<double>>();
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] -= before.at(i);
  std::ranges::sort(seconds);
  return seconds;
}

// "+1.2 (-3.4 to +5.6)": median and quartiles, ms.
std::string spread(const std::vector<double>& sorted) {
  if (sorted.empty()) return "-";
  return fmt::format("{:+.1f} ({:+.1f} to {:+.1f})", median(sorted) * 1e3, sorted[sorted.size() / 4] * 1e3,
                     sorted[sorted.size() - 1 - sorted.size() / 4] * 1e3);
}

const Column kFirst[] = {
    {"kernel", [](const json& r) { return r["kernel"].get<std::string>(); }},
    {"compiling, ms", [](const json& r) { return milliseconds(r, "native", "compile_seconds"); }},
    {"first launch interpreted, ms", [](const json& r) { return milliseconds(r, "first_launch", "interpreter"); }},
    {"`auto`, empty cache: later by, ms", [](const json& r) { return spread(later(r, "cold")); }},
    {"interpreted again: later by, ms", [](const json& r) { return spread(later(r, "again")); }},
    {"`auto`, in the cache, ms", [](const json& r) { return milliseconds(r, "first_launch", "warm"); }},
};

template <std::size_t N>
std::string table(const Column (&columns)[N], const json& rows) {
  std::string text = "|", rule = "|";
  for (const Column& c : columns) {
    text += fmt::format(" {} |", c.head);
    rule += &c == columns ? " --- |" : " ---: |";
  }
  text += "\n" + rule + "\n";
  for (const json& row : rows) {
    text += "|";
    for (const Column& c : columns) text += " " + c.text(row) + " |";
    text += "\n";
  }
  return text;
}

int width(const Column& c) {
  return &c == kRates ? -20 : &c == kRates + 1 ? 16 : std::max(8, static_cast<int>(std::string(c.head).size()) + 1);
}

void print_cell(const Column& c, const std::string& text) { std::printf("%*s", width(c), text.c_str()); }

}  // namespace

void print_head() {
  for (const Column& c : kRates) print_cell(c, c.head);
  std::printf("\n");
}

void print_row(const json& row) {
  for (const Column& c : kRates) print_cell(c, c.text(row));
  std::printf("\n");
  std::fflush(stdout);
}

// The targets, one a line, and whether they are met.
static std::string verdicts(const json& rows) {
  std::string text = "| target | measured | |\n| --- | ---: | --- |\n";
  const auto line = [&](const std::string& what, double target, double measured, const std::string& unit) {
    text += fmt::format("| {} at least {}{} | {:.{}f} | {} |\n", what, target, unit, measured, measured < 100 ? 2 : 0,
                        measured >= target ? "met" : "**not met**");
  };
  for (const json& row : rows) {
    if (!row.contains("native")) continue;
    const std::string kernel = row["kernel"];
    const double native = row["native"]["median"], target = row["target"], faster = row["faster_target"];
    const std::string of_loop = of_plain(row) > 0 ? fmt::format(" (a plain loop: {:.0f})", native / of_plain(row)) : "";
    if (target > 0) line(kernel, target, native, " M/s" + of_loop);
    if (target > 0 && row.contains("avx2"))
      line(kernel + ", AVX2", std::round(target / 3), row["avx2"]["median"], " M/s");
    if (faster > 0) line(kernel + ", times the interpreter", faster, row["faster"], "");
    const bool memory = row["bound_by_memory"];
    if (memory) line(kernel + ", of a plain loop's bandwidth", 0.9, of_plain(row), "");
    if (row.contains("native_ratio") && !memory && row["times"] == 1)
      line(kernel + ", two threads", 1.9, row["native_ratio"],
           " times one (two machines side by side: " + plain(row, "side_by_side") +
               "; a plain loop: " + plain(row, "plain_two_threads") + ")");
  }
  return text;
}

// The time by which the first launch of an uncompiled kernel is slower than an interpreted one: the median of pairs,
// beside the difference of two interpreted launches.
static std::string first_launches(const json& rows) {
  double most = -1e9, noise = 0;
  std::string kernel;
  for (const json& row : rows) {
    const std::vector<double> cold = later(row, "cold"), again = later(row, "again");
    if (cold.empty()) continue;
    if (median(cold) > most) most = median(cold), kernel = row["kernel"];
    noise = std::max(noise, std::abs(median(again)));
  }
  if (kernel.empty()) return "";
  return fmt::format(
      "First launch by `auto`, cache empty: {:+.1f} ms at most against interpreted ({}; medians of pairs; two "
      "interpreted launches differ by up to {:.1f}; target 20): {}.\n",
      most * 1e3, kernel, noise * 1e3, most <= 0.02 ? "met" : "**not met**");
}

void print_notes(const json& rows, int repetitions) {
  fmt::print(
      "\nMillions of warp instructions of PTX a second, all counters on; the median of {} bursts of launches.\n"
      "target: native, one thread; ratio: native, two threads to one, target 1.9; faster: native to interpreter, one\n"
      "thread; of plain loop: of the speed of a C++ loop that does as much and counts nothing. AVX2, SSE: native code "
      "for "
      "x86-64-v3 and x86-64-v2. All results checked, all counters equal.\n"
      "POCL, Oclgrind: OpenCL twins, one thread; our count of the kernel's warp instructions / their time.\n",
      repetitions);
  for (const json& row : rows) {
    const std::string kernel = row["kernel"];
    if (row.contains("oclgrind"))
      fmt::print("Oclgrind on {}: scaled from n = {}\n", kernel, row["oclgrind"]["scaled_from_n"].get<uint64_t>());
    for (const auto& [key, name] : {std::pair{"pocl_skipped", "POCL"}, {"oclgrind_skipped", "Oclgrind"}})
      if (row.contains(key)) fmt::print("{} on {}: {}\n", name, kernel, row[key].get<std::string>());
  }
  fmt::print("\n{}\n{}\n{}", verdicts(rows), first_launches(rows), table(kFirst, rows));
  double least = 1;
  for (const json& row : rows) least = std::min(least, row["one_thread"]["share_of_cores"].get<double>());
  if (least >= 0.95) return;
  fmt::print(
      "\nDisturbed: other programs ran, and one thread had down to {:.0f} % of a core. Per second of CPU time:\n",
      least * 100);
  for (const json& row : rows) {
    fmt::print("  {:<16} {:>6.0f} interpreted", row["kernel"].get<std::string>(),
               row["one_thread"]["per_cpu_second"].get<double>());
    for (const char* key : {"native", "native_two", "avx2", "sse"})
      if (row.contains(key)) fmt::print(", {} {:.0f}", key, row[key]["per_cpu_second"].get<double>());
    fmt::print("\n");
  }
}

}  // namespace coalesce::bench
