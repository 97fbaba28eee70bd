// Programs on a real GPU: whether there is one, running a program there with libcoalesce_gpu in front of NVIDIA's
// runtime, and what the GPU can do at best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tool/command/cache.h"
#include "tool/command/execute.h"
#include "tool/command/options.h"
#include "tool/figures/hardware.h"

namespace coalesce::tool {

struct Gpu {
  std::string name;
  unsigned major = 0, minor = 0;
};
// The first GPU of this computer; nothing, and why, where there is none that can be used.
std::optional<Gpu> find_gpu(std::string& why);
// The same, or Error (environment).
Gpu require_gpu();

// The device of that GPU's name, whose limits estimates are to be made for; `otherwise` where none has it.
std::string device_like(const Gpu& gpu, const std::string& otherwise);

// The measurement of a program (gpu/session.h).
struct Measurement {
  int repeat = 0;         // repetitions of each launch for cold and for warm caches
  bool counters = false;  // read the hardware's
  bool plain = false;     // wait for nothing, repeat nothing: copies and the whole are timed
};
// Runs a command on the GPU and reads its record. Throws Error when it cannot be started or did not use the runtime.
Execution execute_on_gpu(Command command, const Measurement& measurement, const Layout& layout);

Limits measure_limits(const Gpu& gpu, const Layout& layout, Cache& cache);

}  // namespace coalesce::tool
