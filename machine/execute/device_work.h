// Dynamic parallelism: the work that a kernel gives the device runs after the kernel, in an order that CUDA allows.
// Executable graphs that kernels launch run after the graph whose node the kernel is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace coalesce::machine {

struct DeviceWork {
  enum class Kind : uint8_t { kernel, copy, fill, graph };
  Kind kind = Kind::kernel;
  bool tail = false;  // after the kernel and all that it gave the device otherwise
  uint32_t depth = 0;
  // kernel
  std::string kernel;  // mangled
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<uint8_t> parameters;
  // copy, fill: `rows` of `bytes`, which lie pitches apart; `value`: of a fill, one byte
  uint64_t to = 0, from = 0, bytes = 0, rows = 1, to_pitch = 0, from_pitch = 0;
  uint8_t value = 0;
  // graph: its handle, and the stream that says when it runs
  uint64_t graph = 0, stream = 0;
};

// A change of a kernel node of an executable graph, by a kernel. Fields have the numbers of cudaGraphKernelNodeField.
struct NodeChange {
  enum class Field : uint32_t { grid = 1, parameter = 2, enabled = 3 };
  uint64_t node = 0;  // the handle that the host has of it
  Field field = Field::grid;
  std::array<uint32_t, 3> grid{};
  uint64_t offset = 0;  // of the parameter's bytes among all
  std::vector<uint8_t> bytes = {};
  bool enabled = false;
  bool asks = false;  // whether it could be made; nothing changes
};

// The executable graph that a kernel is a node of. The functions return CUDA's error, are called by one thread at a
// time, and may be empty.
struct GraphAround {
  uint64_t exec = 0;  // its handle; 0: none
  // Whether a kernel of it may launch that graph now; kNoDeviceGraph: the device has no such graph and reads astray.
  std::function<uint32_t(uint64_t exec, uint64_t stream)> launch = {};
  std::function<uint32_t(const NodeChange& change)> change = {};
};
inline constexpr uint32_t kNoDeviceGraph = 700;

}  // namespace coalesce::machine
