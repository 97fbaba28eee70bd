// Measurements of bench_machine that need a process of their own: the OpenCL twins, start-up, peak memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cases.h"

namespace coalesce::bench {

// Seconds of each repetition; empty: not measured, and `why` says why in a few words.
struct Timing {
  std::vector<double> seconds;
  std::string why;
};

double median(std::vector<double> values);  // of at least one

enum class Executor { pocl, oclgrind };
// One kernel of twins.cl by one thread; the kernel's output is checked.
Timing time_twin(Executor executor, const Case& c, uint32_t n, int repetitions);

// `coalesce run` on bench/empty.cu, from start to exit. The compiler runs before, untimed.
Timing time_start_up(int repetitions);

// Seconds of a kernel's first launch with all cores, in a process of its own, interpreted and with `--engine auto`:
// with an empty cache folder, and with one that has the kernel's native code. `interpreter`, `cold` and `again` have
// been measured in turns: cold[i] beside interpreter[i] is what `auto` adds, again[i] beside it (interpreted, too) what
// the computer does.
struct FirstLaunch {
  std::vector<double> interpreter, cold, again, warm;
};
FirstLaunch time_first_launch(const Case& c, int rounds);

// Peak resident memory of this program while it runs a case in a new process, and what the case allocates.
struct Peak {
  uint64_t resident_bytes = 0, allocated_bytes = 0;  // 0: not measured
};
Peak peak_memory(const Case& c);
// The process it starts, as `bench_machine --peak KERNEL`, prints these two numbers.
uint64_t own_peak_bytes();

}  // namespace coalesce::bench
