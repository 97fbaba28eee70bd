// Loading modules and launching kernels: what machine.h promises, put together from the rooms below it.
#include "machine/machine.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "machine/check/check.h"
#include "machine/execute/calls.h"
#include "machine/execute/launch.h"
#include "machine/execute/native.h"
#include "machine/execute/pool.h"
#include "machine/memory/host_memory.h"
#include "machine/plain/shadow.h"
#include "machine/program/copies.h"
#include "machine/program/merge.h"
#include "machine/ptx/device_runtime.h"
#include "machine/ptx/link.h"
#include "machine/ptx/parser.h"
#include "machine/tally/count.h"

namespace coalesce::machine {

namespace {

// Warp instructions a launch must be allowed for native code to run it: some seconds of the interpreter.
constexpr uint64_t kNativeBudget = 1'000'000'000;

constexpr uint64_t kDeviceHeapBytes = 8u << 20;  // CUDA's default cudaLimitMallocHeapSize
constexpr uint64_t kGridWorkspaceBytes = 256;    // what cooperative groups keep per grid: a size, a barrier
constexpr AccessId kMostAccesses = 1u << 31;     // of checked launches, before their ids begin anew
constexpr std::size_t kMaxDecodedShapes = 64;    // per kernel; programs that launch more shapes decode again

class LoadedProgram final : public Program, public SymbolTable {
 public:
  LoadedProgram(Memory& memory, const Device& device, ptx::Module module, const Places& places)
      : memory_(memory), device_(device), module_(std::move(module)) {
    for (const ptx::Variable& v : module_.variables) place(v, places);
    for (const ptx::Variable& v : module_.variables) initialise(v);
    std::size_t at = 0;
    for (std::size_t k = 0; k < module_.text.size(); ++k)
      if (module_.text[k] == '\n') lines_.push_back(at), at = k + 1;
    lines_.push_back(at);
  }

  ~LoadedProgram() override {
    for (const auto& [name, v] : variables_) memory_.release(v.address);
  }

  // --- Program
  const KernelInfo* kernel(std::string_view name) const override {
    const ptx::Function* f = find(name);
    if (!f) return nullptr;
    const std::string key(name);
    if (const auto known = infos_.find(key); known != infos_.end()) return &known->second;
    KernelInfo info;
    info.name = key;
    const std::vector<uint32_t> offsets = parameter_offsets(*f, &info.parameter_bytes);
    for (std::size_t k = 0; k < offsets.size(); ++k)
      info.parameters.push_back({offsets[k], static_cast<uint32_t>(f->params[k].size)});
    const uint32_t* limit = f->required_threads[0] ? f->required_threads : f->max_threads;
    info.max_threads = device_.threads_per_block;
    if (limit[0])
      info.max_threads = std::min(info.max_threads, limit[0] * std::max(1u, limit[1]) * std::max(1u, limit[2]));
    if (module_.target.starts_with("sm_") || module_.target.starts_with("compute_"))
      info.ptx_version =
          static_cast<uint32_t>(std::strtoul(module_.target.c_str() + module_.target.find('_') + 1, nullptr, 10));
    try {
      const std::unique_ptr<Decoded> p = decode(module_, *f, *this, LaunchShape{});
      info.static_shared_bytes = p->static_shared_bytes;
      info.local_bytes = p->local_bytes;
      info.registers = std::clamp(p->live_registers + 8, 16u, 255u);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): reported when it is launched
    }
    return &infos_.emplace(key, std::move(info)).first->second;
  }
  const VariableInfo* variable(std::string_view name) const override {
    const auto v = variables_.find(std::string(name));
    return v == variables_.end() ? nullptr : &v->second;
  }
  std::vector<std::string> kernels() const override {
    std::vector<std::string> names;
    for (const ptx::Function& f : module_.functions)
      if (f.is_entry && !f.is_declaration) names.push_back(f.name);
    return names;
  }
  std::vector<std::string> variables() const override {
    std::vector<std::string> names;
    for (const auto& [name, v] : variables_) names.push_back(name);
    return names;
  }

