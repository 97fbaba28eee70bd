// libcoalesce_native.so, found beside the library or program that this is linked into and loaded when it is needed.
#pragma once

#include <filesystem>
#include <string>

#include "native/plugin.h"

namespace coalesce::native {

// The library's path; empty: this build has none.
std::filesystem::path find_library();

// Names this build of the compiler: differs whenever its code differs. Reads the file's beginning, where the linker has
// put its build id; loads nothing.
std::string library_identity(const std::filesystem::path& library);

// Null, and `error` says why, where it cannot be loaded. Cost of the first call: some 20 ms, LLVM being large.
CompileFunction load_library(const std::filesystem::path& library, std::string& error);

}  // namespace coalesce::native
