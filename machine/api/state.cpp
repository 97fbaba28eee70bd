// The parts of a launch: find the code, configure, run, report.
#include "machine/api/state.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <thread>

#include "machine/check/launch_check.h"
#include "machine/execute/native.h"
#include "machine/memory/host_memory.h"
#include "machine/tally/count.h"

namespace coalesce::machine {

namespace {

// Warp instructions a launch must be allowed for native code to run it: some seconds of the interpreter.
constexpr uint64_t kNativeBudget = 1'000'000'000;

constexpr uint64_t kDeviceHeapBytes = 8u << 20;  // CUDA's default cudaLimitMallocHeapSize
constexpr uint64_t kGridWorkspaceBytes = 256;    // what cooperative groups keep per grid: a size, a barrier
constexpr AccessId kMostAccesses = 1u << 31;     // of checked launches, before their ids begin anew

}  // namespace

Machine::State::State(const Device& d, Options o)
    : device(d),
      options(std::move(o)),
      memory(d.memory_bytes),
      heap(memory, kDeviceHeapBytes),
      runtime(memory, device) {
  if (options.check) {
    options.threads = 1;
    memory.keep_apart();
    heap.keep_apart();
    heap.given = [this](uint64_t address, uint64_t bytes) {
      if (const Allocation* a = memory.find(address)) shadow_of(*a).written.reset(address - a->base, bytes);
    };
  }
  if (options.threads == 0) options.threads = std::max(1u, std::thread::hardware_concurrency());
}

void Machine::State::begin_runtime(const LoadedProgram& program, const LaunchConfig& config) {
  const auto find = [&program](uint64_t address, DeviceRuntime::Kernel& kernel) {
    const KernelInfo* info = program.kernel(program.kernel_at(address));
    if (!info) return false;
    kernel = {info->name,      info->parameter_bytes, info->max_threads, info->static_shared_bytes,
              info->registers, info->local_bytes};
    return true;
  };
  runtime.begin(find, config.depth, config.graph);
}

uint64_t Machine::State::workspace() {
  if (!grid_workspace) grid_workspace = memory.allocate(kGridWorkspaceBytes, Origin::heap, "grid synchronisation");
  if (!grid_workspace) return 0;
  std::memset(reinterpret_cast<void*>(grid_workspace->base), 0, kGridWorkspaceBytes);
  return grid_workspace->base;
}

void Machine::State::print(const std::map<uint64_t, std::string>& output, uint64_t last_block) const {
  for (const auto& [block, text] : output) {
    if (block > last_block) break;
    if (options.output)
      options.output(text);
    else
      std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

std::unique_ptr<LaunchCheck> Machine::State::begin_check(Launch& launch) {
  if (next_access > kMostAccesses) {
    for (const auto& a : memory.all()) {
      if (!a->shadow) continue;
      auto anew = std::make_shared<Shadow>(a->size, a->shadow->all_written);
      anew->written = std::move(a->shadow->written);
      a->shadow = std::move(anew);
    }
    next_access = 1;
  }
  return std::make_unique<LaunchCheck>(launch, next_access, read_host_memory().spendable() / 2,
                                       std::move(spare_records));
}

// The kernel's code for a launch of that shape; null: there is none, and the report says why.
const Code* Machine::State::find_code(LoadedProgram& program, std::string_view kernel, const LaunchConfig& config,
                                      LaunchReport& report) {
  const auto refuse = [&](Diagnostic d, Fault fault) {
    d.fault = fault;
    if (d.kernel.empty()) d.kernel = kernel;
    if (d.ptx_text.empty()) d.ptx_text = program.line_text(d.ptx_line);
    report.fault = fault;
    report.diagnostics = {std::move(d)};
    return nullptr;
  };
  const auto say = [&](const char* message) {
    Diagnostic d;
    d.message = message;
    return refuse(std::move(d), Fault::invalid_pc);
  };
  LaunchShape shape;
  shape.block = config.block;
  shape.cluster = config.cluster;
  shape.stack_bytes = stack_bytes;
  for (std::size_t k = 0; k < 3; ++k) shape.grid_below[k] = std::bit_ceil(std::max<uint64_t>(1, config.grid[k]));
  try {
    if (!program.kernel(kernel)) return say("no such kernel");
    const uint64_t threads = uint64_t{config.block[0]} * config.block[1] * config.block[2];
    if (threads == 0 || threads > 1024 || config.grid[0] == 0 || config.grid[1] == 0 || config.grid[2] == 0)
      return say("a launch needs 1 to 1024 threads a block and at least one block");
    for (std::size_t k = 0; k < 3; ++k)
      if (config.cluster[k] == 0 || config.grid[k] % config.cluster[k] != 0)
        return say("a grid is made of whole clusters");
    return &program.code(kernel, shape, options.model, options.check || options.time);
  } catch (const Error& e) {
    return refuse(e.diagnostic, Fault::illegal_instruction);
  }
}

// Everything of the launch but its parameters and who is told of it.
void Machine::State::configure(Launch& launch, const Code& code, const LaunchConfig& config) {
  launch.code = &code;
  launch.program = code.program.get();
  launch.memory = &memory;
  launch.device = &device;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.blocks = uint64_t{config.grid[0]} * config.grid[1] * config.grid[2];
  launch.threads_per_block = config.block[0] * config.block[1] * config.block[2];
  launch.warps_per_block = (launch.threads_per_block + kLanes - 1) / kLanes;
  launch.dynamic_shared_bytes = config.dynamic_shared_bytes;
  launch.shared_bytes = launch.program->static_shared_bytes + config.dynamic_shared_bytes;
  launch.cooperative = config.cooperative;
  launch.cluster = config.cluster;
  launch.graph = config.graph.exec;
  if (config.cooperative) launch.grid_workspace = workspace();
  launch.max_instructions = options.max_instructions;
  launch.interrupted = &interrupted;
  launch.heap = &heap;
  launch.runtime = &runtime;
  // A launch that is to stop after few instructions stops where the interpreter would, with its counters.
  const bool short_leash = launch.max_instructions < kNativeBudget;
  launch.native = launch.together() || short_leash || options.check ? nullptr : options.native.get();
  launch.textures = &textures;
  launch.polling_limit = options.polling;
  for (const Instruction& i : launch.program->code)
    if (i.kind == Kind::call && (static_cast<Callee>(i.mode) == Callee::malloc || i.text == "__cudaCDP2Malloc"))
      heap.prepare();
}

void Machine::State::run(Launch& launch, std::string_view kernel, Tally& total) {
  fill_launch_area(launch, *launch.code, launch.area);
  if (!pool) pool = std::make_unique<Pool>(options.threads);
  // Cooperative launches and clusters run on one thread, all blocks in turns: what they wait for happens in the same
  // order every time.
  const unsigned threads =
      launch.together() ? 1u : static_cast<unsigned>(std::min<uint64_t>(pool->size(), launch.blocks));
  memory.begin_touch();
  std::function<void(uint64_t)> progress;
  if (options.progress) progress = [&](uint64_t done) { options.progress(kernel, done, launch.blocks); };
  run_blocks(launch, *pool, threads, total, progress);
  if (launch.native) launch.native->ended(launch);
}

// Fills in what the launch has counted, reported and printed.
void Machine::State::fill_report(Launch& launch, Tally& total, const LoadedProgram& program, LaunchReport& report) {
  report.counters = count(*launch.program, total);
  report.counters.compulsory_bytes = 32 * memory.touched_sectors();
  report.lines = count_lines(*launch.program, total);
  report.tally = std::move(total.words);
  // The lowest faulting block's fault, whichever thread came first; one warning for each place. What blocks after it
  // have said depends on the threads.
  for (auto& [block, d] : launch.diagnostics) {
    d.ptx_text = program.line_text(d.ptx_line);
    if (d.severity == Severity::error) {
      report.fault = d.fault;
      report.diagnostics.insert(report.diagnostics.begin(), std::move(d));
      break;
    }
    if (std::none_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [&](const Diagnostic& o) { return o.ptx_line == d.ptx_line && o.severity == d.severity; }))
      report.diagnostics.push_back(std::move(d));
  }
  print(launch.output, launch.fault_block.load());
}

}  // namespace coalesce::machine
