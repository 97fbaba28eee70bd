// bench_machine's own measurements: a case on the machine, by each way of executing it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "machine/api/machine.h"
#include "native/tier/engine.h"

namespace coalesce::bench {

// A way to execute kernels. `cpu`: what native code is made for, by LLVM's name; empty: the CPU at hand.
struct Way {
  const char* key;
  machine::Engine engine;
  unsigned threads;
  const char* cpu;
};
// Interpreted and native, with one thread and with two; native with narrower vectors.
const std::vector<Way>& ways();

// Times of the launches of one case. If other programs use the cores, `cpu` is less than threads x `wall`, and rates by
// `wall` describe the neighbours too.
struct Seconds {
  std::vector<double> wall, cpu;  // cpu: of all threads together
};

// A case set up on a machine of its own.
class Prepared {
 public:
  Prepared(const Case& c, uint32_t n, const Way& way, bool check = true);

  // One launch; adds what it took to `seconds` unless null. Throws where it faults, leaves a wrong result or does not
  // count what earlier ones did.
  void launch(Seconds* seconds);
  // Launches in a row, as a program repeats a kernel. A short launch is slower after other work or after idling (the
  // core's clock settles), so a burst is one uncounted launch and five counted ones. A burst of a long launch is one
  // launch.
  void burst(Seconds* seconds);

  // The counters of the launches so far; throws where there was none.
  const machine::Counters& counters() const {
    if (!counters_) throw std::logic_error("no launch has been counted");
    return *counters_;
  }
  // Seconds spent compiling native code.
  double compile_seconds() const { return engine_ ? engine_->statistics().seconds : 0; }

 private:
  uint64_t place(uint64_t words);

  const Case& case_;
  std::shared_ptr<native::Engine> engine_;
  machine::Machine machine_;
  std::shared_ptr<machine::Program> program_;
  machine::LaunchConfig config_;
  Words answer_;
  uint64_t out_ = 0, out_words_ = 0;
  std::optional<machine::Counters> counters_;
};

// Bursts of launches, by each way in turn, so that a change of the CPU's clock meets all. One row: the kernel, what it
// executes, and under each way's key millions of warp instructions a second.
nlohmann::json measure_ways(const Case& c, int repetitions);

// Millions of `instructions` a second: median, least, most.
nlohmann::json rates(uint64_t instructions, const std::vector<double>& seconds);

// The text of kernels.ptx.
std::string read_kernels();

}  // namespace coalesce::bench
