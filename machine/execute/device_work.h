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

// The executable graph that a kernel is a node of.
struct GraphAround {
  uint64_t exec = 0;  // its handle; 0: none
  // Whether a kernel of it may launch that graph now: CUDA's error. Called by one thread at a time; may be empty.
  std::function<uint32_t(uint64_t exec, uint64_t stream)> launch;
};

}  // namespace coalesce::machine
