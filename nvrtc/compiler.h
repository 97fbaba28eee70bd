// The command line that compiles a program of NVRTC.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nvrtc/options.h"

namespace coalesce::nvrtc {

struct Compiler {
  std::filesystem::path path;
  bool nvcc = false;
};

// nvcc, or clang where there is none, or where nvcc does not have the options. On failure `path` is empty, and
// `problem` says why.
Compiler choose_compiler(const Options& options, std::string& problem);

// The folder of our CUDA headers (cudart/include): $COALESCE_HEADERS, or beside this library as it is installed.
std::filesystem::path headers_folder();

// The text before and after the program's source.
struct Frame {
  std::string before, after;
};
Frame frame(const Compiler& compiler, const Options& options);

struct Files {
  std::filesystem::path source, headers, ptx;  // `headers`: the folder of those given as strings
  std::filesystem::path beside;                // the folder of the source's name; empty: not searched
};

std::vector<std::string> command_line(const Compiler& compiler, const Options& options, unsigned architecture,
                                      const Files& files);

// The capability to compile for: what the options say, at most what the compiler knows.
unsigned architecture_for(const Compiler& compiler, const Options& options);

}  // namespace coalesce::nvrtc
