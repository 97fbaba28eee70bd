// NVRTC's options, read into what both compilers can be told.
#pragma once

#include <string>
#include <vector>

namespace coalesce::nvrtc {

struct Options {
  unsigned architecture = 0;  // 90 for compute_90 and sm_90a; 0: not given
  bool machine_code = false;  // sm_90: the program also asks for a cubin
  std::string standard = "c++17";
  // -D, -U, -I and -include in the program's order, each as one word that both compilers take.
  std::vector<std::string> preprocessor;
  std::vector<std::string> included;  // headers before the source
  bool source_folder = true;          // the folder of the source's name is searched for headers
  bool lines = false, debug = false;
  bool flush = false, precise_divide = true, precise_root = true, fuse = true, fast = false;
  bool all_device = false;  // functions without an annotation are for the device
  bool relocatable = false;
  bool quiet = false;  // no warnings
  bool restricted = false;
  unsigned registers = 0;  // at most so many; 0: as the compiler likes
};

// Reads `count` options. Returns an empty string, or why one of them is wrong, in NVRTC's words.
std::string read_options(int count, const char* const* words, Options& options);

}  // namespace coalesce::nvrtc
