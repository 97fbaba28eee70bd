#include "bench/own.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "bench/others.h"
#include "bench/plain.h"
#include "native/tier/library.h"

namespace coalesce::bench {

using nlohmann::json;

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::shared_ptr<native::Engine> engine_of(const Way& way) {
  if (way.engine == machine::Engine::interpreter) return nullptr;
  native::Settings settings;
  settings.engine = way.engine;
  settings.library = native::find_library();
  settings.cpu = way.cpu;
  settings.warn = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  return std::make_shared<native::Engine>(std::move(settings));
}

json own_rates(uint64_t instructions, const Seconds& seconds, unsigned threads) {
  json result = rates(instructions, seconds.wall);
  const double cpu = median(seconds.cpu);
  result["cpu_seconds"] = seconds.cpu;
  result["per_cpu_second"] = static_cast<double>(instructions) / cpu / 1e6;
  result["share_of_cores"] = cpu / (threads * median(seconds.wall));
  return result;
}

}  // namespace

const std::vector<Way>& ways() {
  static const std::vector<Way> all = [] {
    std::vector<Way> list{{"one_thread", machine::Engine::interpreter, 1, ""}};
    const bool both = std::thread::hardware_concurrency() >= 2, native = !native::find_library().empty();
    if (both) list.push_back({"two_threads", machine::Engine::interpreter, 2, ""});
    if (native) list.push_back({"native", machine::Engine::native, 1, ""});
    if (native && both) list.push_back({"native_two", machine::Engine::native, 2, ""});
#if defined(__x86_64__)
    if (native) list.push_back({"avx2", machine::Engine::native, 1, "x86-64-v3"});
    if (native) list.push_back({"sse", machine::Engine::native, 1, "x86-64-v2"});
#endif
    return list;
  }();
  return all;
}

std::string read_kernels() {
  const std::string name = std::string(COALESCE_BENCH_DIR) + "/kernels.ptx";
  std::ifstream file(name);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) throw std::runtime_error("cannot read " + name);
  return text;
}

Prepared::Prepared(const Case& c, uint32_t n, const Way& way, bool check)
    : case_(c),
      engine_(engine_of(way)),
      machine_(*machine::find_device("h200"),
               {.threads = way.threads, .progress = {}, .output = {}, .native = engine_}) {
  program_ = machine_.load(read_kernels(), "bench/kernels.ptx");
  Words a(c.words_in(n)), b(c.words_in(n));
  c.fill(n, a, b);
  if (check) answer_ = c.answer(n, a, b);
  out_words_ = c.words_out(n);
  const uint64_t in_a = place(a.size()), in_b = place(b.size());
  out_ = place(out_words_);
  std::memcpy(reinterpret_cast<void*>(in_a), a.data(), a.size() * 4);
  std::memcpy(reinterpret_cast<void*>(in_b), b.data(), b.size() * 4);
  const auto grid = c.grid(n);
  config_.grid = {grid[0], grid[1], grid[2]};
  config_.block = {c.block[0], c.block[1], 1};
  config_.parameters.resize(28);  // three pointers and the size
  const uint64_t pointers[] = {in_a, in_b, out_};
  std::memcpy(config_.parameters.data(), pointers, 24);
  std::memcpy(config_.parameters.data() + 24, &n, 4);
}

void Prepared::launch(Seconds* seconds) {
  std::memset(reinterpret_cast<void*>(out_), 0xff, out_words_ * 4);
  const double cpu_start = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  const machine::LaunchReport report = machine_.launch(*program_, case_.kernel, config_);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu = cpu_seconds() - cpu_start;
  const std::string kernel(case_.name);
  if (engine_ && engine_->statistics().failed) throw std::runtime_error(kernel + ": no native code");
  if (report.fault != machine::Fault::none) {
    throw std::runtime_error(kernel + ": " +
                             (report.diagnostics.empty() ? "fault" : render(report.diagnostics[0], false)));
  }
  if (!answer_.empty() && std::memcmp(reinterpret_cast<void*>(out_), answer_.data(), answer_.size() * 4) != 0)
    throw std::runtime_error(kernel + ": wrong result");
  if (counters_ && *counters_ != report.counters)
    throw std::runtime_error(kernel + ": counters differ between launches");
  counters_ = report.counters;
  if (seconds) seconds->wall.push_back(wall), seconds->cpu.push_back(cpu);
}

