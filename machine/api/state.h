// The state of a machine, and the parts of a launch. Private to machine.cpp, state.cpp and launch_plain.cpp.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "machine/api/loaded_program.h"
#include "machine/api/machine.h"
#include "machine/api/shadow.h"
#include "machine/check/access_records.h"
#include "machine/execute/calls.h"
#include "machine/execute/device_runtime.h"
#include "machine/execute/launch.h"
#include "machine/execute/pool.h"
#include "machine/plain/plain.h"
#include "machine/time/estimator.h"

namespace coalesce::machine {

class LaunchCheck;

struct Machine::State {
  State(const Device& d, Options o);

  Device device;
  Options options;
  Memory memory;
  DeviceHeap heap;
  DeviceRuntime runtime;
  Textures textures;
  uint32_t stack_bytes = kLeastStackBytes;
  const Allocation* grid_workspace = nullptr;  // made by the first cooperative launch
  std::unique_ptr<Pool> pool;                  // made by the first launch
  std::atomic<bool> interrupted{false};
  AccessId next_access = 1;                                // of checked launches
  std::vector<AccessRecord> spare_records;                 // memory of the last one's
  bool faulted = false;                                    // some launch has ended early
  std::map<uint64_t, KernelFacts> kernel_facts;            // of estimates, by the code's number
  TraceRoom spare_trace_room;                              // the last trace's
  uint64_t explored_bytes = 0, explored_instructions = 0;  // by second orders that nobody has asked for

  // The parts of a launch, in order.
  const Code* find_code(LoadedProgram& program, std::string_view kernel, const LaunchConfig& config,
                        LaunchReport& report);
  void configure(Launch& launch, const Code& code, const LaunchConfig& config);
  void run(Launch& launch, std::string_view kernel, Tally& total);
  // With Options::check: the memory that a launch may write, with what nothing has written, and malloc's heap.
  struct Moment {
    Moment(const State& s, const LaunchCheck& check);
    void put_back(const State& s) const;
    plain::Snapshot contents;
    DeviceHeap heap;
    std::vector<std::pair<const Allocation*, Written>> written;
    std::set<const Allocation*> left_out;
  };
  bool explores(const Launch& launch);
  // Runs the launch in further orders of its blocks and warps, each from `before`, and adds to the report what only
  // those find. Memory stays as it is now.
  void explore(const Moment& before, const Launch& usual, std::string_view kernel, const LaunchConfig& config,
               const LoadedProgram& program, LaunchReport& report);
  void fill_report(Launch& launch, Tally& total, const LoadedProgram& program, LaunchReport& report);

  // Whether Options::check looks at the launch.

  // Before a launch that may give the device work.
  void begin_runtime(const LoadedProgram& program, const LaunchConfig& config);

  // The same launch for the plain executor. Throws Error where it is none.
  plain::Launch plain_launch(const LoadedProgram& loaded, std::string_view kernel, const LaunchConfig& config);

  // For a cooperative launch: the address of its workspace, zeroed; 0: no memory.
  uint64_t workspace();
  // Prints what kernels have printed, in block order.
  void print(const std::map<uint64_t, std::string>& output, uint64_t last_block = ~uint64_t{0}) const;
  // The observer of a launch to come. Access ids of all launches are distinct, until they run out and begin anew.
  std::unique_ptr<LaunchCheck> begin_check(Launch& launch);
  // The trace of a launch to come. Null: there are no limits of the device.
  std::unique_ptr<TimeTrace> begin_trace(const Launch& launch);
  static std::shared_ptr<const TimeEstimate> no_estimate(std::string why);
  std::shared_ptr<const TimeEstimate> estimate(const Launch& launch, const TimeTrace* trace,
                                               const LaunchReport& report);
};

}  // namespace coalesce::machine
