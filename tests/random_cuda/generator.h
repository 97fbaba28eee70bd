// Random CUDA programs, each its own reference: a source is compiled for the device and, with the emulation of
// include/emulation.h, for the host; it compares what both have computed.
//
// Every program ends, has no data race and no undefined behaviour. What its threads leave does not depend on their
// order: results of atomics are used only where one thread alone has the address.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/random_cuda/node.h"

namespace coalesce::random_cuda {

struct Program {
  uint32_t seed = 0;
  Tree tree;                                 // structs, functions, kernels and `void run(rc::Run&)`
  std::map<std::string, unsigned> features;  // how often each choice was made
};

Program generate(uint32_t seed);

// All features that there are: what no program of a long run has shows a fault of the generator.
std::vector<std::string> all_features();

// One source with these programs, each in a namespace of its own. Needs tests/random_cuda/include on the include path.
std::string source(const std::vector<Program>& programs, const Cuts& cuts = {});

// One source with several variants of one program, by the numbers 0, 1 ... in place of a seed.
std::string source_of_variants(const Program& program, const std::vector<Cuts>& variants);

}  // namespace coalesce::random_cuda
