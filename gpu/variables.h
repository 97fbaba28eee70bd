// Names of the variables that kernels of a module may write, from its image: PTX, machine code (ELF), or a fat binary
// of them. The driver lists a module's functions only. Some names may be of other things.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coalesce::gpu {

struct ModuleVariables {
  std::vector<std::string> names;
  bool all = true;  // false: parts of the image are damaged
};

// An image as programs give it to the driver, which says itself how long it is.
ModuleVariables variables_of_image(const void* image);
// The same of a part that is so long.
ModuleVariables variables_of(std::string_view part);

}  // namespace coalesce::gpu
