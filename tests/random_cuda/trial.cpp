#include "tests/random_cuda/trial.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace coalesce::random_cuda {

const std::vector<Compilation>& compilations() {
  // The host's side is what both are compared with: not optimised by clang, and fully by nvcc's host compiler. Nowhere
  // may a product and a sum become one operation.
  static const std::vector<Compilation> all = {
      {"clang-O0", "clang", {"-ffp-contract=off", "-O0"}},
      {"clang-O2", "clang", {"-ffp-contract=off", "-O2", "-Xarch_host", "-O0"}},
      {"nvcc-G", "nvcc", {"-fmad=false", "-G", "-Xcompiler", "-fno-strict-aliasing"}},
      {"nvcc-O1", "nvcc", {"-fmad=false", "-Xcicc", "-O1", "-Xcompiler", "-fno-strict-aliasing"}},
      {"nvcc-O3", "nvcc", {"-fmad=false", "-Xcompiler", "-fno-strict-aliasing"}},
  };
  return all;
}

Outcome run(const Paths& paths, const std::string& name, const std::string& source, const Compilation& compilation,
            const std::string& engine, int64_t seed) {
  const std::string base = paths.scratch + "/" + name;
  {
    std::ostringstream before;
    before << std::ifstream(base + ".cu").rdbuf();
    if (before.str() != source) std::ofstream(base + ".cu") << source;
  }
  std::string line = "XDG_CACHE_HOME='" + paths.scratch + "/cache' timeout 300 '" + paths.command +
                     "' run -q --threads 1" + " --max-instructions 100000000 --engine " + engine + " --compiler " +
                     compilation.compiler + " -X -w '-X-I" + paths.include + "'";
  for (const char* flag : compilation.flags) line += std::string(" -X ") + flag;
  line += " '" + base + ".cu'" + (seed >= 0 ? " " + std::to_string(seed) : "") + " >'" + base + ".out' 2>'" + base +
          ".err'";
  const int status = std::system(line.c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  Outcome result{Outcome::Kind::ran, {}, ""};
  std::ifstream out(base + ".out");
  for (std::string line_out; std::getline(out, line_out);) {
    if (!line_out.starts_with("seed ")) continue;
    const auto which = static_cast<uint32_t>(std::strtoul(line_out.c_str() + 5, nullptr, 10));
    result.failures.push_back({which, line_out.find(" failed: ") != std::string::npos, line_out});
  }
  if (code == 0 || (code == 1 && !result.failures.empty())) return result;
  std::ostringstream errors;
  errors << std::ifstream(base + ".err").rdbuf();
  result.kind =
      errors.str().find("does not compile") == std::string::npos ? Outcome::Kind::other : Outcome::Kind::no_program;
  result.message = "exit code " + std::to_string(code) + "\n" + errors.str().substr(0, 4000);
  return result;
}

}  // namespace coalesce::random_cuda
