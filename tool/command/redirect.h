// Programs with NVIDIA's static CUDA runtime: what makes them call a shared one (redirect/).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tool/command/layout.h"

namespace coalesce::tool {

// The libcudart_static.a of CUDA toolkits on this computer: beside nvcc, under /usr/local/cuda*, and Debian's.
std::vector<std::string> static_archives();

// Throws Error (failed) where the static runtime in the program at `path` cannot be found, or be redirected.
void require_redirectable(const std::string& path);

// Throws Error (failed) where the dynamic linker or the system keeps us out of the program: set-user-ID, set-group-ID
// and file capabilities make it ignore what the environment says of libraries.
void require_unprivileged(const std::string& path);

// Adds to a child's environment what redirects it, and its children, to the libcudart.so.* in `folder`. `front`: a
// library that stands in front of the runtime; may be empty.
void redirect_to(std::map<std::string, std::string>& environment, const Layout& layout,
                 const std::filesystem::path& folder, const std::filesystem::path& front);

}  // namespace coalesce::tool
