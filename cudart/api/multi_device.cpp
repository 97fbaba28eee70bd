#include "cudart/api/multi_device.h"

#include "cudart/api/capture.h"
#include "cudart/api/operation.h"
#include "cudart/api/stream.h"

namespace coalesce::cudart {
namespace {

// struct cudaLaunchParams
struct LaunchParameters {
  void* function;
  dim3 grid, block;
  void** arguments;
  size_t dynamic_shared;
  cudaStream_t stream;
};

bool same(const dim3& a, const dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

}  // namespace

cudaError_t launch_on_devices(Runtime& r, const std::vector<DeviceLaunch>& launches, unsigned flags) {
  constexpr unsigned kKnownFlags = 3;
  if (launches.empty() || launches.size() > r.devices() || (flags & ~kKnownFlags) != 0) return cudaErrorInvalidValue;
  std::vector<KernelOperation> ready(launches.size());
  uint64_t seen = 0;  // devices
  std::string name;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch &l = launches[i].launch, &first = launches[0].launch;
    if (is_default(l.stream) || !is_stream(l.stream)) return cudaErrorInvalidResourceHandle;
    const unsigned device = device_of(l.stream);
    if ((seen >> device & 1) != 0) return cudaErrorInvalidResourceHandle;
    seen |= uint64_t{1} << device;
    if (!same(l.grid, first.grid) || !same(l.block, first.block) || l.dynamic_shared != first.dynamic_shared)
      return cudaErrorInvalidValue;
    const Using other(r, device);
    Kernel* kernel = nullptr;
    if (const cudaError_t error = r.registry().find_kernel(launches[i].function, kernel); error != cudaSuccess)
      return error;
    if (i == 0) name = kernel->name;
    if (kernel->name != name) return cudaErrorInvalidValue;
    if (const cudaError_t error = prepare(r, launches[i].function, l, launches[i].arguments, {}, ready[i]);
        error != cudaSuccess)
      return error;
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    const Using other(r, ready[i].device);
    if (const cudaError_t error = submit(r, launches[i].launch.stream, std::move(ready[i])); error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

COALESCE_API cudaError_t cudaLaunchCooperativeKernelMultiDevice(LaunchParameters* list, unsigned count,
                                                                unsigned flags) {
  if (list == nullptr) return note(cudaErrorInvalidValue);
  return call([&](Runtime& r) {
    std::vector<DeviceLaunch> launches;
    if (count > r.devices()) return cudaErrorInvalidValue;  // the list is not read further than there may be launches
    for (unsigned i = 0; i < count; ++i) {
      const LaunchParameters& one = list[i];
      launches.push_back({one.function, {one.grid, one.block, one.dynamic_shared, one.stream, true}, one.arguments});
    }
    return launch_on_devices(r, launches, flags);
  });
}

}  // namespace coalesce::cudart
