// The places of the project's parts, seen from the executable, so that an installed tree may be moved:
//
//   <prefix>/bin/coalesce   <prefix>/lib/coalesce/{libcudart,libcoalesce_gpu}.so* <prefix>/share/coalesce/{include,lab}
//   <prefix>/include
//
// and in a build tree <build>/bin/coalesce, <build>/lib/libcudart.so.*, the rest in the source tree.
#pragma once

#include <filesystem>
#include <string>

namespace coalesce::tool {

struct Layout {
  std::filesystem::path runtime;   // folder of libcudart.so.*
  std::filesystem::path headers;   // CUDA headers for clang; empty: not there
  std::filesystem::path library;   // folder that holds coalesce/: the library's headers; empty: not there
  std::filesystem::path lab;       // empty: not there
  std::filesystem::path gpu;       // libcoalesce_gpu.so, which measures on a GPU; empty: not there
  std::filesystem::path limits;    // gpu/limits.cu; empty: not there
  std::filesystem::path redirect;  // libcoalesce_redirect.so, for programs with the static runtime; empty: not there
  std::filesystem::path compiler;  // folder of libnvrtc.so.*, which compiles for running programs; empty: not there
};

// Never throws: a missing part is an empty path, and whoever needs it says so with require_*.
Layout find_layout();

// Throws Error (environment) when libcudart is not where it should be.
void require_runtime(const Layout& layout);
// Throws Error (environment) when there is no native engine beside libcudart: it was built without LLVM.
void require_native(const Layout& layout);
// The libcudart to link with: libcudart.so, or the newest with a version.
std::filesystem::path runtime_library(const Layout& layout);

// An executable of that name on PATH (or the path itself when it has a slash); empty: none.
std::filesystem::path find_program(const std::string& name);

}  // namespace coalesce::tool
