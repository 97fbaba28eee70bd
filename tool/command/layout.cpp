#include "tool/command/layout.h"

#include <cstdlib>

#include "tool/figures/error.h"
#include "toolchain/find.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRuntimeNames[] = {"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};

bool holds_runtime(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : kRuntimeNames) {
    if (fs::exists(folder / name, ignored)) return true;
  }
  return false;
}

fs::path existing(std::initializer_list<fs::path> candidates) {
  std::error_code ignored;
  for (const fs::path& candidate : candidates) {
    if (fs::is_directory(candidate, ignored)) return candidate;
  }
  return {};
}

}  // namespace

Layout find_layout() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = error ? fs::path() : self.parent_path().parent_path();
  Layout layout;
  for (const fs::path& file : {prefix / "lib/coalesce/libcoalesce_gpu.so", prefix / "lib/libcoalesce_gpu.so"}) {
    if (layout.gpu.empty() && fs::exists(file, error)) layout.gpu = file;
  }
  for (const fs::path& file :
       {prefix / "lib/coalesce/libcoalesce_redirect.so", prefix / "lib/libcoalesce_redirect.so"}) {
    if (layout.redirect.empty() && fs::exists(file, error)) layout.redirect = file;
  }
  layout.compiler = existing({prefix / "lib/coalesce/nvrtc", prefix / "lib/nvrtc"});
  layout.runtime = holds_runtime(prefix / "lib/coalesce") ? prefix / "lib/coalesce" : prefix / "lib";
  // Only a build tree looks into the source tree: an installed command must not depend on where it was built.
  fs::path source;
  if (fs::exists(prefix / "CMakeCache.txt", error)) source = COALESCE_SOURCE_DIR;
  const fs::path share = prefix / "share/coalesce";
  if (source.empty()) {
    layout.headers = existing({share / "include"});
    layout.lab = existing({share / "lab"});
    layout.library = fs::is_directory(prefix / "include/coalesce", error) ? prefix / "include" : fs::path();
  } else {
    layout.headers = existing({source / "cudart/include"});
    layout.lab = existing({source / "lab"});
    layout.library = fs::is_directory(source / "include/coalesce", error) ? source / "include" : fs::path();
  }
  const fs::path limits = (source.empty() ? share : source) / "gpu/limits.cu";
  if (fs::exists(limits, error)) layout.limits = limits;
  return layout;
}

void require_runtime(const Layout& layout) {
  if (holds_runtime(layout.runtime)) return;
  throw Error(Exit::environment, "no libcudart in " + layout.runtime.string(),
              "it belongs beside the command; build or install the project as a whole");
}

void require_native(const Layout& layout) {
  std::error_code ignored;
  if (fs::exists(layout.runtime / "libcoalesce_native.so", ignored)) return;
  throw Error(Exit::environment, "no libcoalesce_native.so in " + layout.runtime.string(),
              "--engine auto or interpreter; for native code, build with llvm-19-dev (COALESCE_NATIVE=ON)");
}

fs::path runtime_library(const Layout& layout) {
  require_runtime(layout);
  std::error_code ignored;
  for (const char* name : kRuntimeNames) {
    if (fs::exists(layout.runtime / name, ignored)) return layout.runtime / name;
  }
  return {};
}

fs::path find_program(const std::string& name) { return toolchain::find_program(name); }

}  // namespace coalesce::tool
