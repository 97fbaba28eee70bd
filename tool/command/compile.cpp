#include "tool/command/compile.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string_view>

#include "cache/hash.h"
#include "tool/command/child.h"
#include "tool/command/precompile.h"
#include "tool/figures/error.h"
#include "toolchain/find.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

struct Tool {
  Compiler kind;
  fs::path path;
};

unsigned architecture(const machine::Device& device) {
  return std::min(device.major * 10 + device.minor, toolchain::kNewestArchitecture);
}

Tool find_compiler(Compiler wish, unsigned arch) {
  if (wish != Compiler::clang) {
    if (const fs::path nvcc = find_program("nvcc"); !nvcc.empty()) {
      if (toolchain::nvcc_knows(nvcc, arch)) return {Compiler::nvcc, nvcc};
      if (wish == Compiler::nvcc)
        throw Error(
            Exit::environment,
            fmt::format("{} no longer compiles for compute capability {}.{}", nvcc.string(), arch / 10, arch % 10),
            "--compiler clang does");
    } else if (wish == Compiler::nvcc) {
      throw Error(Exit::environment, "no nvcc on PATH", "--compiler clang needs no CUDA toolkit");
    }
  }
  if (const fs::path clang = toolchain::find_clang(); !clang.empty()) return {Compiler::clang, clang};
  throw Error(
      Exit::environment,
      fmt::format("no compiler for CUDA: neither nvcc nor clang++ {} or later is on PATH", toolchain::kOldestClang),
      "on Debian 12: apt install clang-19, or a CUDA toolkit with nvcc on PATH");
}

// The user's flags stand last but for our folders: a library's copy that the user names comes before ours.
std::vector<std::string> last_flags(const CompileOptions& options, const Layout& layout) {
  std::vector<std::string> words = options.flags;
  if (!layout.library.empty()) words.push_back("-I" + layout.library.string());
  return words;
}

// clang's words for a side's code, and those that only say what comes out.
std::vector<std::string> clang_side(const Tool& tool, unsigned arch, const CompileOptions& options,
                                    const Layout& layout, bool device) {
  std::vector<std::string> words = toolchain::clang_words(arch, layout.headers);
  words.insert(words.begin(), tool.path.string());
  if (device) {
    for (const std::string& word : toolchain::clang_device_words()) words.push_back(word);
    words.push_back("-gline-directives-only");
  } else {
    words.insert(words.end(), {"--cuda-host-only", "-c"});
    if (options.host_lines) words.insert(words.end(), {"-gline-tables-only", "-fno-optimize-sibling-calls"});
  }
  return words;
}

// Each side's precompiled cuda_runtime.h, for clang.
struct Headers {
  Precompiled device, host;
};

