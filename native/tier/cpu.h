// The CPU's name, as part of the name of code compiled for it. Without LLVM, because cached code is found before LLVM
// is loaded.
#pragma once

#include <string>

namespace coalesce::native {

// Equal on two computers: code compiled for the one runs on the other as it would there. Model and every feature.
std::string cpu_identity();

}  // namespace coalesce::native
