#include "cudart/core/registry.h"

#include <errno.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "cudart/core/config.h"
#include "cudart/core/fatbin.h"
#include "cudart/core/image.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {

Module* Registry::add_module(const void* image, size_t bytes) {
  modules_.push_back(std::make_unique<Module>());
  modules_.back()->image = image;
  modules_.back()->image_bytes = bytes;
  return modules_.back().get();
}

Kernel* Registry::make_kernel(Module* module, const std::string& name) {
  Kernel*& kernel = module->kernels[name];
  if (kernel == nullptr) {
    kernels_.push_back(std::make_unique<Kernel>());
    kernel = kernels_.back().get();
    kernel->module = module;
    kernel->name = name;
    kernel->id = static_cast<uint32_t>(kernels_.size() - 1);
    kernel_handles_.insert(kernel);
  }
  return kernel;
}

void Registry::add_kernel(Module* module, const void* host, const char* name) {
  Kernel* kernel = make_kernel(module, name);
  if (kernel->host == nullptr) kernel->host = host;
  kernel_by_host_[host] = kernel;
}

void Registry::add_variable(Module* module, void* host, const char* name, void** managed_pointer) {
  variables_.push_back(std::make_unique<Variable>());
  Variable* variable = variables_.back().get();
  const auto holds = [=](const auto& range) { return range.first <= host && host < range.second; };
  const bool placed = std::any_of(managed_ranges_.begin(), managed_ranges_.end(), holds);
  *variable = {module, name, managed_pointer, placed ? host : nullptr, nullptr, {}};
  module->variables.push_back(variable);
  variable_by_host_[host] = variable;
}

bool Registry::has_placed_variables(const Module& module) {
  return std::any_of(module.variables.begin(), module.variables.end(), [](const Variable* v) { return v->place; });
}

void Registry::remove(const Module* module) {
  std::erase_if(kernel_by_host_, [=](const auto& entry) { return entry.second->module == module; });
  std::erase_if(variable_by_host_, [=](const auto& entry) { return entry.second->module == module; });
  for (const auto& kernel : kernels_) {
    if (kernel->module != module) continue;
    kernel->host = nullptr;
    kernel_handles_.erase(kernel.get());
  }
  for (const auto& owned : modules_) {
    if (owned.get() != module) continue;
    owned->image = nullptr;
    if (owned->state == cudaErrorNotReady) owned->state = cudaErrorInvalidResourceHandle;
  }
}

bool Registry::owns(const Module* module) const {
  for (const auto& owned : modules_) {
    if (owned.get() == module) return true;
  }
  return false;
}

Kernel* Registry::peek_kernel(const void* function) const {
  if (const auto at = kernel_by_host_.find(function); at != kernel_by_host_.end()) return at->second;
  if (kernel_handles_.contains(function)) {
    return const_cast<Kernel*>(static_cast<const Kernel*>(function));  // the handle is the address we gave out
  }
  return nullptr;
}

