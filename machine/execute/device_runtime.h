// The device's side of CUDA's runtime: what kernels ask of it while they run. One object for a machine.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "machine/device.h"
#include "machine/execute/device_work.h"
#include "machine/memory/memory.h"

namespace coalesce::machine {

// Errors that the device's side returns; the values are CUDA's.
enum class DeviceError : uint32_t {
  success = 0,
  invalid_value = 1,
  memory_allocation = 2,
  invalid_configuration = 9,
  pending_exceeded = 69,
  invalid_device_function = 98,
  illegal_address = kNoDeviceGraph,
  not_supported = 801,
};

class DeviceRuntime {
 public:
  // A kernel, as the program that is running knows it.
  struct Kernel {
    std::string name;
    uint32_t parameter_bytes = 0, max_threads = 1024, static_shared_bytes = 0, registers = 0, local_bytes = 0;
  };
  using FindKernel = std::function<bool(uint64_t address, Kernel& kernel)>;

  DeviceRuntime(Memory& memory, const Device& device) : memory_(memory), device_(device) {}

  // Before a launch. `depth`: of the kernel that begins.
  void begin(FindKernel find, uint32_t depth, GraphAround graph);
  // After it: what was asked for, in order, unless the launch has failed.
  std::vector<DeviceWork> take();

  // --- for services; one at a time
  // A buffer for the parameters of a launch; 0: it is none, and the thread has an error.
  uint64_t parameter_buffer(uint64_t thread, uint64_t function, const uint64_t* grid, const uint64_t* block,
                            uint64_t shared);
  uint64_t raw_buffer(uint64_t bytes);
  DeviceError launch(uint64_t thread, uint64_t buffer, uint64_t stream);
  DeviceError launch(uint64_t thread, uint64_t function, uint64_t buffer, const uint64_t* grid, const uint64_t* block,
                     uint64_t shared, uint64_t stream);
  DeviceError give(DeviceWork work, uint64_t stream);
  DeviceError launch_graph(uint64_t thread, uint64_t exec, uint64_t stream);
  DeviceError change_node(uint64_t thread, const NodeChange& change);
  DeviceError failed(uint64_t thread, DeviceError error);
  DeviceError last_error(uint64_t thread, bool forget);
  uint64_t text(const std::string& text);  // its address
  bool find(uint64_t function, Kernel& kernel) const { return find_ && find_(function, kernel); }
  const Device& device() const { return device_; }
  uint64_t next_handle() { return ++handles_; }

 private:
  uint64_t take_bytes(uint64_t bytes);

  Memory& memory_;
  const Device& device_;
  FindKernel find_;
  uint32_t depth_ = 0;
  GraphAround graph_;
  uint64_t handles_ = 16;
  std::vector<DeviceWork> work_;
  std::map<uint64_t, DeviceWork> buffers_;       // by address: launches whose parameters are being written
  std::map<uint64_t, DeviceError> last_errors_;  // by thread
  // Memory for parameters and texts: parts, of which the last one has room from `used_` on.
  std::vector<const Allocation*> parts_;
  uint64_t used_ = 0;
  std::size_t part_ = 0;
};

}  // namespace coalesce::machine
