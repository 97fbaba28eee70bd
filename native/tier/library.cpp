#include "native/tier/library.h"

#include <dlfcn.h>

#include <array>
#include <fstream>

#include "cache/hash.h"

namespace coalesce::native {
namespace fs = std::filesystem;

fs::path find_library() {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<const void*>(&find_library), &self) || !self.dli_fname) return {};
  std::error_code ignored;
  const fs::path folder = fs::absolute(self.dli_fname, ignored).parent_path();
  // Beside libcudart; above glibc-hwcaps/<level>, where its copies for better CPUs lie; in a build tree's lib/ for a
  // program of bin/.
  for (const char* way : {"", "../..", "../lib"}) {
    const fs::path library = folder / way / "libcoalesce_native.so";
    if (fs::exists(library, ignored)) return library.lexically_normal();
  }
  return {};
}

std::string library_identity(const fs::path& library) {
  std::array<char, 4096> start{};
  std::ifstream(library, std::ios::binary).read(start.data(), start.size());
  return cache::Sha256().add({start.data(), start.size()}).hex();
}

CompileFunction load_library(const fs::path& library, std::string& error) {
  if (library.empty()) {
    error = "this build has no libcoalesce_native.so";
    return nullptr;
  }
  // It stays loaded to the end: LLVM cannot be unloaded.
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  void* symbol = handle ? dlsym(handle, kCompileSymbol) : nullptr;
  if (!symbol) {
    const char* why = dlerror();
    error = why ? why : "dlopen failed";
  }
  return reinterpret_cast<CompileFunction>(symbol);
}

}  // namespace coalesce::native
