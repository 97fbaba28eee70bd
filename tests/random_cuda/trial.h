// Compiles sources with the command `coalesce` and runs them.
#pragma once

#include <string>
#include <vector>

#include "tests/random_cuda/generator.h"

namespace coalesce::random_cuda {

struct Compilation {
  const char* name;
  const char* compiler;            // nvcc or clang
  std::vector<const char*> flags;  // for the compiler
};
const std::vector<Compilation>& compilations();

struct Paths {
  std::string command;  // coalesce
  std::string include;  // the folder of harness.h
  std::string scratch;  // sources, outputs and the compilers' cache
};

struct Failure {
  uint32_t seed;
  bool launch;          // a launch failed: what came after it was not run
  std::string message;  // its line
};

struct Outcome {
  enum class Kind : uint8_t { ran, no_program, other };
  Kind kind;
  std::vector<Failure> failures;
  std::string message;  // where it did not run
  bool complete() const { return kind == Kind::ran && (failures.empty() || !failures.back().launch); }
};

// Runs the programs of a source (all, or the one named by `seed`). `name` tells its files from others'.
Outcome run(const Paths& paths, const std::string& name, const std::string& source, const Compilation& compilation,
            const std::string& engine, int64_t seed = -1);

}  // namespace coalesce::random_cuda
