// Runs a kernel of a few lines and gives its estimate.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "machine/api/machine.h"
#include "machine/time/estimate.h"
#include "machine/time/limits.h"

namespace coalesce::machine {

inline const std::string kFirst = ".version 7.8\n.target sm_90\n.address_size 64\n";
inline const std::string kHead = ".visible .entry kernel(.param .u64 p) {\n";

struct Ran {
  LaunchReport report;
  TimeEstimate time;
};

// Runs the body with `bytes` of zeros at its parameter.
inline Ran run(const std::string& body, uint32_t blocks, uint32_t threads, uint64_t bytes, unsigned host_threads = 2,
               bool time = true, const char* device = "h100", Origin origin = Origin::heap,
               const std::string& variables = "") {
  Options options;
  options.threads = host_threads;
  options.time = time;
  Machine machine(*find_device(device), options);
  const Allocation* data = machine.memory().allocate(bytes, origin, "data");
  std::memset(reinterpret_cast<void*>(data->base), 0, bytes);
  const auto program = machine.load(kFirst + variables + kHead + body + "ret;\n}\n", "test");
  LaunchConfig config;
  config.grid = {blocks, 1, 1};
  config.block = {threads, 1, 1};
  config.parameters.resize(8);
  std::memcpy(config.parameters.data(), &data->base, 8);
  Ran r{machine.launch(*program, "kernel", config), {}};
  EXPECT_EQ(r.report.fault, Fault::none);
  if (r.report.time) r.time = *r.report.time;
  return r;
}

inline const Limits& limits() { return *find_limits("h100"); }
inline double us_of(double cycles) { return cycles / limits().clock_ghz.value / 1e3; }

inline std::string chain(const std::string& step, uint32_t times) {
  std::string text;
  for (uint32_t k = 0; k < times; ++k) text += step;
  return text;
}

}  // namespace coalesce::machine