cudaError_t Registry::find_kernel(const void* function, Kernel*& kernel) {
  kernel = peek_kernel(function);
  if (kernel == nullptr) return function == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidResourceHandle;
  if (kernel->info != nullptr) return cudaSuccess;
  if (const cudaError_t error = load(*kernel->module); error != cudaSuccess) return error;
  return kernel_named(*kernel->module, kernel->name) != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

Kernel* Registry::kernel_named(Module& module, const std::string& name) {
  const machine::KernelInfo* info = module.program->kernel(name);
  if (info == nullptr) return nullptr;
  Kernel* kernel = make_kernel(&module, name);
  kernel->program = module.program.get();
  kernel->info = info;
  const uint32_t limit = runtime().device()->shared_per_block;
  kernel->dynamic_shared_limit = info->static_shared_bytes < limit ? limit - info->static_shared_bytes : 0;
  return kernel;
}

cudaError_t Registry::find_variable(const void* symbol, const Variable*& variable) {
  auto at = variable_by_host_.find(symbol);
  if (at == variable_by_host_.end()) {  // a managed variable may be named by its own address
    at = std::find_if(variable_by_host_.begin(), variable_by_host_.end(), [=](const auto& entry) {
      const Variable& v = *entry.second;
      return v.managed_pointer != nullptr && v.info != nullptr && *v.managed_pointer == symbol;
    });
  }
  if (at == variable_by_host_.end()) return cudaErrorInvalidSymbol;
  if (const cudaError_t error = load(*at->second->module); error != cudaSuccess) return error;
  if (at->second->info == nullptr) return cudaErrorInvalidSymbol;
  variable = at->second;
  return cudaSuccess;
}

cudaError_t Registry::load(Module& module) {
  if (module.state != cudaErrorNotReady) return module.state;
  module.state = load_program(module);
  if (module.state != cudaSuccess) return module.state;
  for (Variable* variable : module.variables) {
    variable->info = module.program->variable(variable->name);
    if (variable->info != nullptr && variable->managed_pointer != nullptr) {
      *variable->managed_pointer = reinterpret_cast<void*>(variable->info->address);
    }
  }
  return module.state;
}

namespace {

// The version of a text that is later than what is known, CUDA 13.0's; empty: none is. Such a text is tried: most use
// nothing new.
std::string later_version(const std::vector<std::string>& texts) {
  constexpr unsigned kMajor = 9, kMinor = 0;
  for (const std::string& text : texts) {
    const size_t at = text.find(".version ");
    unsigned major = 0, minor = 0;
    if (at == std::string::npos || std::sscanf(text.c_str() + at, ".version %5u.%5u", &major, &minor) != 2) continue;
    if (std::pair(major, minor) > std::pair(kMajor, kMinor)) return std::to_string(major) + "." + std::to_string(minor);
  }
  return "";
}

}  // namespace

// Reads the machine code once: it may be large, and compressed.
static void learn_machine_code(Module& module) {
  if (module.program == nullptr || module.image == nullptr || module.told == module.program.get()) return;
  module.told = module.program.get();
  const machine::Device& device = *runtime().device();
  module.program->know_machine_code(
      machine_code_in(module.image, module.image_bytes, 10 * device.major + device.minor));
}

void Registry::know_machine_code(const Kernel& kernel) {
  if (kernel.module != nullptr) learn_machine_code(*kernel.module);
}

cudaError_t Registry::load_program(Module& module) {
  Runtime& r = runtime();
  std::string later;
  try {
    Image image = read_image(module.image, module.image_bytes, r.device()->major, r.device()->minor);
    if (image.ptx.empty()) {
      module.problem = image.problem;
      std::fprintf(stderr, "coalesce: error: %s: %s\ncoalesce: hint: %s\n", program_invocation_name,
                   image.problem.c_str(), image.hint.c_str());
      return image.newer ? cudaErrorInvalidPtx : cudaErrorNoKernelImageForDevice;
    }
    later = later_version(image.ptx);
    machine::Places places;
    for (const Variable* variable : module.variables) {
      if (variable->place != nullptr) places[variable->name] = variable->place;
      // Managed variables are one for all devices.
      if (variable->place != nullptr || variable->managed_pointer == nullptr) continue;
      for (const auto& [device, info] : variable->elsewhere)
        if (info != nullptr) places[variable->name] = reinterpret_cast<void*>(info->address);
    }
    module.told = nullptr;
    module.program =
        r.machine().load(std::move(image.ptx), std::string("embedded PTX of ") + program_invocation_name, places,
                         module.most_registers != 0 ? module.most_registers : image.most_registers);
    if (config().time) learn_machine_code(module);
    return cudaSuccess;
  } catch (const FatbinError& e) {
    module.problem = e.what();
    std::fprintf(stderr, "coalesce: error: %s: %s\n", program_invocation_name, e.what());
    return cudaErrorInvalidKernelImage;
  } catch (const machine::Error& e) {
    module.problem = machine::render(e.diagnostic, false);
    print(e.diagnostic);
    if (later.empty()) return cudaErrorInvalidPtx;
    std::fprintf(stderr, "coalesce: note: this PTX is of version %s; the machine knows 9.0 and earlier\n",
                 later.c_str());
    return cudaErrorUnsupportedPtxVersion;
  }
}

void Registry::use(unsigned number) {
  for (const auto& m : modules_) {
    m->elsewhere[number_] = {std::move(m->program), m->state};
    Module::Loaded& now = m->elsewhere[number];
    m->program = std::move(now.program);
    m->state = now.state;
    // A module whose file is closed, or that never had an image, is not loaded again.
    if (m->image == nullptr && m->state == cudaErrorNotReady) m->state = cudaErrorInvalidResourceHandle;
  }
  for (const auto& k : kernels_) {
    k->elsewhere[number_] = {k->program, k->info, k->dynamic_shared_limit, k->carveout, k->any_cluster};
    const Kernel::Loaded& now = k->elsewhere[number];
    k->program = now.program, k->info = now.info;
    k->dynamic_shared_limit = now.dynamic_shared_limit, k->carveout = now.carveout;
    k->any_cluster = now.any_cluster;
  }
  for (const auto& v : variables_) {
    v->elsewhere[number_] = v->info;
    v->info = v->elsewhere[number];
  }
  number_ = number;
}

void Registry::unload() {
  for (const auto& module : modules_) {
    if (module->image != nullptr) module->state = cudaErrorNotReady;
    module->program.reset();
    for (Variable* variable : module->variables) variable->info = nullptr;
  }
  for (const auto& kernel : kernels_) {
    kernel->program = nullptr;
    kernel->info = nullptr;
  }
}

}  // namespace coalesce::cudart
