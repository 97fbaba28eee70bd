// Loading modules and launching kernels: what machine.h promises, put together from the rooms below it.
#include "machine/api/machine.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "machine/api/state.h"
#include "machine/check/launch_check.h"
#include "machine/execute/calls.h"
#include "machine/ptx/device_runtime.h"
#include "machine/ptx/link.h"
#include "machine/ptx/parser.h"

namespace coalesce::machine {

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
  const Written& source = shadow_of(*a).written;
  const Allocation* b = state_->memory.find(to);
  if (!b) return;
  Shadow& target = shadow_of(*b);
  if (target.all_written && (b->origin != Origin::variable || source.all(from - a->base, bytes))) return;
  target.follow(b->size);
  target.written.copy(to - b->base, source, from - a->base, bytes);
}

// Short runs beside written bytes are padding of structures if there are many of them.
uint64_t Machine::unwritten(uint64_t address, uint64_t bytes, uint64_t& first) {
  constexpr uint64_t kAlignment = 16, kFew = 1024;  // one short run in so many bytes is no padding
  const Allocation* a = state_->options.check ? state_->memory.find(address) : nullptr;
  if (!a || shadow_of(*a).all_written) return 0;
  const Written& written = shadow_of(*a).written;
  const uint64_t begin = address - a->base, end = begin + bytes;
  uint64_t count[2] = {}, runs[2] = {}, where[2] = {};  // of short runs, of others
  for (uint64_t at = begin; at < end;) {
    if (written.get(at)) {
      ++at;
      continue;
    }
    uint64_t to = at + 1;
    while (to < end && !written.get(to)) ++to;
    const bool is_long = to - at >= kAlignment;
    if (runs[is_long]++ == 0) where[is_long] = a->base + at;
    count[is_long] += to - at;
    at = to;
  }
  if (runs[0] * kFew >= bytes) runs[0] = count[0] = 0;
  if (count[0] + count[1] != 0) first = runs[0] != 0 && (runs[1] == 0 || where[0] < where[1]) ? where[0] : where[1];
  return count[0] + count[1];
}

void Machine::set_stack_bytes(uint32_t bytes) { state_->stack_bytes = std::max(bytes, kLeastStackBytes); }

std::shared_ptr<Program> Machine::load(std::string ptx, const std::string& name) {
  std::vector<std::string> texts;
  texts.push_back(std::move(ptx));
  return load(std::move(texts), name);
}

std::shared_ptr<Program> Machine::load(std::vector<std::string> ptx, const std::string& name, const Places& places,
                                       uint32_t most_registers) {
  std::vector<ptx::Module> modules;
  for (std::string& text : ptx) modules.push_back(ptx::parse(std::move(text), name));
  ptx::add_device_runtime(modules);
  return std::make_shared<LoadedProgram>(state_->memory, state_->device, ptx::link(std::move(modules)), places,
                                         most_registers);
}

namespace {

// Kernels that launch each other without end: each may be short, so the budget is theirs together.
LaunchReport refuse_for_budget(std::string_view kernel, uint64_t budget) {
  Diagnostic d;
  d.fault = Fault::budget;
  d.kernel = kernel;
  d.message = "the kernels that led to this launch have executed " + std::to_string(budget) +
              " warp instructions and launch further ones (--max-instructions)";
  LaunchReport report;
  report.fault = Fault::budget;
  report.diagnostics.push_back(std::move(d));
  return report;
}

}  // namespace

LaunchReport Machine::launch(Program& program, std::string_view kernel, const LaunchConfig& config) {
  const auto begin = std::chrono::steady_clock::now();
  if (config.earlier > state_->options.max_instructions)
    return refuse_for_budget(kernel, state_->options.max_instructions);
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
  if (state_->options.waits) launch.waits = &state_->options.waits;
  std::unique_ptr<LaunchCheck> check;
  if (state_->options.check) check = state_->begin_check(launch);
  if (check) launch.observer = check.get();
  std::optional<State::Moment> before;
  if (check && state_->explores(launch)) before.emplace(*state_, *check);
  std::unique_ptr<TimeTrace> trace;
  if (state_->options.time && !check) {
    trace = state_->begin_trace(launch);
    launch.observer = trace.get();
  }
  Tally total(*launch.program);
  state_->begin_runtime(loaded, config);
  state_->run(launch, kernel, total);
  state_->fill_report(launch, total, loaded, report);
  report.work = state_->runtime.take();
  if (report.fault != Fault::none) report.work.clear();
  if (state_->options.time) report.time = state_->estimate(launch, trace.get(), report);
  if (check) {
    state_->next_access = check->records.next();
    report.accesses = std::make_shared<std::vector<AccessSite>>(check->take_accesses());
    for (AccessSite& s : *report.accesses) {
      if (s.pages.empty()) continue;
      s.ptx_text = loaded.line_text(s.ptx_line);
      if (s.atomic && s.ptx_text.find(".sys") != std::string::npos) s.strong = true;  // made to meet the host's
    }
    for (Diagnostic& d : check->findings.take()) {
      d.ptx_text = loaded.line_text(d.ptx_line);
      report.diagnostics.push_back(std::move(d));
    }
    state_->spare_records = check->records.give();
  }
  state_->faulted = state_->faulted || report.fault != Fault::none;
  if (before) state_->explore(*before, launch, kernel, config, loaded, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

std::vector<Diagnostic> Machine::heap_leaks() const {
  return state_->faulted ? std::vector<Diagnostic>{} : state_->heap.leaks();
}

void Machine::use_plain(bool plain) { state_->options.plain = plain; }

}  // namespace coalesce::machine
