// The program's start-up code registers modules (embedded fat binaries), kernels and variables, by the host addresses
// that stand for them. Loading waits until a kernel or a variable of the module is first used.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cudart/core/abi.h"
#include "machine/api/machine.h"

namespace coalesce::cudart {

struct Module;

// One kernel. Its address is the cudaKernel_t that programs hold.
struct Kernel {
  Module* module = nullptr;
  std::string name;                           // mangled
  const void* host = nullptr;                 // the program's symbol for it; null: it has none
  uint32_t id = 0;                            // in the record
  machine::Program* program = nullptr;        // set once loaded
  const machine::KernelInfo* info = nullptr;  // likewise
  uint32_t dynamic_shared_limit = 0;          // what cudaFuncSetAttribute allowed; valid once loaded
  int carveout = -1;
  bool any_cluster = false;  // its clusters may have more than 8 blocks
  // The same of the devices that are not in use.
  struct Loaded {
    machine::Program* program = nullptr;
    const machine::KernelInfo* info = nullptr;
    uint32_t dynamic_shared_limit = 0;
    int carveout = -1;
    bool any_cluster = false;
  };
  std::map<unsigned, Loaded> elsewhere = {};
};

struct Variable {
  Module* module = nullptr;
  std::string name;
  void** managed_pointer = nullptr;             // __managed__: the host's pointer to it, filled in when loaded
  void* place = nullptr;                        // __managed__ of clang: where it has to lie, in the program's memory
  const machine::VariableInfo* info = nullptr;  // set once loaded
  std::map<unsigned, const machine::VariableInfo*> elsewhere = {};
};

// An embedded fat binary, or PTX given at run time.
struct Module {
  const void* image = nullptr;                // wrapper, container or text
  size_t image_bytes = 0;                     // 0: as the image itself says
  uint32_t most_registers = 0;                // of a thread, 0: as many as it needs
  std::string problem;                        // why it cannot be loaded
  std::shared_ptr<machine::Program> program;  // set once loaded
  cudaError_t state = cudaErrorNotReady;      // cudaErrorNotReady: not tried; else how loading ended
  const machine::Program* told = nullptr;     // the program that knows its machine code
  std::vector<Variable*> variables;
  std::unordered_map<std::string, Kernel*> kernels;
  struct Loaded {
    std::shared_ptr<machine::Program> program = nullptr;
    cudaError_t state = cudaErrorNotReady;
  };
  std::map<unsigned, Loaded> elsewhere = {};
};

class Registry {
 public:
  // The returned modules, kernels and variables live as long as the process: programs keep their addresses.
  Module* add_module(const void* image, size_t bytes = 0);
  void add_kernel(Module* module, const void* host, const char* name);
  void add_variable(Module* module, void* host, const char* name, void** managed_pointer);
  // Host variables in [begin, end) are where the device's variables of their names are to lie.
  void add_managed_range(const void* begin, const void* end) { managed_ranges_.emplace_back(begin, end); }
  // True if the module has such variables: it is loaded before the host can touch them.
  static bool has_placed_variables(const Module& module);
  // Forgets the host addresses of a module (its shared library is being closed).
  void remove(const Module* module);

  // `function`: the host's stub or a cudaKernel_t. Loads its module. cudaErrorInvalidResourceHandle: not a kernel;
  // cudaErrorInvalidDeviceFunction: null, or its module has no such kernel.
  cudaError_t find_kernel(const void* function, Kernel*& kernel);
  // Without loading. Null: none.
  Kernel* peek_kernel(const void* function) const;
  cudaError_t find_variable(const void* symbol, const Variable*& variable);
  cudaError_t load(Module& module);
  // The kernel of that name, registered by the host or not. Null: the module has none. Only after load().
  Kernel* kernel_named(Module& module, const std::string& name);
  // Has the loaded kernel's module know the machine code that it brings for this device: its registers then are
  // ptxas's.
  void know_machine_code(const Kernel& kernel);
  // cudaDeviceReset: what was loaded is loaded again on next use.
  void unload();
  bool owns(const Module* module) const;
  // Programs are loaded for each device: from now on find and load those of device `number`.
  void use(unsigned number);

 private:
  unsigned number_ = 0;
  Kernel* make_kernel(Module* module, const std::string& name);
  cudaError_t load_program(Module& module);

  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<Variable>> variables_;
  std::unordered_map<const void*, Kernel*> kernel_by_host_;
  std::unordered_set<const void*> kernel_handles_;
  std::unordered_map<const void*, Variable*> variable_by_host_;
  std::vector<std::pair<const void*, const void*>> managed_ranges_;
};

}  // namespace coalesce::cudart
