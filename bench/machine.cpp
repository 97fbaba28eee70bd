// How fast the machine is: warp instructions per second on the kernels of kernels.cu, all counters on, with one thread
// and with two, beside POCL and Oclgrind on OpenCL twins of the same kernels. Every result is checked.
#include "machine/machine.h"

#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bench/cases.h"
#include "bench/others.h"

namespace {

using namespace coalesce;
using namespace coalesce::bench;
using nlohmann::json;

std::string read_kernels() {
  const std::string name = std::string(COALESCE_BENCH_DIR) + "/kernels.ptx";
  std::ifstream file(name);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) throw std::runtime_error("cannot read " + name);
  return text;
}

// Of the launches of one case. Where the cores are shared, `cpu` is less than threads x `wall`, and the rate by `wall`
// says less about the machine than about its neighbours.
struct Seconds {
  std::vector<double> wall, cpu;  // cpu: of all threads together
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A case set up on a machine of its own.
class Prepared {
 public:
  Prepared(const Case& c, uint32_t n, unsigned threads, bool check = true)
      : case_(c), machine_(*machine::find_device("h200"), {.threads = threads, .progress = {}, .output = {}}) {
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
    config_.grid = {grid[0], grid[1], 1};
    config_.block = {c.block[0], c.block[1], 1};
    config_.parameters.resize(28);  // three pointers and the size
    const uint64_t pointers[] = {in_a, in_b, out_};
    std::memcpy(config_.parameters.data(), pointers, 24);
    std::memcpy(config_.parameters.data() + 24, &n, 4);
  }

  // One launch; adds what it took to `seconds` unless null. Throws where it faults, leaves a wrong result or does not
  // count what earlier ones did.
  void launch(Seconds* seconds) {
    std::memset(reinterpret_cast<void*>(out_), 0xff, out_words_ * 4);
    const double cpu_start = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    const machine::LaunchReport report = machine_.launch(*program_, case_.kernel, config_);
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double cpu = cpu_seconds() - cpu_start;
    const std::string kernel(case_.kernel);
    if (report.fault != machine::Fault::none) {
      throw std::runtime_error(kernel + ": " +
                               (report.diagnostics.empty() ? "fault" : render(report.diagnostics[0], false)));
    }
    if (!answer_.empty() && std::memcmp(reinterpret_cast<void*>(out_), answer_.data(), answer_.size() * 4) != 0) {
      throw std::runtime_error(kernel + ": wrong result");
    }
    if (counters_ && *counters_ != report.counters)
      throw std::runtime_error(kernel + ": counters differ between launches");
    counters_ = report.counters;
    if (seconds) seconds->wall.push_back(wall), seconds->cpu.push_back(cpu);
  }

  const machine::Counters& counters() const { return *counters_; }  // after a launch
  uint64_t allocated_bytes() { return machine_.memory().used(); }

 private:
  uint64_t place(uint64_t words) {
    const machine::Allocation* allocation = machine_.memory().allocate(words * 4, machine::Origin::device, "benchmark");
    if (!allocation) throw std::runtime_error(fmt::format("no memory for {} MB", words * 4 / 1'000'000));
    return allocation->base;  // a simulated address is a host address
  }

