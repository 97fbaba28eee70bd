// A second, naive machine for the differential test: interprets a parsed module instruction by instruction, lane by
// lane, with the textbook reconvergence stack and counts taken from sets of addresses. It shares nothing with the
// engine but the parser. Blocks run one after the other, warps of a block in turns from barrier to barrier.
//
// It knows the instructions that generator.cpp emits and throws for any other. Barriers must be reached by all lanes
// that are alive, *.sync instructions by all they name.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/observe/counters.h"
#include "machine/ptx/module.h"

namespace coalesce::machine::test {

struct ReferenceLaunch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
  std::vector<uint8_t> parameters;
};

struct ReferenceResult {
  Counters counters;
  uint64_t steps = 0;
};

// `memory`: global memory by base address; changed in place.
ReferenceResult reference_run(const ptx::Module& module, const std::string& kernel, const ReferenceLaunch& launch,
                              std::map<uint64_t, std::vector<uint8_t>>& memory);

}  // namespace coalesce::machine::test
