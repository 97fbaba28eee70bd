// `coalesce run file.cu`: compiles it with nvcc where there is one, otherwise with clang and our headers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "machine/device.h"
#include "tool/command/cache.h"
#include "tool/command/layout.h"

namespace coalesce::tool {

enum class Compiler { automatic, nvcc, clang };

struct CompileOptions {
  Compiler compiler = Compiler::automatic;
  std::vector<std::string> flags;  // the user's, last on the command line
  // Not 0: for a GPU of this compute capability (90: 9.0), by nvcc. The program also holds the PTX that the machine
  // runs.
  unsigned native = 0;
  bool registers = false;   // machine code of the PTX, too: it says how many registers ptxas has given
  bool host_lines = false;  // lines of the host's code, too, for backtraces
  bool announce = false;    // say on standard error that it compiles
};

// The program that `source` compiles to, from the cache or fresh. The compiler's messages go to standard error
// untouched. Throws Error: failed when it does not compile, environment when there is no compiler.
std::filesystem::path compile(const std::filesystem::path& source, const CompileOptions& options,
                              const machine::Device& device, const Layout& layout, Cache& cache);

}  // namespace coalesce::tool
