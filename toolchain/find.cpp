#include "toolchain/find.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "toolchain/process.h"

namespace coalesce::toolchain {
namespace fs = std::filesystem;
namespace {

constexpr int kNewestClang = 30;

}  // namespace

fs::path find_program(const std::string& name) {
  const auto runnable = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runnable(name) ? fs::path(name) : fs::path();
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (runnable(candidate)) return candidate;
  }
  return {};
}

fs::path find_clang() {
  // 19 is the one the headers are tested with; then what else is new enough. Plain clang++ may be an old one: asked
  // last.
  if (const fs::path tested = find_program("clang++-19"); !tested.empty()) return tested;
  for (int version = kNewestClang; version >= kOldestClang; --version) {
    if (const fs::path found = find_program("clang++-" + std::to_string(version)); !found.empty()) return found;
  }
  const fs::path plain = find_program("clang++");
  if (plain.empty()) return {};
  const Ran asked = run({plain.string(), "-dumpversion"});
  return asked.code == 0 && std::atoi(asked.text.c_str()) >= kOldestClang ? plain : fs::path();
}

bool nvcc_knows(const fs::path& nvcc, unsigned architecture) {
  constexpr unsigned kAlwaysKnown = 75;
  if (architecture >= kAlwaysKnown && architecture <= kNewestArchitecture) return true;
  const Ran asked = run({nvcc.string(), "--list-gpu-arch"});
  return asked.code != 0 || asked.text.find("compute_" + std::to_string(architecture) + "\n") != std::string::npos;
}

std::vector<std::string> clang_words(unsigned architecture, const fs::path& headers, const std::string& standard) {
  // -nocudainc and a path that is no toolkit: clang then brings none of a toolkit's headers, and ours take their place.
  // The SDK version only decides how the host code launches kernels (the way of CUDA 9.2 and later).
  return {"-x",
          "cuda",
          "--cuda-path=/nonexistent",
          "-nocudainc",
          "-nocudalib",
          "-Xclang",
          "-target-sdk-version=12.5",
          "--cuda-gpu-arch=sm_" + std::to_string(architecture),
          "-O3",
          "-std=" + standard,
          "-isystem",
          headers.string()};
}

std::vector<std::string> clang_header_words() { return {"-include", "cuda_runtime.h"}; }

std::vector<std::string> clang_device_words() {
  // Without a toolkit clang assumes the oldest PTX, which has no *_sync instruction. 7.8 is the first with all of
  // compute capability 9.0, and every clang from 16 on writes it.
  return {"--cuda-device-only", "--cuda-feature=+ptx78", "-S"};
}

}  // namespace coalesce::toolchain
