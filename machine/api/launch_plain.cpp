// Launches by the plain executor (plain/plain.h), alone or beside the other one (Options::shadow).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include "machine/api/shadow.h"
#include "machine/api/state.h"

namespace coalesce::machine {

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
  for (std::size_t k = 0; k < 3; ++k)
    if (config.cluster[k] == 0 || config.grid[k] % config.cluster[k] != 0)
      wrong.message = "a grid is made of whole clusters";
  if (!wrong.message.empty()) throw Error(wrong);
  launch.module = &loaded.module();
  launch.symbols = &loaded;
  launch.memory = &memory;
  launch.heap = &heap;
  launch.runtime = &runtime;
  begin_runtime(loaded, config);
  launch.textures = &textures;
  launch.device = &device;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.dynamic_shared_bytes = config.dynamic_shared_bytes;
  launch.stack_bytes = stack_bytes;
  launch.cooperative = config.cooperative;
  launch.cluster = config.cluster;
  launch.graph = config.graph.exec;
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
    report.work = state_->runtime.take();
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
  if (report.fault != Fault::none) report.work.clear();
  if (state_->options.time) report.time = State::no_estimate("the plain executor runs it");
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

// Other text for the same launch; its variables hold what the program's do. Empty where a launch leaves more than
// memory.
std::function<bool(const std::string&, bool)> Machine::rerun(const LoadedProgram& loaded, std::string_view kernel,
                                                             const LaunchConfig& config) {
  if (loaded.module().text.find("malloc") != std::string::npos ||
      loaded.module().text.find("cudaCDP") != std::string::npos)
    return {};
  // Loaded once: both executors see its variables at the same addresses.
  const auto again = std::make_shared<std::shared_ptr<Program>>();
  return [this, &loaded, kernel, &config, again](const std::string& text, bool plain) {
    Options& options = state_->options;
    const Options usual = options;
    options.shadow = false, options.plain = plain;
    options.output = [](std::string_view) {};
    bool ran = false;
    try {
      if (!*again) *again = load(text, "probes");
      for (const std::string& name : loaded.variables()) {
        const VariableInfo& from = *loaded.variable(name);
        if (const VariableInfo* to = (*again)->variable(name))
          std::memcpy(reinterpret_cast<void*>(to->address), reinterpret_cast<const void*>(from.address), from.size);
      }
      ran = launch(**again, kernel, config).fault == Fault::none;
    } catch (const Error&) {
      ran = false;
    }
    options = usual;
    return ran;
  };
}

LaunchReport Machine::launch_shadowed(Program& program, std::string_view kernel, const LaunchConfig& config) {
  const auto& loaded = static_cast<const LoadedProgram&>(program);
  std::optional<plain::Shadow> shadow;
  try {
    // Reserved now, so that both executors have the same heap.
    if (loaded.module().text.find("malloc") != std::string::npos ||
        loaded.module().text.find("__cudaCDP2Malloc") != std::string::npos)
      state_->heap.prepare();
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
  if (std::optional<Diagnostic> d = shadow->compare(report, printed, rerun(loaded, kernel, config))) {
    d->ptx_text = loaded.line_text(d->ptx_line);
    report.diagnostics.push_back(std::move(*d));
  }
  return report;
}

}  // namespace coalesce::machine