  // --- SymbolTable
  using SymbolTable::Symbol;
  Symbol symbol(const std::string& name) const override {
    const auto v = variables_.find(name);
    return v == variables_.end() ? Symbol{} : Symbol{true, v->second.constant, v->second.address};
  }
  uint64_t function_address(const std::string& name) const override {
    for (std::size_t k = 0; k < module_.functions.size(); ++k)
      if (module_.functions[k].name == name && !module_.functions[k].is_declaration)
        return kFunctionWindow + 16 * (k + 1);
    return 0;
  }

  const Code& code(std::string_view name, const LaunchShape& shape, Model model, bool checked) {
    auto& shapes = codes_[std::string(name)];
    const auto known = shapes.find(shape);
    if (known != shapes.end()) return *known->second;
    if (shapes.size() >= kMaxDecodedShapes) shapes.clear();
    std::unique_ptr<Decoded> decoded = decode(module_, *find(name), *this, shape);
    count_copies(*decoded);
    if (model == Model::ptxas) merge_as_ptxas(*decoded);
    return *(shapes[shape] = lower(std::move(decoded), checked));
  }

  const ptx::Module& module() const { return module_; }
  const ptx::Function* find(std::string_view name) const {
    for (const ptx::Function& f : module_.functions)
      if (f.is_entry && !f.is_declaration && f.name == name) return &f;
    return nullptr;
  }

  std::string line_text(uint32_t line) const {
    if (line == 0 || line > lines_.size()) return {};
    const std::size_t from = lines_[line - 1], to = line < lines_.size() ? lines_[line] - 1 : module_.text.size();
    std::string text = module_.text.substr(from, to - from);
    text.erase(0, text.find_first_not_of(" \t"));
    return text;
  }

 private:
  void place(const ptx::Variable& v, const Places& places) {
    if ((v.space != ptx::Space::global && v.space != ptx::Space::constant) || v.is_extern ||
        variables_.contains(v.name))
      return;
    const bool constant = v.space == ptx::Space::constant;
    const auto given = places.find(v.name);
    const bool placed = given != places.end(), managed = v.managed || placed;
    const Origin origin = constant ? Origin::constant : managed ? Origin::managed : Origin::variable;
    const uint64_t bytes = std::max<uint64_t>(1, v.size);
    const Allocation* a = placed ? memory_.adopt(given->second, bytes, origin, "variable " + v.name)
                                 : memory_.allocate(bytes, origin, "variable " + v.name);
    if (a && placed) std::memset(given->second, 0, v.size);
    if (!a) {
      Diagnostic d;
      d.message = "no memory for variable '" + v.name + "' of " + std::to_string(v.size) + " bytes";
      for (const auto& [name, other] : variables_) memory_.release(other.address);
      variables_.clear();
      throw Error(d);
    }
    variables_[v.name] = {v.name, a->base, v.size, constant, managed};
  }

  void initialise(const ptx::Variable& v) {
    const auto placed = variables_.find(v.name);
    if (placed == variables_.end() || v.initial.empty()) return;
    auto* to = reinterpret_cast<std::byte*>(placed->second.address);
    std::memcpy(to, v.initial.data(), std::min<std::size_t>(v.initial.size(), v.size));
    for (const ptx::Relocation& r : v.relocations) {
      uint64_t address = function_address(r.symbol);
      if (const Symbol s = symbol(r.symbol); s.found) address = s.address;
      address = (address + static_cast<uint64_t>(r.addend)) >> r.shift;
      if (r.at + r.size <= v.size) std::memcpy(to + r.at, &address, std::min(8u, r.size));
    }
  }

  Memory& memory_;
  const Device& device_;
  ptx::Module module_;
  std::vector<std::size_t> lines_;
  std::map<std::string, VariableInfo> variables_;
  mutable std::map<std::string, KernelInfo> infos_;
  std::map<std::string, std::map<LaunchShape, std::shared_ptr<const Code>>> codes_;
};

}  // namespace

