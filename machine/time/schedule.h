// The order in which ptxas would put instructions that run one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"
#include "machine/time/costs.h"

namespace coalesce::machine {

// An instruction may not pass these.
enum class Keeps : uint8_t { free, lanes, load, store, all };
Keeps what_keeps(const Instruction& instruction);

struct Scheduled {
  InstructionCost cost;
  Keeps keeps = Keeps::free;
  AddressSpace space = AddressSpace::generic;     // of an access
  std::vector<uint32_t> reads = {}, writes = {};  // registers
};

// Registers of a thread, of 32 bits: what ptxas has, and what is in use around the instructions.
struct ThreadRegisters {
  uint32_t most = 0;                // 0: not known, no limit
  std::vector<uint8_t> words = {};  // by register of the program
  std::vector<uint32_t> in, out;    // live before the first, after the last instruction
};

// Their places in the order of issue. What is ready goes, and of that first what the longest chain waits for, so that
// chains which do not need each other overlap and loads go early, as far as there are registers for what they bring.
// Kept in the order of the program: accesses that may meet in memory, operations between lanes, and all of it around
// barriers and fences; all around a branch. Cost: n log n, and the pairs of loads and stores.
std::vector<uint32_t> schedule(const std::vector<Scheduled>& code, const Limits& limits,
                               const ThreadRegisters& thread = {});

}  // namespace coalesce::machine
