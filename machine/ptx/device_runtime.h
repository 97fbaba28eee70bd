// Functions that kernels call and that NVIDIA's device library (libcudadevrt) defines, in PTX of our own.
#pragma once

#include <vector>

#include "machine/ptx/module.h"

namespace coalesce::ptx {

// Adds a module that defines cudaCGGetIntrinsicHandle and cudaCGSynchronize where one of `modules` declares one of them
// and none defines it. A grid's handle is the address of its workspace; 0: the launch is not cooperative.
void add_device_runtime(std::vector<Module>& modules);

}  // namespace coalesce::ptx
