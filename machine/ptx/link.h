// Several modules -> one: what the device linker does for a program of separately compiled files (nvcc -rdc=true).
#pragma once

#include <vector>

#include "machine/ptx/module.h"

namespace coalesce::ptx {

// Names that are .visible, .weak, .common or .extern mean the same thing in all modules; of several definitions a
// strong one counts, else the first. All other names belong to their module and are renamed where two modules use the
// same one; local kernels keep theirs, because the host asks for them by name. The texts are put end to end, and line
// and file numbers count on through all of them. Cost: linear in the modules.
Module link(std::vector<Module> modules);

}  // namespace coalesce::ptx
