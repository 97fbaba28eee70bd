// The machine: PTX in; memory and counters out. The one header that the runtime (cudart/) and tests include.
//
//   Machine machine(find_device("h200"), {});
//   auto program = machine.load(ptx_text, "embedded PTX of ./a.out");
//   LaunchConfig config = {.grid = {64, 1, 1}, .block = {256, 1, 1}, .parameters = bytes};
//   LaunchReport report = machine.launch(*program, "kernel", config);
//
// Threads: one launch at a time (the machine uses the cores itself); the caller serialises load/launch/memory calls.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/api/machine_code.h"
#include "machine/device.h"
#include "machine/diagnostic.h"
#include "machine/execute/device_work.h"
#include "machine/memory/memory.h"
#include "machine/memory/texture.h"
#include "machine/model.h"
#include "machine/observe/counters.h"
#include "machine/tally/line_counters.h"

namespace coalesce::machine {

class NativeProvider;
struct AccessSite;
struct TimeEstimate;

struct Options {
  unsigned threads = 0;                              // host threads; 0: all cores
  uint64_t max_instructions = 1'000'000'000'000ull;  // warp instructions per launch before it is stopped
  // Called about once a second during long launches with blocks done and blocks in all; may be empty.
  std::function<void(std::string_view kernel, uint64_t done, uint64_t total)> progress;
  // Receives what kernels print (printf), in block order, while the launch ends; empty: stdout.
  std::function<void(std::string_view text)> output;
  // Receives a warning while a launch runs that has only polled for so long; may be empty. Called from any thread, once
  // a launch.
  std::function<void(const Diagnostic&)> notice = {};
  std::chrono::milliseconds polling{5000};
  // Told when a launch has begun to do nothing but that: after a 25th of the time.
  std::function<void()> waits = {};
  // Gives kernels as the CPU's own code (execute/native.h); null: everything is interpreted.
  std::shared_ptr<NativeProvider> native = nullptr;
  Model model = Model::ptx;  // whose memory requests are counted
  // Looks for races and reads of what nothing has written, and reports them with the launch's diagnostics. Everything
  // is interpreted, by one thread.
  bool check = false;
  // Estimates the time of every launch on the device (LaunchReport::time).
  bool time = false;
  // With `check`: orders of blocks and warps in which each launch is run. 0: two for a short launch whose kernel reads
  // what other threads may be about to write, else one.
  uint32_t schedules = 0;
  // Kernels are run by the plain executor (plain/plain.h), by one thread. It counts by Model::ptx only.
  bool plain = false;
  // Every launch is run by the plain executor first, on memory that is then put back; what differs is a warning of the
  // launch. Slow.
  bool shadow = false;
};

struct KernelInfo {
  std::string name;  // mangled
  struct Parameter {
    uint32_t offset, size;
  };
  std::vector<Parameter> parameters;  // in order
  uint32_t parameter_bytes = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;           // per thread
  uint32_t registers = 0;             // 32-bit registers a thread needs: highest liveness, an estimate (ptxas decides)
  uint32_t max_threads = 1024;        // from .maxntid / .reqntid and the device
  uint32_t ptx_version = 0;           // 90 for sm_90
  bool launches_graphs = false;       // calls cudaGraphLaunch, which is for kernels of graphs only
  bool polls = false;                 // has loads of what others may write meanwhile (volatile, acquire, ...)
  std::array<uint32_t, 3> cluster{};  // blocks of its clusters (__cluster_dims__); 0: as the launch says
};

struct VariableInfo {
  std::string name;
  uint64_t address = 0;  // in global memory (constants live there too)
  uint64_t size = 0;
  bool constant = false, managed = false;
};

// A loaded module: its kernels decoded on first use, its variables allocated in the machine's memory.
class Program {
 public:
  virtual ~Program() = default;
  virtual const KernelInfo* kernel(std::string_view name) const = 0;      // null: no such kernel
  virtual const VariableInfo* variable(std::string_view name) const = 0;  // null: no such variable
  virtual std::vector<std::string> kernels() const = 0;
  virtual std::vector<std::string> variables() const = 0;
  // Estimates of time use it. Before the first launch.
  virtual void know_machine_code(MachineCodes of_kernels) = 0;
};

using Places = std::map<std::string, void*>;  // by a variable's name

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;         // all blocks live at once (grid synchronisation)
  std::vector<uint8_t> parameters;  // laid out as KernelInfo::parameters says
  uint32_t depth = 0;               // of kernels that kernels launch (DeviceWork)
  uint64_t earlier = 0;             // warp instructions of the kernels that led to this one: one budget for all of them
  std::array<uint32_t, 3> cluster{1, 1, 1};  // blocks; the grid is made of whole clusters
  GraphAround graph = {};
};