  const Case& case_;
  machine::Machine machine_;
  std::shared_ptr<machine::Program> program_;
  machine::LaunchConfig config_;
  Words answer_;
  uint64_t out_ = 0, out_words_ = 0;
  std::optional<machine::Counters> counters_;
};

// Launches without interruption, once with one thread and once with two in turn, so that both see the same weather.
struct Own {
  Seconds one, two;
  machine::Counters counters;
};
Own measure_own(const Case& c, int repetitions) {
  Own own;
  const bool both = std::thread::hardware_concurrency() >= 2;
  Prepared one(c, c.n, 1);
  std::optional<Prepared> two;
  if (both) two.emplace(c, c.n, 2);
  for (int i = -1; i < repetitions; ++i) {  // the first decodes
    one.launch(i < 0 ? nullptr : &own.one);
    if (both) two->launch(i < 0 ? nullptr : &own.two);
  }
  own.counters = one.counters();
  if (both && two->counters() != own.counters) {
    throw std::runtime_error(std::string(c.kernel) + ": counters with one thread and with two differ");
  }
  return own;
}

// Millions of `instructions` a second: median, least, most.
json rates(uint64_t instructions, const std::vector<double>& seconds) {
  const auto rate = [&](double s) { return static_cast<double>(instructions) / s / 1e6; };
  return {{"median", rate(median(seconds))},
          {"min", rate(*std::max_element(seconds.begin(), seconds.end()))},
          {"max", rate(*std::min_element(seconds.begin(), seconds.end()))},
          {"seconds", seconds}};
}

json own_rates(uint64_t instructions, const Seconds& seconds, unsigned threads) {
  json result = rates(instructions, seconds.wall);
  const double cpu = median(seconds.cpu);
  result["cpu_seconds"] = seconds.cpu;
  result["per_cpu_second"] = static_cast<double>(instructions) / cpu / 1e6;
  result["share_of_cores"] = cpu / (threads * median(seconds.wall));
  return result;
}

std::string cell(const json& row, const char* key) {
  if (!row.contains(key)) return "-";
  const double rate = row[key]["median"];
  return fmt::format("{:.{}f}", rate, rate < 10 ? 2 : rate < 100 ? 1 : 0);
}

void print_row(const json& row) {
  const double target = row["target"];
  fmt::print("{:<16} {:>9} {:>12} {:>7} {:>9} {:>10} {:>6} {:>9} {:>9}\n", row["kernel"].get<std::string>(),
             row["n"].get<uint64_t>(), fmt::format("{:.1f} M", row["instructions"].get<double>() / 1e6),
             target > 0 ? fmt::format("{:.0f}", target) : "-", cell(row, "one_thread"), cell(row, "two_threads"),
             row.contains("ratio") ? fmt::format("{:.2f}", row["ratio"].get<double>()) : "-", cell(row, "pocl"),
             cell(row, "oclgrind"));
  std::fflush(stdout);
}

json measure_case(const Case& c, int repetitions, bool others) {
  const Own own = measure_own(c, repetitions);
  json row = {{"kernel", c.kernel}, {"n", c.n}, {"instructions", own.counters.instructions}, {"target", c.target}};
  row["one_thread"] = own_rates(own.counters.instructions, own.one, 1);
  if (!own.two.wall.empty()) {
    row["two_threads"] = own_rates(own.counters.instructions, own.two, 2);
    row["ratio"] = median(own.one.wall) / median(own.two.wall);
  }
  if (!others) return row;
  const auto note = [&](const char* executor, const Timing& timing, uint64_t instructions) {
    if (timing.seconds.empty()) {
      row[std::string(executor) + "_skipped"] = timing.why;
    } else {
      row[executor] = rates(instructions, timing.seconds);
    }
  };
  note("pocl", time_twin(Executor::pocl, c, c.n, repetitions), own.counters.instructions);
  Prepared small(c, c.small_n, 1);
  small.launch(nullptr);
  const uint64_t instructions = small.counters().instructions;
  note("oclgrind", time_twin(Executor::oclgrind, c, c.small_n, std::min(repetitions, 3)), instructions);
  if (row.contains("oclgrind")) {
    row["oclgrind"]["scaled_from_n"] = c.small_n;
    row["oclgrind"]["scaled_seconds"] = median(row["oclgrind"]["seconds"].get<std::vector<double>>()) *
                                        static_cast<double>(own.counters.instructions) /
                                        static_cast<double>(instructions);
  }
  return row;
}

void print_notes(const json& rows, int repetitions) {
  fmt::print(
      "\nMillions of warp instructions of PTX a second, all counters on; the median of {} launches after a first.\n"
      "target: with one thread; ratio: two threads to one, target 1.9. All results checked.\n"
      "POCL, Oclgrind: OpenCL twins, one thread; our count of the kernel's warp instructions / their time.\n",
      repetitions);
  std::string scaled, skipped;
  for (const json& row : rows) {
    const std::string kernel = row["kernel"];
    if (row.contains("oclgrind"))
      scaled += fmt::format(" {} {},", kernel, row["oclgrind"]["scaled_from_n"].get<uint64_t>());
    for (const auto& [key, name] : {std::pair{"pocl_skipped", "POCL"}, {"oclgrind_skipped", "Oclgrind"}})
      if (row.contains(key)) skipped += fmt::format("{} on {}: {}\n", name, kernel, row[key].get<std::string>());
  }
  if (!scaled.empty()) {
    scaled.back() = '.';
    fmt::print("Oclgrind scaled from n =");
    size_t column = 24;
    for (size_t at = 0; at < scaled.size();) {
      const size_t end = std::min(scaled.find(',', at), scaled.size() - 1) + 1;
      if (column + end - at > 100) fmt::print("\n "), column = 1;
      fmt::print("{}", scaled.substr(at, end - at));
      column += end - at, at = end;
    }
    fmt::print("\n");
  }
  fmt::print("{}", skipped);
  double least = 1;
  for (const json& row : rows) least = std::min(least, row["one_thread"]["share_of_cores"].get<double>());
  if (least >= 0.95) return;
  fmt::print("Disturbed: other programs ran, and one thread had down to {:.0f} % of a core. Per second of CPU time:\n",
             least * 100);
  for (const json& row : rows) {
    const double one = row["one_thread"]["per_cpu_second"];
    fmt::print("  {:<16} {:>6.0f} with one thread", row["kernel"].get<std::string>(), one);
    if (row.contains("two_threads")) {
      const double two = row["two_threads"]["per_cpu_second"];
      fmt::print(", {:.0f} on each of two: {:.2f} times one if both had a core", two, 2 * two / one);
    }
    fmt::print("\n");
  }
}

json measure_start_up() {
  const Timing timing = time_start_up(20);
  if (timing.seconds.empty()) {
    fmt::print("start-up: skipped: {}\n", timing.why);
    return {{"skipped", timing.why}};
  }
  const auto [least, most] = std::minmax_element(timing.seconds.begin(), timing.seconds.end());
  fmt::print(
      "start-up: {:.0f} ms for `coalesce run` of an empty kernel, compiled before ({:.0f} to {:.0f}; target 100)\n",
      median(timing.seconds) * 1e3, *least * 1e3, *most * 1e3);
  return {{"median", median(timing.seconds)}, {"min", *least}, {"max", *most}, {"seconds", timing.seconds}};
}

json measure_memory(const Case& c) {
  const Peak peak = peak_memory(c);
  if (!peak.allocated_bytes) return {{"skipped", "failed"}};
  const double over = static_cast<double>(peak.resident_bytes) / static_cast<double>(peak.allocated_bytes) - 1;
  fmt::print("memory: {} MB at most for {} MB of the kernel's arrays: {:.0f} % over them ({}, n = {}; target 25 %)\n",
             peak.resident_bytes / 1'000'000, peak.allocated_bytes / 1'000'000, over * 100, c.kernel, c.n);
  return {{"kernel", c.kernel}, {"resident_bytes", peak.resident_bytes}, {"allocated_bytes", peak.allocated_bytes}};
}

// The process that peak_memory() starts: a launch with all cores, with nothing beside the machine. The input and the
// output stay zero where the machine gets them: what counts is that the kernel touches them.
int print_peak(const Case& c) {
  uint64_t allocated = 0;
  {
    machine::Machine machine(*machine::find_device("h200"), {});
    const auto program = machine.load(read_kernels(), "bench/kernels.ptx");
    machine::LaunchConfig config;
    const auto grid = c.grid(c.n);
    config.grid = {grid[0], grid[1], 1};
    config.block = {c.block[0], c.block[1], 1};
    config.parameters.resize(28);
    // b is not read by the trees, which this is for: it may be a's place.
    const auto* in = machine.memory().allocate(c.words_in(c.n) * 4, machine::Origin::device, "benchmark");
    const auto* out = machine.memory().allocate(c.words_out(c.n) * 4, machine::Origin::device, "benchmark");
    if (!in || !out) return 1;
    std::memset(reinterpret_cast<void*>(in->base), 1, in->size);
    std::memset(reinterpret_cast<void*>(out->base), 0, out->size);
    const uint64_t pointers[] = {in->base, in->base, out->base};
    std::memcpy(config.parameters.data(), pointers, 24);
    std::memcpy(config.parameters.data() + 24, &c.n, 4);
    if (machine.launch(*program, c.kernel, config).fault != machine::Fault::none) return 1;
    allocated = in->size + out->size;
  }
  fmt::print("{} {}\n", own_peak_bytes(), allocated);
  return 0;
}

struct Arguments {
  std::vector<std::string> kernels;
  std::string json_file, peak;
  int repetitions = 7;
  bool alone = false;
};

int measure(const Arguments& arguments) {
  std::ofstream file;
  if (!arguments.json_file.empty()) {
    file.open(arguments.json_file);
    if (!file) throw std::runtime_error("cannot write " + arguments.json_file);
  }
  json all = {{"schema", "coalesce.bench_machine/1"}, {"repetitions", arguments.repetitions}, {"rows", json::array()}};
  fmt::print("{:<16} {:>9} {:>12} {:>7} {:>9} {:>10} {:>6} {:>9} {:>9}\n", "kernel", "n", "instructions", "target",
             "1 thread", "2 threads", "ratio", "POCL", "Oclgrind");
  for (const Case& c : cases()) {
    const auto& wanted = arguments.kernels;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), c.kernel) == wanted.end()) continue;
    all["rows"].push_back(measure_case(c, arguments.repetitions, !arguments.alone));
    print_row(all["rows"].back());
  }
  print_notes(all["rows"], arguments.repetitions);
  if (arguments.kernels.empty()) {
    all["start_up"] = measure_start_up();
    all["memory"] = measure_memory(*find_case("tree_neighbours"));
  }
  if (file.is_open() && !(file << all.dump(2) << "\n" << std::flush))
    throw std::runtime_error("cannot write " + arguments.json_file);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("How fast the machine is, beside POCL and Oclgrind where they are installed");
  app.add_option("KERNEL", arguments.kernels, "only these kernels")->check([](const std::string& name) {
    return find_case(name) ? std::string() : "no such kernel: " + name;
  });
  app.add_option("--json", arguments.json_file, "also write all figures to this file");
  app.add_option("--repetitions", arguments.repetitions, "launches of which the median is taken (7)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--alone", arguments.alone, "leave POCL and Oclgrind out");
  app.add_option("--peak", arguments.peak, "")->group("")->check([](const std::string& name) {
    return find_case(name) ? std::string() : "no such kernel: " + name;
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return arguments.peak.empty() ? measure(arguments) : print_peak(*find_case(arguments.peak));
  } catch (const machine::Error& e) {
    fmt::print(stderr, "error: {}\n", render(e.diagnostic, false));
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
  }
  return 1;
}
