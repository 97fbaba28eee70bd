// Dynamic parallelism: CUDA's functions on the device (CDP2), without the waiting ones, which CDP2 does not have. What
// a kernel launches runs after it: CUDA promises no more, so no kernel sees a difference.
#include "machine/execute/device_runtime.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coalesce::machine {

namespace {

// As an H100 places buffers: each on lines of its own, and 16 bytes into a sector.
constexpr uint64_t kPartBytes = 64u << 10, kBufferUnit = 256, kBufferOffset = 16;
// Kernels of kernels: the deepest, where the host's launches have depth 0. CUDA promises as many launches that are
// pending (cudaLimitDevRuntimePendingLaunchCount); an H100 gives some more.
constexpr uint32_t kDeepest = 2048;
// Streams that a kernel may name.
constexpr uint64_t kTailLaunch = 3;

}  // namespace

void DeviceRuntime::begin(FindKernel find, uint32_t depth, GraphAround graph) {
  find_ = std::move(find);
  depth_ = depth;
  graph_ = std::move(graph);
  work_.clear();
  buffers_.clear();
  last_errors_.clear();
  part_ = 0;
  used_ = 0;
}

std::vector<DeviceWork> DeviceRuntime::take() {
  for (std::size_t k = 1; k < parts_.size(); ++k) memory_.release(parts_[k]->base);
  if (parts_.size() > 1) parts_.resize(1);
  return std::exchange(work_, {});
}

uint64_t DeviceRuntime::take_bytes(uint64_t bytes) {
  bytes = (kBufferOffset + bytes + kBufferUnit - 1) / kBufferUnit * kBufferUnit;
  while (part_ < parts_.size() && used_ + bytes > parts_[part_]->size) ++part_, used_ = 0;
  if (part_ == parts_.size()) {
    const Allocation* a =
        memory_.allocate(std::max(kPartBytes, bytes), Origin::heap, "parameters of kernels' launches");
    if (!a) return 0;
    parts_.push_back(a);
  }
  const uint64_t at = parts_[part_]->base + used_ + kBufferOffset;
  used_ += bytes;
  return at;
}

uint64_t DeviceRuntime::text(const std::string& text) {
  const uint64_t at = take_bytes(text.size() + 1);
  if (at) std::memcpy(reinterpret_cast<void*>(at), text.c_str(), text.size() + 1);
  return at;
}

DeviceError DeviceRuntime::failed(uint64_t thread, DeviceError error) {
  if (error != DeviceError::success) last_errors_[thread] = error;
  return error;
}

DeviceError DeviceRuntime::last_error(uint64_t thread, bool forget) {
  const auto at = last_errors_.find(thread);
  if (at == last_errors_.end()) return DeviceError::success;
  const DeviceError error = at->second;
  if (forget) last_errors_.erase(at);
  return error;
}

uint64_t DeviceRuntime::parameter_buffer(uint64_t thread, uint64_t function, const uint64_t* grid,
                                         const uint64_t* block, uint64_t shared) {
  const auto refuse = [&](DeviceError error) { return failed(thread, error), uint64_t{0}; };
  Kernel kernel;
  if (!find(function, kernel)) return refuse(DeviceError::invalid_device_function);
  DeviceWork w;
  for (std::size_t k = 0; k < 3; ++k) {
    w.grid[k] = static_cast<uint32_t>(grid[k]);
    w.block[k] = static_cast<uint32_t>(block[k]);
    if (w.grid[k] == 0 || w.block[k] == 0) return refuse(DeviceError::invalid_configuration);
  }
  const uint64_t threads = uint64_t{w.block[0]} * w.block[1] * w.block[2];
  if (w.grid[0] > 0x7fff'ffffu || w.grid[1] > 65535 || w.grid[2] > 65535 || w.block[0] > 1024 || w.block[1] > 1024 ||
      w.block[2] > 64 || threads > device_.threads_per_block)
    return refuse(DeviceError::invalid_configuration);
  // Whatever is wrong, an H100 calls it the configuration.
  if (threads > kernel.max_threads || kernel.static_shared_bytes + shared > device_.shared_per_block)
    return refuse(DeviceError::invalid_configuration);
  if (depth_ >= kDeepest) return refuse(DeviceError::pending_exceeded);
  w.kernel = kernel.name;
  w.dynamic_shared_bytes = static_cast<uint32_t>(shared);
  w.parameters.resize(kernel.parameter_bytes);
  const uint64_t at = take_bytes(kernel.parameter_bytes);
  if (at == 0) return refuse(DeviceError::memory_allocation);
  buffers_[at] = std::move(w);
  return at;
}

uint64_t DeviceRuntime::raw_buffer(uint64_t bytes) { return take_bytes(bytes); }

DeviceError DeviceRuntime::launch(uint64_t thread, uint64_t buffer, uint64_t stream) {
  const auto at = buffers_.find(buffer);
  if (at == buffers_.end()) return failed(thread, DeviceError::invalid_value);
  DeviceWork w = std::move(at->second);
  buffers_.erase(at);
  if (!w.parameters.empty())
    std::memcpy(w.parameters.data(), reinterpret_cast<const void*>(buffer), w.parameters.size());
  return give(std::move(w), stream);
}

DeviceError DeviceRuntime::launch(uint64_t thread, uint64_t function, uint64_t buffer, const uint64_t* grid,
                                  const uint64_t* block, uint64_t shared, uint64_t stream) {
  const uint64_t mine = parameter_buffer(thread, function, grid, block, shared);
  if (mine == 0) return last_error(thread, false);
  DeviceWork& w = buffers_[mine];
  if (!w.parameters.empty()) {
    const Allocation* a = memory_.find(buffer);
    if (!a || w.parameters.size() > a->base + a->size - buffer) return failed(thread, DeviceError::invalid_value);
    std::memcpy(reinterpret_cast<void*>(mine), reinterpret_cast<const void*>(buffer), w.parameters.size());
  }
  return launch(thread, mine, stream);
}

DeviceError DeviceRuntime::launch_graph(uint64_t thread, uint64_t exec, uint64_t stream) {
  if (graph_.exec == 0 || !graph_.launch) return failed(thread, DeviceError::invalid_value);
  const auto error = static_cast<DeviceError>(graph_.launch(exec, stream));
  if (error != DeviceError::success) return failed(thread, error);
  DeviceWork w;
  w.kind = DeviceWork::Kind::graph;
  w.graph = exec, w.stream = stream;
  work_.push_back(std::move(w));
  return error;
}

DeviceError DeviceRuntime::change_node(uint64_t thread, const NodeChange& change) {
  const uint32_t error = graph_.change ? graph_.change(change) : static_cast<uint32_t>(DeviceError::invalid_value);
  return error == 0 ? DeviceError::success : failed(thread, static_cast<DeviceError>(error));
}

DeviceError DeviceRuntime::give(DeviceWork work, uint64_t stream) {
  work.tail = stream == kTailLaunch;
  work.depth = work.tail ? depth_ : depth_ + 1;
  work_.push_back(std::move(work));
  return DeviceError::success;
}

}  // namespace coalesce::machine