struct LaunchReport {
  Fault fault = Fault::none;            // none: ran to its end
  Counters counters;                    // of what ran
  std::vector<LineCounters> lines;      // only lines with a non-zero memory or branch counter, in source order
  std::vector<Diagnostic> diagnostics;  // the fault first, then warnings (divergent barrier ...)
  std::vector<uint64_t> tally;          // what was counted while running, before anything static (tally/tally.h)
  uint64_t spins = 0;                   // of the plain executor: not 0 where counters depend on who polls when
  std::vector<DeviceWork> work;         // what the kernel gave the device: the caller runs it, in order
  double seconds = 0;                   // host time the launch took
  // With Options::check: what each instruction has accessed in global memory (check/footprint.h).
  std::shared_ptr<std::vector<AccessSite>> accesses;
  // With Options::time.
  std::shared_ptr<const TimeEstimate> time;
};

class LoadedProgram;

class Machine {
 public:
  Machine(const Device& device, Options options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const Device& device() const;
  Memory& memory();
  Textures& textures();

  // `name` stands for the text in diagnostics. Throws Error when the text is not PTX or a variable cannot be allocated.
  std::shared_ptr<Program> load(std::string ptx, const std::string& name);
  // The same for the modules of separately compiled files, linked to one program (ptx/link.h). Variables named in
  // `places` lie there, in memory of the host that outlives the program.
  std::shared_ptr<Program> load(std::vector<std::string> ptx, const std::string& name, const Places& places = {},
                                uint32_t most_registers = 0);

  // Bytes that malloc in kernels has to give, 8 MiB at first. False: a kernel that uses malloc has run already.
  bool set_heap_bytes(uint64_t bytes);
  // From the next launch on kernels are run by the plain executor, or not (Options::plain).
  void use_plain(bool plain);
  // Local memory for a thread's stack from the next launch on (recursion, alloca); never less than 16 KiB.
  void set_stack_bytes(uint32_t bytes);

  // For Options::check: the host has written there, or copied from one place of the device to another.
  void wrote(uint64_t address, uint64_t bytes);
  void copied(uint64_t to, uint64_t from, uint64_t bytes);
  // With Options::check: how many of these bytes nothing has written; `first`: the first of them. 0 without.
  uint64_t unwritten(uint64_t address, uint64_t bytes, uint64_t& first);

  // With Options::check: what kernels have taken from malloc and not freed, one for each place. Nothing if a launch has
  // ended early.
  std::vector<Diagnostic> heap_leaks() const;

  // Runs a kernel to its end. The caller has checked the configuration against the device and KernelInfo.
  // Never throws for what the kernel does: faults are in the report, with the counters of what ran.
  LaunchReport launch(Program& program, std::string_view kernel, const LaunchConfig& config);

  // Asks a running launch to stop soon (async-signal-safe, for signal handlers). Its report then has Fault::budget, and
  // interrupted() is true.
  void interrupt();
  bool interrupted() const;

 private:
  LaunchReport launch_plain(Program& program, std::string_view kernel, const LaunchConfig& config);
  LaunchReport launch_shadowed(Program& program, std::string_view kernel, const LaunchConfig& config);
  std::function<bool(const std::string& text, bool plain)> rerun(const LoadedProgram& loaded, std::string_view kernel,
                                                                 const LaunchConfig& config);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coalesce::machine