struct Machine::State {
  State(const Device& d, Options o)
      : device(d), options(std::move(o)), memory(d.memory_bytes), heap(memory, kDeviceHeapBytes) {
    if (options.check) {
      options.threads = 1;
      memory.keep_apart();
    }
    if (options.threads == 0) options.threads = std::max(1u, std::thread::hardware_concurrency());
  }
  Device device;
  Options options;
  Memory memory;
  DeviceHeap heap;
  Textures textures;
  uint32_t stack_bytes = kLeastStackBytes;
  const Allocation* grid_workspace = nullptr;  // made by the first cooperative launch
  std::unique_ptr<Pool> pool;                  // made by the first launch
  std::atomic<bool> interrupted{false};
  AccessId next_access = 1;  // of checked launches

  // The parts of a launch, in order.
  const Code* find_code(LoadedProgram& program, std::string_view kernel, const LaunchConfig& config,
                        LaunchReport& report);
  void configure(Launch& launch, const Code& code, const LaunchConfig& config);
  void run(Launch& launch, std::string_view kernel, Tally& total);
  void fill_report(Launch& launch, Tally& total, const LoadedProgram& program, LaunchReport& report);

  plain::Launch plain_launch(const LoadedProgram& loaded, std::string_view kernel, const LaunchConfig& config);

  // For a cooperative launch: its address, zeroed; 0: no memory.
  uint64_t workspace() {
    if (!grid_workspace) grid_workspace = memory.allocate(kGridWorkspaceBytes, Origin::heap, "grid synchronisation");
    if (!grid_workspace) return 0;
    std::memset(reinterpret_cast<void*>(grid_workspace->base), 0, kGridWorkspaceBytes);
    return grid_workspace->base;
  }

  // What kernels have printed, in block order.
  void print(const std::map<uint64_t, std::string>& output, uint64_t last_block = ~uint64_t{0}) const {
    for (const auto& [block, text] : output) {
      if (block > last_block) break;
      if (options.output)
        options.output(text);
      else
        std::fwrite(text.data(), 1, text.size(), stdout);
    }
  }

  // For a launch to come. Ids are few enough for any one launch; now and then they begin anew.
  LaunchCheck begin_check(Launch& launch) {
    if (next_access > kMostAccesses) {
      for (const auto& a : memory.all())
        if (a->shadow) a->shadow->cells = Cells(a->size);
      next_access = 1;
    }
    return LaunchCheck(launch, next_access, read_host_memory().spendable() / 2);
  }
};

Machine::Machine(const Device& device, Options options) : state_(std::make_unique<State>(device, std::move(options))) {}
Machine::~Machine() = default;
const Device& Machine::device() const { return state_->device; }
Memory& Machine::memory() { return state_->memory; }
Textures& Machine::textures() { return state_->textures; }
void Machine::interrupt() { state_->interrupted.store(true); }
bool Machine::interrupted() const { return state_->interrupted.load(); }

bool Machine::set_heap_bytes(uint64_t bytes) { return state_->heap.resize(bytes); }
void Machine::wrote(uint64_t address, uint64_t bytes) {
  if (!state_->options.check) return;
  const Allocation* a = state_->memory.find(address);
  if (!a) return;
  if (Shadow& s = shadow_of(*a); !s.all_written) s.written.set(address - a->base, bytes);
}

void Machine::copied(uint64_t to, uint64_t from, uint64_t bytes) {
  if (!state_->options.check) return;
  const Allocation* a = state_->memory.find(from);
  if (!a || shadow_of(*a).all_written) return wrote(to, bytes);
  for (uint64_t k = 0; k < bytes; ++k)
    if (shadow_of(*a).written.get(from - a->base + k)) wrote(to + k, 1);
}

uint64_t Machine::unwritten(uint64_t address, uint64_t bytes, uint64_t& first) {
  const Allocation* a = state_->options.check ? state_->memory.find(address) : nullptr;
  if (!a || shadow_of(*a).all_written) return 0;
  uint64_t count = 0;
  for (uint64_t k = bytes; k-- > 0;) {
    if (shadow_of(*a).written.get(address - a->base + k)) continue;
    ++count;
    first = address + k;
  }
  return count;
}

void Machine::set_stack_bytes(uint32_t bytes) { state_->stack_bytes = std::max(bytes, kLeastStackBytes); }

