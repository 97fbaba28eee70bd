#include "tool/command/gpu.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tool/command/compile.h"
#include "tool/command/elf.h"
#include "tool/command/redirect.h"
#include "tool/figures/error.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

// Numbers of the driver's CUdevice_attribute.
constexpr int kMajor = 75, kMinor = 76;

// The folders of nvcc's own runtime; empty: no nvcc.
std::vector<fs::path> toolkit_folders() {
  const fs::path nvcc = find_program("nvcc");
  std::error_code error;
  const fs::path root = nvcc.empty() ? fs::path() : fs::canonical(nvcc, error).parent_path().parent_path();
  std::vector<fs::path> folders;
  for (const char* folder : {"lib64", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"}) {
    if (!root.empty() && fs::is_directory(root / folder, error)) folders.push_back(root / folder);
  }
  return folders;
}
std::string toolkit_libraries() {
  std::string folders;
  for (const fs::path& folder : toolkit_folders()) folders += (folders.empty() ? "" : ":") + folder.string();
  return folders;
}

// The toolkit's folder with the shared runtime; empty: none, and static ones run as they are.
fs::path shared_runtime_folder() {
  std::error_code error;
  for (const fs::path& folder : toolkit_folders())
    if (fs::exists(folder / "libcudart.so", error)) return folder;
  return {};
}

}  // namespace

std::optional<Gpu> find_gpu(std::string& why) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    why = "no CUDA driver (libcuda.so.1) on this computer";
    return {};
  }
  const auto function = [&]<typename Function>(Function*& pointer, const char* name) {
    pointer = reinterpret_cast<Function*>(dlsym(driver, name));
    return pointer != nullptr;
  };
  int (*initialize)(unsigned) = nullptr, (*count)(int*) = nullptr, (*name)(char*, int, int) = nullptr,
      (*attribute)(int*, int, int) = nullptr;
  int devices = 0, major = 0, minor = 0;
  char text[256] = "";
  if (!function(initialize, "cuInit") || !function(count, "cuDeviceGetCount") || !function(name, "cuDeviceGetName") ||
      !function(attribute, "cuDeviceGetAttribute")) {
    why = "libcuda.so.1 is not the CUDA driver";
  } else if (const int status = initialize(0); status != 0) {
    why = fmt::format("the CUDA driver finds no GPU (error {})", status);
  } else if (count(&devices) != 0 || devices == 0) {
    why = "the CUDA driver knows of no GPU";
  } else if (name(text, sizeof text, 0) != 0 || attribute(&major, kMajor, 0) != 0 ||
             attribute(&minor, kMinor, 0) != 0) {
    why = "the CUDA driver does not answer";
  } else {
    return Gpu{text, static_cast<unsigned>(major), static_cast<unsigned>(minor)};
  }
  return {};
}

Gpu require_gpu() {
  std::string why;
  if (auto gpu = find_gpu(why)) return *gpu;
  throw Error(Exit::environment, "cannot run on a GPU: " + why, "--on machine counts without one");
}

std::string device_like(const Gpu& gpu, const std::string& otherwise) {
  for (const machine::Device& device : machine::devices())
    if (device.name == gpu.name) return std::string(device.key);
  return otherwise;
}

Execution execute_on_gpu(Command command, const Measurement& measurement, const Layout& layout) {
  if (layout.gpu.empty())
    throw Error(Exit::environment, "libcoalesce_gpu.so is missing from this installation",
                "it belongs beside libcudart; build or install the project as a whole");
  const std::string& program = command.words.front();
  const Executable executable = inspect_file(program);
  require_runnable(executable, program, true);
  require_unprivileged(program);
  const RecordFile file;
  auto& environment = command.environment;
  environment["LD_PRELOAD"] = prepended(layout.gpu.string(), "LD_PRELOAD", ':');
  if (const std::string folders = toolkit_libraries(); !folders.empty()) {
    const char* own = std::getenv("LD_LIBRARY_PATH");
    environment["LD_LIBRARY_PATH"] = own && *own ? own + (':' + folders) : folders;
  }
  redirect_to(environment, layout, shared_runtime_folder(), layout.gpu);
  environment["COALESCE_GPU_RECORD"] = file.path();
  environment["COALESCE_GPU_REPEAT"] = std::to_string(measurement.repeat);
  environment["COALESCE_GPU_COUNTERS"] = measurement.counters ? "1" : "0";
  environment["COALESCE_GPU_PLAIN"] = measurement.plain ? "1" : "0";
  Execution execution{.outcome = run_child(command), .record = read_record_file(file.path())};
  Record& record = execution.record;
  if (record.unused() && execution.outcome.code == 0)
    throw Error(Exit::not_started, "'" + program + "' launched nothing on the GPU",
                "coalesce run takes a CUDA program, or a .cu file");
  record.on_gpu = true;
  if (record.program.empty()) record.program = program;
  return execution;
}

Limits measure_limits(const Gpu& gpu, const Layout& layout, Cache& cache) {
  if (layout.limits.empty()) throw Error(Exit::environment, "gpu/limits.cu is missing from this installation");
  CompileOptions options;
  options.compiler = Compiler::nvcc;
  options.native = gpu.major * 10 + gpu.minor;
  const fs::path program = compile(layout.limits, options, find_device("h200"), layout, cache);
  Command command{.words = {program.string()}, .output_to_pipe = true};
  if (const std::string folders = toolkit_libraries(); !folders.empty()) {
    const char* own = std::getenv("LD_LIBRARY_PATH");
    command.environment["LD_LIBRARY_PATH"] = own && *own ? own + (':' + folders) : folders;
  }
  const Outcome outcome = run_child(command);
  const auto figures = nlohmann::json::parse(outcome.output, nullptr, false);
  if (outcome.code != 0 || !figures.is_object())
    throw Error(Exit::environment, fmt::format("measuring the GPU's limits ended with {}", outcome.code));
  const auto of = [&](const char* key) { return median(figures.value(key, std::vector<double>())); };
  return {of("read"), of("copy"), of("launch_following"), of("launch_waited")};
}

}  // namespace coalesce::tool
