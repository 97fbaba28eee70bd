// The plain executor: a second, slow machine for the same PTX, whose only virtue is that it can be read. The other
// executors are held to it (`--engine plain`, `--shadow`, the tests of random kernels).
//
// It works from the parsed module. Every register holds 32 lanes' values, every instruction is carried out lane by
// lane, every call has a frame, every access is looked up, and every counter is counted where it happens. It shares no
// decoding, no address handling, no control flow and no counting with machine/program, machine/execute and
// machine/observe. What it shares: the parser, the arithmetic of single instructions (execute/ops, one lane at a time),
// how textures are filtered, and the allocations.
//
// Blocks run one after the other in the order of their numbers, the warps of a block in turns from barrier to barrier.
// A block that only polls what others must write is joined by the next one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "machine/device.h"
#include "machine/memory/memory.h"
#include "machine/memory/texture.h"
#include "machine/program/program.h"
#include "machine/ptx/module.h"
#include "machine/tally/line_counters.h"

namespace coalesce::machine {
class DeviceHeap;
class DeviceRuntime;
}  // namespace coalesce::machine

namespace coalesce::machine::plain {

struct Launch {
  const ptx::Module* module = nullptr;
  const ptx::Function* kernel = nullptr;
  const SymbolTable* symbols = nullptr;
  Memory* memory = nullptr;
  DeviceHeap* heap = nullptr;
  DeviceRuntime* runtime = nullptr;  // may be null
  const Textures* textures = nullptr;
  const Device* device = nullptr;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0, stack_bytes = 0;
  bool cooperative = false;
  std::array<uint32_t, 3> cluster{1, 1, 1};  // blocks
  uint64_t grid_workspace = 0;               // address of a cooperative launch's, zeroed; else 0
  uint64_t graph = 0;                        // the executable graph it is in; else 0
  std::vector<uint8_t> parameters;
  uint64_t max_instructions = 0;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(uint64_t done)> progress;  // may be empty
};

// The writes of one warp instruction, for comparisons of executors. `values` has a value for each lane.
struct Written {
  std::array<uint32_t, 3> block{};
  uint32_t warp = 0, lanes = 0;
  const ptx::Function* function = nullptr;
  const ptx::Instruction* instruction = nullptr;
  uint32_t reg = 0;  // index into the function's registers
  std::array<uint64_t, 32> values{};
};
// A store to global memory, or an atomic on it, of one lane.
struct Stored {
  std::array<uint32_t, 3> block{};
  uint32_t warp = 0, lane = 0;
  const ptx::Function* function = nullptr;
  const ptx::Instruction* instruction = nullptr;
  uint64_t address = 0;
  uint32_t bytes = 0;
};
struct Observer {
  std::function<void(const Written&)> written;  // may be empty
  std::function<void(const Stored&)> stored;    // may be empty
};

struct Result {
  Fault fault = Fault::none;
  Counters counters;
  std::vector<LineCounters> lines;
  std::vector<Diagnostic> diagnostics;     // the fault first; without the text of the PTX line
  std::map<uint64_t, std::string> output;  // what blocks printed, up to the one that faulted
  uint64_t spins = 0;  // times a warp used up its turn polling: then counts depend on whose turn it is when
};

// Runs a kernel to its end. Throws Error where the kernel cannot be decoded at all.
Result run(const Launch& launch, const Observer* observer = nullptr);

}  // namespace coalesce::machine::plain
