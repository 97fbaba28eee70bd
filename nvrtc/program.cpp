#include "nvrtc/program.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nvrtc/compiler.h"
#include "nvrtc/names.h"
#include "nvrtc/options.h"
#include "toolchain/find.h"
#include "toolchain/process.h"

namespace coalesce::nvrtc {
namespace fs = std::filesystem;
namespace {

// Removed in the end.
struct Scratch {
  fs::path path;
  Scratch() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "coalesce-nvrtc-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

bool write(const fs::path& file, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  std::ofstream out(file, std::ios::binary);
  out << text;
  return static_cast<bool>(out.flush());
}

// Names such as ../common.h stay inside of the scratch folder this far up.
constexpr const char* kHeaders = "h/e/a/d/e/r/s";

// Whether a header of this name lies below `top` when it is looked for from `base`.
bool within(const fs::path& top, const fs::path& file) {
  const fs::path relative = file.lexically_normal().lexically_relative(top);
  return !relative.empty() && *relative.begin() != "..";
}

std::string as_literal(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' || c == '\\' ? std::string{'\\', c} : c == '\n' ? " " : std::string{c};
  return text + "\"";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Result compile(Program& program, int count, const char* const* words) {
  program.compiled = false;
  program.ptx.clear();
  program.lowered.clear();
  const auto failed = [&](Result result, const std::string& why) {
    program.log = "nvrtc: error: " + why + "\n";
    return result;
  };
  Options options;
  if (const std::string wrong = read_options(count, words, options); !wrong.empty())
    return failed(NVRTC_ERROR_INVALID_OPTION, wrong);
  std::string problem;
  const Compiler compiler = choose_compiler(options, problem);
  if (compiler.path.empty()) return failed(NVRTC_ERROR_COMPILATION, problem);

  const Scratch scratch;
  if (scratch.path.empty())
    return failed(NVRTC_ERROR_COMPILATION, "no folder can be made for temporary files; set TMPDIR");
  Files files{.source = scratch.path / "source.cu",
              .headers = scratch.path / kHeaders,
              .ptx = scratch.path / "ptx",
              .beside = {}};
  if (options.source_folder) {
    files.beside = fs::path(program.name).parent_path();
    if (files.beside.empty()) files.beside = ".";
  }
  const Frame around = frame(compiler, options);
  bool written = write(files.source, around.before + "#line 1 " + as_literal(program.name) + "\n" + program.source +
                                         name_variables(program.expressions) + around.after);
  for (const auto& [name, text] : program.headers) {
    if (!within(scratch.path, files.headers / name))
      return failed(NVRTC_ERROR_COMPILATION, "the header '" + name + "' is given as text and has the name of a file " +
                                                 "outside; give it a relative name");
    written = written && write(files.headers / name, text);
  }
  if (!written) return failed(NVRTC_ERROR_COMPILATION, "cannot write to " + scratch.path.string());

  const unsigned architecture = architecture_for(compiler, options);
  const auto cancelled = [&] { return program.callback != nullptr && program.callback(program.payload, nullptr) != 0; };
  if (cancelled()) return NVRTC_ERROR_CANCELLED;
  toolchain::Ran ran = toolchain::run(command_line(compiler, options, architecture, files),
                                      program.callback != nullptr ? cancelled : std::function<bool()>());
  if (ran.cancelled) return NVRTC_ERROR_CANCELLED;
  replace_all(ran.text, files.headers.string() + "/", "");
  replace_all(ran.text, files.source.string(), program.name);
  program.log = ran.text;
  if (options.architecture > architecture)
    program.log += "nvrtc: warning: compiled for compute_" + std::to_string(architecture) + ", the newest that " +
                   compiler.path.filename().string() + " is used for\n";
  program.ptx = read(files.ptx);
  if (ran.code != 0 || program.ptx.empty()) {
    program.ptx.clear();
    if (program.log.empty())
      program.log = compiler.path.string() + " ended with " + std::to_string(ran.code) + " and wrote no PTX\n";
    return NVRTC_ERROR_COMPILATION;
  }
  program.lowered = take_names(program.expressions, program.ptx);
  program.machine_code = options.machine_code;
  program.compiled = true;
  return NVRTC_SUCCESS;
}

const std::vector<int>& architectures() {
  static const std::vector<int>* found = [] {
    auto* list = new std::vector<int>;
    if (const fs::path nvcc = toolchain::find_program("nvcc"); !nvcc.empty()) {
      std::istringstream lines(toolchain::run({nvcc.string(), "--list-gpu-arch"}).text);
      constexpr std::string_view kPrefix = "compute_";
      for (std::string line; std::getline(lines, line);)
        if (line.starts_with(kPrefix)) list->push_back(std::atoi(line.c_str() + kPrefix.size()));
      std::sort(list->begin(), list->end());
    }
    if (list->empty() && !toolchain::find_clang().empty())
      *list = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
    return list;
  }();
  return *found;
}

}  // namespace coalesce::nvrtc