// The command lines; each is run in turn. All write into `out`, the last makes out/program; dependencies go to
// out/deps*.
std::vector<std::vector<std::string>> commands(const Tool& tool, const fs::path& source, const CompileOptions& options,
                                               unsigned arch, const Layout& layout, const fs::path& out,
                                               const Headers& headers) {
  std::vector<std::vector<std::string>> result;
  const auto add = [&](std::vector<std::string> words) {
    for (const std::string& flag : last_flags(options, layout)) words.push_back(flag);
    words.push_back(source.string());
    result.push_back(std::move(words));
  };
  if (tool.kind == Compiler::nvcc) {
    std::vector<std::string> words = {tool.path.string(), "-cudart", "shared", "-lineinfo"};
    // If both are of one architecture, the machine code is made of the PTX beside it.
    if (options.native == arch || (options.registers && options.native == 0)) {
      words.insert(words.end(), {"-gencode", fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", arch)});
    } else {
      words.insert(words.end(), {"-gencode", fmt::format("arch=compute_{0},code=compute_{0}", arch)});
      if (options.native)
        words.insert(words.end(), {"-gencode", fmt::format("arch=compute_{0},code=sm_{0}", options.native)});
    }
    if (options.host_lines) words.insert(words.end(), {"-Xcompiler", "-g1,-fno-optimize-sibling-calls"});
    words.insert(words.end(),
                 {"-O3", "-std=c++17", "-MD", "-MF", (out / "deps").string(), "-o", (out / "program").string()});
    add(std::move(words));
    return result;
  }
  const std::string ptx = (out / "device.ptx").string();
  for (const bool device : {true, false}) {
    std::vector<std::string> words = clang_side(tool, arch, options, layout, device);
    const fs::path& header = device ? headers.device.file : headers.host.file;
    if (header.empty()) {
      for (const std::string& word : toolchain::clang_header_words()) words.push_back(word);
    } else {
      words.insert(words.end(), {"-Xclang", "-include-pch", "-Xclang", header.string()});
    }
    if (!device) words.insert(words.end(), {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", ptx});
    words.insert(words.end(), {"-MD", "-MF", (out / (device ? "deps-device" : "deps-host")).string(), "-o",
                               device ? ptx : (out / "host.o").string()});
    add(std::move(words));
  }
  result.push_back({tool.path.string(), (out / "host.o").string(), runtime_library(layout).string(), "-o",
                    (out / "program").string()});
  // Libraries the user names are for the linker; the other flags do it no harm.
  result.back().insert(result.back().end(), options.flags.begin(), options.flags.end());
  return result;
}

// The compiler is part of the key by what it is, not by asking it: starting nvcc costs as much as a small program
// takes.
void hash_compiler(cache::Sha256& hash, const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  struct stat status{};
  if (!error && stat(real.c_str(), &status) == 0) {
    hash.field(real.string())
        .field(fmt::format("{} {}.{}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
  }
}

// False for flags that may name a file by its path from the current folder, such as -Wl,-rpath,lib.
bool names_no_relative_path(const std::string& flag) {
  constexpr std::string_view kStarts[] = {"-D", "-U", "-O", "-std=", "-I/", "-L/", "-l", "-W", "-Xarch_", "-fgpu-"};
  return flag.find(',') == flag.npos && std::any_of(std::begin(kStarts), std::end(kStarts),
                                                    [&](std::string_view start) { return flag.starts_with(start); });
}

// The compiler, and what it looks at beside its words.
std::string environment_key(const Tool& tool, const std::vector<std::string>& flags) {
  cache::Sha256 hash;
  hash_compiler(hash, tool.path);
  // These variables add flags and folders unseen.
  bool relative = !std::all_of(flags.begin(), flags.end(), names_no_relative_path);
  for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH"}) {
    const char* value = std::getenv(name);
    hash.field(value ? value : "");
    relative = relative || value;
  }
  // Relative paths in any of them mean the current folder's; nothing else does, and what is compiled for a source in
  // one folder serves in all others.
  std::error_code ignored;
  hash.field(relative ? fs::current_path(ignored).string() : "");
  return hash.hex();
}

std::string request_key(const std::string& environment, const std::vector<std::vector<std::string>>& lines,
                        const std::string& text) {
  cache::Sha256 hash;
  hash.field("coalesce compile 3").field(text).field(environment);
  for (const auto& line : lines) {
    hash.field(std::to_string(line.size()));
    for (const std::string& word : line) hash.field(word);
  }
  return hash.hex();
}

// Runs them until one fails; its exit code.
int run_all(const std::vector<std::vector<std::string>>& lines) {
  for (const auto& words : lines) {
    // Standard output belongs to the program that will run; the compiler's goes beside its messages.
    const Outcome outcome = run_child({.words = words, .output_to_stderr = true});
    if (outcome.interrupted) throw Error(Exit::interrupted, "interrupted while compiling");
    if (outcome.code != 0) return outcome.code;
  }
  return 0;
}

}  // namespace

fs::path compile(const fs::path& source, const CompileOptions& options, const machine::Device& device,
                 const Layout& layout, Cache& cache) {
  errno = 0;
  const auto text = read_file(source);
  if (!text)
    throw Error(Exit::not_started,
                "cannot read '" + source.string() + "'" + (errno ? std::string(": ") + std::strerror(errno) : ""));
  std::error_code ignored;  // opening a folder succeeds
  if (fs::is_directory(source, ignored)) throw Error(Exit::not_started, "'" + source.string() + "' is a folder");
  const unsigned arch = architecture(device);
  const Tool tool = find_compiler(options.compiler, arch);
  require_runtime(layout);
  if (tool.kind == Compiler::clang && layout.headers.empty()) {
    throw Error(Exit::environment, "the CUDA headers for clang are missing from this installation");
  }
  // The absolute path is part of the key: it stands in line information, assertions and __FILE__.
  const fs::path absolute = fs::absolute(source);
  const std::string environment = environment_key(tool, options.flags);
  const std::string request =
      request_key(environment, commands(tool, absolute, options, arch, layout, "out", {}), *text);
  if (const auto program = cache.find(request)) return *program;

  if (options.announce)
    std::cerr << "compiling " << source.filename().string() << " with " << tool.path.filename().string() << '\n';
  const fs::path out = cache.scratch();
  const auto started = fs::file_time_type::clock::now();
  Headers headers;
  if (tool.kind == Compiler::clang) {
    const auto header = [&](bool for_device) {
      return precompile(clang_side(tool, arch, options, layout, for_device), last_flags(options, layout), environment,
                        options.flags.empty(), cache);
    };
    headers = {header(true), header(false)};
  }
  const auto compiled = [&] { return run_all(commands(tool, absolute, options, arch, layout, out, headers)); };
  int code = compiled();
  if (code != 0) {
    const bool device_damaged = is_damaged(headers.device), host_damaged = is_damaged(headers.host);
    if (device_damaged || host_damaged) {
      headers = {};
      code = compiled();
    }
  }
  if (code != 0)
    throw Error(Exit::not_started, fmt::format("'{}' does not compile ({} ended with {})", source.string(),
                                               tool.path.filename().string(), code));
  std::vector<fs::path> files = headers.device.files;
  files.insert(files.end(), headers.host.files.begin(), headers.host.files.end());
  for (const char* name : {"deps", "deps-device", "deps-host"}) {
    for (const fs::path& file : parse_dependencies(read_file(out / name).value_or(""))) {
      // Files of our own are gone the next time; a precompiled header stands for what it was made of.
      if (file.parent_path() != out && file != headers.device.file && file != headers.host.file)
        files.push_back(fs::absolute(file));
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return cache.keep(request, out, files, started);
}

}  // namespace coalesce::tool
