// Cooperative launches on several devices: the same kernel on a stream of each.
#pragma once

#include <vector>

#include "cudart/api/launch.h"

namespace coalesce::cudart {

struct DeviceLaunch {
  const void* function;
  Launch launch;
  void** arguments;
};

// Checks all of them before any starts, then runs them one after the other; the device in use stays. A kernel that
// waits for another device's never ends, and is stopped as others that wait for ever. `flags` may leave out that all
// wait for what their streams had to do before, and that what comes after waits for all.
cudaError_t launch_on_devices(Runtime& r, const std::vector<DeviceLaunch>& launches, unsigned flags);

}  // namespace coalesce::cudart
