// Measures the machine: warp instructions a second on the kernels of kernels.cu, with all counters, interpreted and
// native, with one thread and with two, beside POCL and Oclgrind on OpenCL twins. Every result is checked.
#include "machine/api/machine.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/cases.h"
#include "bench/others.h"
#include "bench/own.h"
#include "bench/tables.h"
#include "native/tier/library.h"

namespace {

using namespace coalesce;
using namespace coalesce::bench;
using nlohmann::json;

json measure_case(const Case& c, int repetitions, bool others, bool first_launches) {
  json row = measure_ways(c, repetitions);
  const uint64_t all = row["instructions"];
  if (!native::find_library().empty() && c.times == 1 && first_launches) {
    const FirstLaunch first = time_first_launch(c, std::min(3 * repetitions, 15));
    row["first_launch"] = {
        {"interpreter", first.interpreter}, {"cold", first.cold}, {"again", first.again}, {"warm", first.warm}};
  }
  if (!others) return row;
  const auto note = [&](const char* executor, const Timing& timing, uint64_t instructions) {
    if (timing.seconds.empty()) {
      row[std::string(executor) + "_skipped"] = timing.why;
    } else {
      row[executor] = rates(instructions, timing.seconds);
    }
  };
  note("pocl", time_twin(Executor::pocl, c, c.n, repetitions), all);
  Prepared small(c, c.small_n, ways()[0]);
  small.launch(nullptr);
  const uint64_t instructions = small.counters().instructions;
  note("oclgrind", time_twin(Executor::oclgrind, c, c.small_n, std::min(repetitions, 3)), instructions);
  if (row.contains("oclgrind")) row["oclgrind"]["scaled_from_n"] = c.small_n;
  return row;
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
             peak.resident_bytes / 1'000'000, peak.allocated_bytes / 1'000'000, over * 100, c.name, c.n);
  return {{"kernel", c.name}, {"resident_bytes", peak.resident_bytes}, {"allocated_bytes", peak.allocated_bytes}};
}

// A launch whose parameters (three pointers and n) are still to be filled in.
machine::LaunchConfig config_of(const Case& c) {
  machine::LaunchConfig config;
  const auto grid = c.grid(c.n);
  config.grid = {grid[0], grid[1], grid[2]};
  config.block = {c.block[0], c.block[1], 1};
  config.parameters.resize(28);
  return config;
}

// The process that peak_memory() starts: a launch with all cores, with nothing beside the machine. The input and the
// output stay zero where the machine gets them: what counts is that the kernel touches them.
int print_peak(const Case& c) {
  uint64_t allocated = 0;
  {
    machine::Machine machine(*machine::find_device("h200"), {});
    const auto program = machine.load(read_kernels(), "bench/kernels.ptx");
    machine::LaunchConfig config = config_of(c);
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

// The process that time_first_launch() starts: a machine as `coalesce run` makes it, with all cores.
int print_first(const Case& c, const std::string& engine_name) {
  machine::Engine engine = machine::Engine::automatic;
  machine::find_engine(engine_name, engine);
  machine::Machine machine(*machine::find_device("h200"),
                           {.progress = {}, .output = {}, .native = native::make_provider(engine, {})});
  const auto program = machine.load(read_kernels(), "bench/kernels.ptx");
  machine::LaunchConfig config = config_of(c);
  uint64_t pointers[3];
  for (uint64_t& pointer : pointers) {
    const auto words = &pointer == &pointers[2] ? c.words_out(c.n) : c.words_in(c.n);
    const auto* place = machine.memory().allocate(words * 4, machine::Origin::device, "benchmark");
    if (!place) return 1;
    std::memset(reinterpret_cast<void*>(place->base), 1, place->size);
    pointer = place->base;
  }
  std::memcpy(config.parameters.data(), pointers, 24);
  std::memcpy(config.parameters.data() + 24, &c.n, 4);
  const machine::LaunchReport report = machine.launch(*program, c.kernel, config);
  if (report.fault != machine::Fault::none) return 1;
  fmt::print("{}\n", report.seconds);
  std::fflush(stdout);
  return 0;
}

struct Arguments {
  std::vector<std::string> kernels;
  std::string json_file, peak, first, engine;
  int repetitions = 5;
  bool alone = false, no_first = false;
};

int measure(const Arguments& arguments) {
  std::ofstream file;
  if (!arguments.json_file.empty()) {
    file.open(arguments.json_file);
    if (!file) throw std::runtime_error("cannot write " + arguments.json_file);
  }
  json all = {{"schema", "coalesce.bench_machine/2"}, {"repetitions", arguments.repetitions}, {"rows", json::array()}};
  print_head();
  for (const Case& c : cases()) {
    const auto& wanted = arguments.kernels;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), c.name) == wanted.end()) continue;
    all["rows"].push_back(measure_case(c, arguments.repetitions, !arguments.alone, !arguments.no_first));
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

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("How fast the machine is, beside POCL and Oclgrind where they are installed");
  app.add_option("KERNEL", arguments.kernels, "only these kernels")->check([](const std::string& name) {
    return find_case(name) ? std::string() : "no such kernel: " + name;
  });
  app.add_option("--json", arguments.json_file, "also write all figures to this file");
  app.add_option("--repetitions", arguments.repetitions, "launches of which the median is taken (5)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--alone", arguments.alone, "leave POCL and Oclgrind out");
  app.add_flag("--no-first-launches", arguments.no_first,
               "leave out what takes longest: a process for each first launch");
  app.add_option("--peak", arguments.peak, "")->group("")->check([](const std::string& name) {
    return find_case(name) ? std::string() : "no such kernel: " + name;
  });
  app.add_option("--first", arguments.first, "")->group("")->check([](const std::string& name) {
    return find_case(name) ? std::string() : "no such kernel: " + name;
  });
  app.add_option("--engine", arguments.engine, "")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (!arguments.first.empty()) return print_first(*find_case(arguments.first), arguments.engine);
  return arguments.peak.empty() ? measure(arguments) : print_peak(*find_case(arguments.peak));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const machine::Error& e) {
    fmt::print(stderr, "error: {}\n", render(e.diagnostic, false));
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
  }
  return 1;
}
