#include "nvrtc/compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "toolchain/find.h"

namespace coalesce::nvrtc {
namespace fs = std::filesystem;
namespace {

constexpr unsigned kDefaultArchitecture = 75;  // NVRTC 13's; every compiler here knows it

void add(std::vector<std::string>& words, std::initializer_list<std::string> more) { words.insert(words.end(), more); }

std::string truth(bool value) { return value ? "true" : "false"; }

std::vector<std::string> nvcc_words(const Compiler& compiler, const Options& o, unsigned architecture) {
  std::vector<std::string> words = {
      compiler.path.string(), "-ptx", "-x", "cu", "-arch=compute_" + std::to_string(architecture),
      "-std=" + o.standard};
  if (o.lines) words.push_back("-lineinfo");
  if (o.debug) words.push_back("-G");
  if (o.fast)
    words.push_back("-use_fast_math");
  else
    add(words, {"-ftz=" + truth(o.flush), "-prec-div=" + truth(o.precise_divide), "-prec-sqrt=" + truth(o.precise_root),
                "-fmad=" + truth(o.fuse)});
  if (o.relocatable) words.push_back("-rdc=true");
  if (o.quiet) words.push_back("-w");
  if (o.restricted) words.push_back("-restrict");
  if (o.registers != 0) words.push_back("-maxrregcount=" + std::to_string(o.registers));
  return words;
}

std::vector<std::string> clang_words(const Compiler& compiler, const Options& o, unsigned architecture) {
  std::vector<std::string> words = toolchain::clang_words(architecture, headers_folder(), o.standard);
  words.insert(words.begin(), compiler.path.string());
  for (const std::string& word : toolchain::clang_header_words()) words.push_back(word);
  for (const std::string& word : toolchain::clang_device_words()) words.push_back(word);
  if (o.lines || o.debug) words.push_back("-gline-directives-only");
  words.push_back(o.fuse ? "-ffp-contract=fast" : "-ffp-contract=off");
  if (o.flush) words.push_back("-fgpu-flush-denormals-to-zero");
  if (!o.precise_divide) add(words, {"-mllvm", "-nvptx-prec-divf32=0"});
  if (!o.precise_root) add(words, {"-mllvm", "-nvptx-prec-sqrtf32=0"});
  if (o.relocatable) words.push_back("-fgpu-rdc");
  words.push_back("-Wno-unknown-cuda-version");
  if (o.quiet) words.push_back("-w");
  return words;
}

}  // namespace

Compiler choose_compiler(const Options& options, std::string& problem) {
  const unsigned architecture = options.architecture != 0 ? options.architecture : kDefaultArchitecture;
  // nvcc takes functions without an annotation for the host's, whatever it is told.
  if (!options.all_device) {
    const fs::path nvcc = toolchain::find_program("nvcc");
    if (!nvcc.empty() && toolchain::nvcc_knows(nvcc, architecture)) return {nvcc, true};
  }
  if (const fs::path clang = toolchain::find_clang(); !clang.empty()) {
    std::error_code ignored;
    if (fs::is_directory(headers_folder(), ignored)) return {clang, false};
    problem = "the CUDA headers for clang are not in '" + headers_folder().string() +
              "'; install the project as a whole, or set COALESCE_HEADERS";
    return {};
  }
  problem = "no compiler for CUDA " +
            (options.all_device ? std::string("with -default-device ")
                                : "for compute_" + std::to_string(architecture) + " ") +
            "is on PATH; on Debian 12: apt install clang-19";
  return {};
}

fs::path headers_folder() {
  if (const char* told = std::getenv("COALESCE_HEADERS"); told != nullptr && *told != '\0') return told;
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&headers_folder), &self) == 0 || self.dli_fname == nullptr) return {};
  // <prefix>/lib/coalesce/nvrtc/libnvrtc.so.13
  std::error_code error;
  const fs::path file = fs::canonical(self.dli_fname, error);
  return file.parent_path().parent_path().parent_path().parent_path() / "share/coalesce/include";
}

unsigned architecture_for(const Compiler& compiler, const Options& options) {
  if (options.architecture == 0) return kDefaultArchitecture;
  return compiler.nvcc ? options.architecture : std::min(options.architecture, toolchain::kNewestArchitecture);
}

Frame frame(const Compiler& compiler, const Options& options) {
  // The compiler includes the runtime's header first, without the macro; the program's text sees it as under NVRTC.
  Frame text{"#define __CUDACC_RTC__\n", ""};
  if (!compiler.nvcc && options.all_device) {
    text.before += "#pragma clang force_cuda_host_device begin\n";
    text.after = "\n#pragma clang force_cuda_host_device end\n";
  }
  return text;
}

std::vector<std::string> command_line(const Compiler& compiler, const Options& options, unsigned architecture,
                                      const Files& files) {
  std::vector<std::string> words =
      compiler.nvcc ? nvcc_words(compiler, options, architecture) : clang_words(compiler, options, architecture);
  words.push_back("-I" + files.headers.string());
  for (const std::string& word : options.preprocessor) words.push_back(word);
  if (!files.beside.empty()) words.push_back("-I" + files.beside.string());
  for (const std::string& header : options.included) add(words, {"-include", header});
  add(words, {"-o", files.ptx.string(), files.source.string()});
  return words;
}

}  // namespace coalesce::nvrtc