std::shared_ptr<Program> Machine::load(std::string ptx, const std::string& name) {
  std::vector<std::string> texts;
  texts.push_back(std::move(ptx));
  return load(std::move(texts), name);
}

std::shared_ptr<Program> Machine::load(std::vector<std::string> ptx, const std::string& name, const Places& places) {
  std::vector<ptx::Module> modules;
  for (std::string& text : ptx) modules.push_back(ptx::parse(std::move(text), name));
  ptx::add_device_runtime(modules);
  return std::make_shared<LoadedProgram>(state_->memory, state_->device, ptx::link(std::move(modules)), places);
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
  shape.stack_bytes = stack_bytes;
  for (std::size_t k = 0; k < 3; ++k) shape.grid_below[k] = std::bit_ceil(std::max<uint64_t>(1, config.grid[k]));
  try {
    if (!program.kernel(kernel)) return say("no such kernel");
    const uint64_t threads = uint64_t{config.block[0]} * config.block[1] * config.block[2];
    if (threads == 0 || threads > 1024 || config.grid[0] == 0 || config.grid[1] == 0 || config.grid[2] == 0)
      return say("a launch needs 1 to 1024 threads a block and at least one block");
    return &program.code(kernel, shape, options.model, options.check);
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
  if (config.cooperative) launch.grid_workspace = workspace();
  launch.max_instructions = options.max_instructions;
  launch.interrupted = &interrupted;
  launch.heap = &heap;
  // What is to stop after few instructions stops where the interpreter would, with its counters.
  const bool short_leash = launch.max_instructions < kNativeBudget;
  launch.native = config.cooperative || short_leash || options.check ? nullptr : options.native.get();
  launch.textures = &textures;
  launch.patience = options.polling;
  for (const Instruction& i : launch.program->code)
    if (i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::malloc) heap.prepare();
}

void Machine::State::run(Launch& launch, std::string_view kernel, Tally& total) {
  fill_launch_area(launch, *launch.code, launch.area);
  if (!pool) pool = std::make_unique<Pool>(options.threads);
  // Cooperative launches run on one thread, all blocks in turns: what they wait for happens in the same order every
  // time.
  const unsigned threads =
      launch.cooperative ? 1u : static_cast<unsigned>(std::min<uint64_t>(pool->size(), launch.blocks));
  memory.begin_touch();
  std::function<void(uint64_t)> progress;
  if (options.progress) progress = [&](uint64_t done) { options.progress(kernel, done, launch.blocks); };
  run_blocks(launch, *pool, threads, total, progress);
  if (launch.native) launch.native->ended(launch);
}

// What the launch has counted, said and printed.
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

LaunchReport Machine::launch(Program& program, std::string_view kernel, const LaunchConfig& config) {
  const auto begin = std::chrono::steady_clock::now();
  LaunchReport report;
  auto& loaded = static_cast<LoadedProgram&>(program);
  if (state_->options.plain) return launch_plain(program, kernel, config);
  if (state_->options.shadow) return launch_shadowed(program, kernel, config);
  const Code* const code = state_->find_code(loaded, kernel, config, report);
  if (!code) return report;
  Launch launch;
  state_->configure(launch, *code, config);
  std::vector<uint8_t> parameters = config.parameters;
  parameters.resize(std::max<std::size_t>(parameters.size(), loaded.kernel(kernel)->parameter_bytes));
  launch.parameters = &parameters;
  const std::function<void(const Diagnostic&)> notice = [&](Diagnostic d) {
    d.ptx_text = loaded.line_text(d.ptx_line);
    state_->options.notice(d);
  };
  if (state_->options.notice) launch.notice = &notice;
  std::optional<LaunchCheck> check;
  if (state_->options.check) launch.observer = &check.emplace(state_->begin_check(launch));
  Tally total(*launch.program);
  state_->run(launch, kernel, total);
  state_->fill_report(launch, total, loaded, report);
  if (check) {
    state_->next_access = check->next();
    report.accesses = std::make_shared<std::vector<AccessSite>>(check->footprint().take());
    for (AccessSite& s : *report.accesses)
      if (!s.pages.empty()) s.ptx_text = loaded.line_text(s.ptx_line);
    for (Diagnostic& d : check->take()) {
      d.ptx_text = loaded.line_text(d.ptx_line);
      report.diagnostics.push_back(std::move(d));
    }
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

void Machine::use_plain(bool plain) { state_->options.plain = plain; }

// The same launch for the plain executor. Throws Error where it is none.
plain::Launch Machine::State::plain_launch(const LoadedProgram& loaded, std::string_view kernel,
                                           const LaunchConfig& config) {
  plain::Launch launch;
  launch.kernel = loaded.find(kernel);
  Diagnostic wrong;
  wrong.fault = Fault::invalid_pc;
  const uint64_t threads = uint64_t{config.block[0]} * config.block[1] * config.block[2];
  if (!launch.kernel)
    wrong.message = "no such kernel";
  else if (threads == 0 || threads > 1024 || uint64_t{config.grid[0]} * config.grid[1] * config.grid[2] == 0)
    wrong.message = "a launch needs 1 to 1024 threads a block and at least one block";
  else if (options.model != Model::ptx)
    wrong.message = "the plain executor counts the requests of the PTX only (--model ptx)";
  if (!wrong.message.empty()) throw Error(wrong);
  launch.module = &loaded.module();
  launch.symbols = &loaded;
  launch.memory = &memory;
  launch.heap = &heap;
  launch.textures = &textures;
  launch.device = &device;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.dynamic_shared_bytes = config.dynamic_shared_bytes;
  launch.stack_bytes = stack_bytes;
  launch.cooperative = config.cooperative;
  if (config.cooperative) launch.grid_workspace = workspace();
  launch.parameters = config.parameters;
  uint32_t parameter_bytes = 0;
  parameter_offsets(*launch.kernel, &parameter_bytes);
  launch.parameters.resize(std::max<std::size_t>(launch.parameters.size(), parameter_bytes));
  launch.max_instructions = options.max_instructions;
  launch.interrupted = &interrupted;
  return launch;
}

LaunchReport Machine::launch_plain(Program& program, std::string_view kernel, const LaunchConfig& config) {
  const auto begin = std::chrono::steady_clock::now();
  const auto& loaded = static_cast<const LoadedProgram&>(program);
  LaunchReport report;
  try {
    plain::Result r = plain::run(state_->plain_launch(loaded, kernel, config));
    report.counters = r.counters;
    report.lines = std::move(r.lines);
    report.spins = r.spins;
    report.diagnostics = std::move(r.diagnostics);
    state_->print(r.output);
  } catch (const Error& e) {
    report.diagnostics = {e.diagnostic};
    if (e.diagnostic.fault == Fault::none) report.diagnostics[0].fault = Fault::illegal_instruction;
  }
  for (Diagnostic& d : report.diagnostics) {
    if (d.kernel.empty()) d.kernel = kernel;
    if (d.ptx_text.empty()) d.ptx_text = loaded.line_text(d.ptx_line);
    if (d.severity == Severity::error) report.fault = d.fault;
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

LaunchReport Machine::launch_shadowed(Program& program, std::string_view kernel, const LaunchConfig& config) {
  const auto& loaded = static_cast<const LoadedProgram&>(program);
  std::optional<plain::Shadow> shadow;
  try {
    // Reserved now, so that both executors have the same heap.
    if (loaded.module().text.find("malloc") != std::string::npos) state_->heap.prepare();
    shadow.emplace(state_->plain_launch(loaded, kernel, config));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the other executor says so, too
  }
  std::string printed;
  const auto output = state_->options.output;
  state_->options.output = [&](std::string_view text) {
    printed += text;
    if (output)
      output(text);
    else
      std::fwrite(text.data(), 1, text.size(), stdout);
  };
  state_->options.shadow = false;
  LaunchReport report = launch(program, kernel, config);
  state_->options.shadow = true;
  state_->options.output = output;
  if (!shadow) return report;
  if (std::optional<Diagnostic> d = shadow->compare(report, printed)) {
    d->ptx_text = loaded.line_text(d->ptx_line);
    report.diagnostics.push_back(std::move(*d));
  }
  return report;
}

}  // namespace coalesce::machine