void Prepared::burst(Seconds* seconds) {
  constexpr double kShort = 0.02;
  constexpr int kLaunches = 5;
  if (!seconds) return launch(nullptr);
  Seconds first;
  launch(&first);
  if (first.wall[0] > kShort) {
    seconds->wall.push_back(first.wall[0]), seconds->cpu.push_back(first.cpu[0]);
    return;
  }
  for (int i = 0; i < kLaunches; ++i) launch(seconds);
}

uint64_t Prepared::place(uint64_t words) {
  const machine::Allocation* allocation = machine_.memory().allocate(words * 4, machine::Origin::device, "benchmark");
  if (!allocation) throw std::runtime_error("no memory for " + std::to_string(words * 4 / 1'000'000) + " MB");
  return allocation->base;  // a simulated address is a host address
}

// The throughput of two machines with one thread each at the same time, over that of one machine. They share nothing
// but the computer. `one` is the first of them. One value for each repetition.
static std::vector<double> side_by_side(const Case& c, const Way& way, Prepared& one, const std::vector<double>& alone,
                                        int repetitions) {
  Prepared other(c, c.n, way);
  other.launch(nullptr);
  std::vector<double> ratios;
  for (int i = 0; i < repetitions; ++i) {
    Seconds first, second;
    std::future<void> beside = std::async(std::launch::async, [&] { other.burst(&second); });
    one.burst(&first);
    beside.get();
    ratios.push_back(median(alone) * (1 / median(first.wall) + 1 / median(second.wall)));
  }
  return ratios;
}

json measure_ways(const Case& c, int repetitions) {
  std::vector<std::unique_ptr<Prepared>> prepared;
  std::vector<Seconds> seconds(ways().size());
  // Two threads that do all of it several times would write the same lines.
  const auto left_out = [&](const Way& way) { return way.threads > 1 && c.times > 1; };
  for (const Way& way : ways()) prepared.push_back(left_out(way) ? nullptr : std::make_unique<Prepared>(c, c.n, way));
  std::optional<PlainLoop> loop;
  std::vector<double> plain, plain_two;
  if (c.plain != Plain::none) loop.emplace(c.plain, c.words_in(c.n));
  for (int i = -1; i < repetitions; ++i) {  // the first decodes and compiles
    for (std::size_t w = 0; w < ways().size(); ++w)
      if (prepared[w]) prepared[w]->burst(i < 0 ? nullptr : &seconds[w]);
    if (loop) loop->burst(i < 0 ? nullptr : &plain, i < 0 ? nullptr : &plain_two);
  }
  const machine::Counters& counters = prepared[0]->counters();
  json row = {{"kernel", c.name},   {"n", c.n},
              {"times", c.times},   {"instructions", counters.instructions},
              {"target", c.target}, {"faster_target", c.faster}};
  for (std::size_t w = 0; w < ways().size(); ++w) {
    const Way& way = ways()[w];
    if (!prepared[w]) continue;
    if (prepared[w]->counters() != counters)
      throw std::runtime_error(std::string(c.name) + ": counters of " + way.key + " differ from the first way's");
    row[way.key] = own_rates(counters.instructions, seconds[w], way.threads);
    if (way.engine == machine::Engine::native) row[way.key]["compile_seconds"] = prepared[w]->compile_seconds();
    if (way.key == std::string_view("native") && c.times == 1)
      row["side_by_side"] = median(side_by_side(c, way, *prepared[w], seconds[w].wall, repetitions));
  }
  const auto ratio = [&](const char* name, const char* one, const char* two) {
    if (row.contains(one) && row.contains(two))
      row[name] = row[two]["median"].get<double>() / row[one]["median"].get<double>();
  };
  ratio("ratio", "one_thread", "two_threads");
  ratio("native_ratio", "native", "native_two");
  ratio("faster", "one_thread", "native");
  if (!plain.empty()) row["plain_seconds"] = plain;
  row["plain_two_threads"] =
      plain_two.empty() ? median(plain_two_threads(repetitions)) : median(plain) / median(plain_two);
  row["bound_by_memory"] = c.plain == Plain::add || c.plain == Plain::transpose;
  return row;
}

json rates(uint64_t instructions, const std::vector<double>& seconds) {
  const auto rate = [&](double s) { return static_cast<double>(instructions) / s / 1e6; };
  return {{"median", rate(median(seconds))},
          {"min", rate(*std::max_element(seconds.begin(), seconds.end()))},
          {"max", rate(*std::min_element(seconds.begin(), seconds.end()))},
          {"seconds", seconds}};
}

}  // namespace coalesce::bench
