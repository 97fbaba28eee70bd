// The cost of an instruction of the decoded program, and the order in which ptxas would put those of a basic block.
#pragma once

#include <vector>

#include "machine/program/program.h"
#include "machine/time/chains.h"
#include "machine/time/limits.h"

namespace coalesce::machine {

enum class Pipe : uint8_t { none, fp32, alu, fp64, half, special, shuffle, tensor, memory, barrier };
inline constexpr std::size_t kPipes = 10;

struct InstructionCost {
  Pipe pipe = Pipe::none;  // none: it needs no issue slot (moves, parameters)
  float slots = 0;         // warp instructions of the hardware that it becomes
  float latency = 0;       // cycles until its result can be read; of memory: the caches say
  float held = 0;          // slots of the pipe, where these are not the instructions that it issues
  bool branches = false;   // around a rare case: ptxas moves nothing past it, and the warp waits for the result
};

// The program's instructions as the replay takes them.
struct Costs {
  struct Entry {
    InstructionCost cost;
    uint32_t instruction = 0;
    uint32_t line = 0;                                                // of the code, 128 bytes
    uint32_t link = 0;                                                // of the chain: where its block stands
    uint32_t first_read = 0, reads = 0, first_write = 0, writes = 0;  // in `registers`
  };
  std::vector<Entry> entries;  // run by run, in the order in which they are issued
  // A chain of basic blocks, and its entries.
  struct Run {
    Chain chain = {};
    uint32_t first = 0, last = 0;
  };
  std::vector<Run> once, unrolled;  // by the basic block that they begin with
  std::vector<uint32_t> registers;  // what entries read and write
  uint32_t register_count = 0;      // the program's, and those that turns of an unrolled loop have of their own
  double pipe_rate[kPipes] = {};    // slots a cycle
  double slots = 0;                 // instructions of the hardware in the program's code
  uint32_t lines = 0;               // of the code that the entries stand for
};

InstructionCost cost_of(const Decoded& program, const Instruction& instruction, const Limits& limits);

// Blocks are put in the order of schedule.h.
Costs find_costs(const Decoded& program, const Limits& limits);

}  // namespace coalesce::machine
