#include "cudart/api/launch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cudart/api/capture.h"
#include "cudart/api/occupancy.h"
#include "cudart/api/stream.h"
#include "cudart/api/version.h"
#include "cudart/core/config.h"
#include "cudart/core/interrupt.h"
#include "cudart/core/progress.h"

namespace coalesce::cudart {

extern "C" const char* cudaGetErrorString(cudaError_t error);
extern "C" const char* cudaGetErrorName(cudaError_t error);

namespace {

// Fault -> error code. The driver has no code of its own for a kernel that never ends: a watchdog's.
constexpr cudaError_t error_of(machine::Fault fault) {
  using enum machine::Fault;
  switch (fault) {
    case none:
      return cudaSuccess;
    case illegal_address:
      return cudaErrorIllegalAddress;
    case misaligned_address:
      return cudaErrorMisalignedAddress;
    case illegal_instruction:
      return cudaErrorIllegalInstruction;
    case trap:
      return cudaErrorLaunchFailure;
    case assertion:
      return cudaErrorAssert;
    case deadlock:
    case budget:
      return cudaErrorLaunchTimeout;
    case invalid_pc:
      return cudaErrorInvalidPc;
    case stack_overflow:
      return cudaErrorHardwareStackError;
  }
  return cudaErrorLaunchFailure;
}

// Copies the arguments to where the kernel's parameters lie.
std::vector<uint8_t> pack(const machine::KernelInfo& info, void* const* arguments) {
  std::vector<uint8_t> bytes(info.parameter_bytes);
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const auto [offset, size] = info.parameters[i];
    std::memcpy(bytes.data() + offset, arguments[i], size);
  }
  return bytes;
}

}  // namespace

cudaError_t from_extra(void** extra, std::vector<uint8_t>& packed) {
  const void* block = nullptr;
  size_t bytes = 0;
  for (size_t i = 0; extra[i] != nullptr; i += 2) {
    const auto key = reinterpret_cast<uintptr_t>(extra[i]);
    if (key == 1) {
      block = extra[i + 1];
    } else if (key == 2) {
      bytes = *static_cast<size_t*>(extra[i + 1]);
    } else {
      return cudaErrorInvalidValue;
    }
  }
  if (block == nullptr && bytes != 0) return cudaErrorInvalidValue;
  packed.resize(bytes);
  if (bytes != 0) std::memcpy(packed.data(), block, bytes);
  return cudaSuccess;
}

dim3 cluster_of(const Kernel& kernel, const Launch& l) {
  const auto& own = kernel.info->cluster;
  if (own[0] != 0) return {own[0], own[1], own[2]};
  return l.cluster.value_or(dim3{});
}

cudaError_t check_cluster(const machine::Device& device, const Kernel& kernel, const Launch& l) {
  const dim3 c = cluster_of(kernel, l);
  const uint64_t blocks = uint64_t{c.x} * c.y * c.z;
  if (l.cluster && (l.cluster->x != c.x || l.cluster->y != c.y || l.cluster->z != c.z))
    return cudaErrorInvalidClusterSize;
  if (blocks == 1) return cudaSuccess;
  if (device.major < 9) return cudaErrorNotSupported;
  if (blocks == 0 || blocks > (kernel.any_cluster ? kLargestCluster : kPortableCluster))
    return cudaErrorInvalidClusterSize;
  if (l.grid.x % c.x != 0 || l.grid.y % c.y != 0 || l.grid.z % c.z != 0) return cudaErrorInvalidClusterSize;
  return cudaSuccess;
}

// Dimensions that no launch may have. CUDA 13 has one code for them and for blocks that are too large for the kernel
// (tests/truth/error_codes.txt); 11 and 12 have what their documents say.
cudaError_t check_dimensions(const machine::Device& device, const Kernel& kernel, const Launch& l) {
  const bool one_code = runtime_version() >= 13000;
  const cudaError_t bad = one_code ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
  for (const dim3& d : {l.grid, l.block}) {
    if (d.x == 0 || d.y == 0 || d.z == 0) return bad;
  }
  if (l.grid.x > 0x7fff'ffffu || l.grid.y > 65535 || l.grid.z > 65535) return bad;
  if (l.block.x > 1024 || l.block.y > 1024 || l.block.z > 64) return bad;
  const uint32_t threads = l.block.x * l.block.y * l.block.z;
  if (threads > device.threads_per_block) return bad;
  if (threads > kernel.info->max_threads) return one_code ? bad : cudaErrorLaunchOutOfResources;
  return cudaSuccess;
}

cudaError_t check_launch(const machine::Device& device, const Kernel& kernel, const Launch& l) {
  if (const cudaError_t error = check_dimensions(device, kernel, l); error != cudaSuccess) return error;
  const uint32_t threads = l.block.x * l.block.y * l.block.z;
  if (kernel.info->static_shared_bytes > device.shared_per_block) return cudaErrorInvalidValue;
  if (l.dynamic_shared > kernel.dynamic_shared_limit) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_cluster(device, kernel, l); error != cudaSuccess) return error;
  if (l.cooperative) {
    const auto fit =
        uint64_t{device.multiprocessors} * blocks_per_multiprocessor(device, *kernel.info, threads, l.dynamic_shared);
    if (uint64_t{l.grid.x} * l.grid.y * l.grid.z > fit) return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

cudaError_t prepare(Runtime& r, const void* function, const Launch& l, void* const* arguments,
                    const std::vector<uint8_t>& packed, KernelOperation& out) {
  Kernel* kernel = nullptr;
  if (const cudaError_t error = r.registry().find_kernel(function, kernel); error != cudaSuccess) return error;
  if (l.cooperative) r.registry().know_machine_code(*kernel);
  if (!is_stream(l.stream) || device_of(l.stream) != r.number()) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = check_launch(*r.device(), *kernel, l); error != cudaSuccess) return error;
  if (arguments == nullptr && packed.size() < kernel->info->parameter_bytes) return cudaErrorInvalidValue;
  out = {function, l, arguments != nullptr ? pack(*kernel->info, arguments) : packed};
  out.packed.resize(kernel->info->parameter_bytes);
  out.device = r.number();
  return cudaSuccess;
}

namespace {

thread_local bool by_chevrons = false;  // the launch to come is one of <<<>>>, whose error the program does not see

// Tells `check` of a launch that was refused.
void refused(Runtime& r, const void* function, const Launch& l, cudaError_t error) {
  Kernel* kernel = nullptr;
  if (r.registry().find_kernel(function, kernel) != cudaSuccess)
    return r.check()->not_checked(std::string("a kernel could not be loaded: ") + cudaGetErrorString(error));
  const uint64_t threads = uint64_t{l.block.x} * l.block.y * l.block.z;
  std::string why = std::string(cudaGetErrorName(error)) + ", " + cudaGetErrorString(error);
  const uint32_t most = std::min(r.device()->threads_per_block, kernel->info->max_threads);
  if (threads > most) {
    why = std::to_string(threads) + " threads a block, where " + std::to_string(most) + " are the most";
  } else if (l.dynamic_shared > kernel->dynamic_shared_limit) {
    why = std::to_string(l.dynamic_shared) + " bytes of dynamic shared memory, where " +
          std::to_string(kernel->dynamic_shared_limit) + " are the most";
  }
  r.check()->launch_refused(kernel->name, why);
}

}  // namespace

cudaError_t launch(Runtime& r, const void* function, const Launch& l, void* const* arguments,
                   const std::vector<uint8_t>& packed) {
  KernelOperation k;
  const cudaError_t error = prepare(r, function, l, arguments, packed, k);
  if (std::exchange(by_chevrons, false) && error != cudaSuccess && r.check() != nullptr) refused(r, function, l, error);
  if (error != cudaSuccess) spoil_capture(l.stream);
  return error != cudaSuccess ? error : submit(r, l.stream, std::move(k));
}

// A launch behind a kernel that goes on beside the host, which may wait for what the host does next, is kept. False: it
// is not.
static bool kept(const void* function, const Launch& l, void* const* arguments, cudaError_t& error) {
  Runtime& r = runtime();
  if (!r.goes_on()) return false;
  const Inside inside;
  const std::lock_guard lock(r.mutex);
  if (!r.goes_on()) return false;
  const Kernel* kernel = r.registry().peek_kernel(function);
  if (kernel == nullptr || kernel->info == nullptr) return false;
  if (const Going to = going(l.stream); to.capture != nullptr || to.error != cudaSuccess) return false;
  by_chevrons = false;
  KernelOperation k;
  error = prepare(r, function, l, arguments, {}, k);
  if (error == cudaSuccess) r.keep([k](Runtime& later) { return run(later, k); });
  return true;
}

static cudaError_t launch_call(const void* function, const Launch& l, void* const* arguments) {
  cudaError_t error = cudaSuccess;
  if (kept(function, l, arguments, error)) return error == cudaSuccess ? error : note(error);
  return call([&](Runtime& r) { return launch(r, function, l, arguments); });
}

cudaError_t run_alone(Runtime& r, const KernelOperation& k, RanAlone& ran) {
  const Launch& l = k.launch;
  Kernel* kernel = nullptr;
  if (const cudaError_t error = r.registry().find_kernel(k.function, kernel); error != cudaSuccess) return error;
  ran.kernel = kernel;

  machine::LaunchConfig config;
  config.grid = {l.grid.x, l.grid.y, l.grid.z};
  config.block = {l.block.x, l.block.y, l.block.z};
  config.dynamic_shared_bytes = static_cast<uint32_t>(l.dynamic_shared);
  config.cooperative = l.cooperative;
  config.depth = l.depth;
  config.earlier = l.earlier;
  const dim3 cluster = cluster_of(*kernel, l);
  config.cluster = {cluster.x, cluster.y, cluster.z};
  config.parameters = k.packed;
  config.graph = graph_around();
  if (kernel->info->launches_graphs && config.graph.exec == 0) return cudaErrorNotSupported;

  if (r.check() != nullptr) r.check()->begin_work(kernel->name, true);
  InterruptGuard guard(r.machine());
  const bool shown = cudart::config().progress;
  if (shown) begin_progress(kernel->name);
  if (r.devices() > 1) r.memory().show(r.number(), r.peers());
  machine::LaunchReport report = r.machine().launch(*kernel->program, kernel->name, config);
  const uint64_t peer_sectors = r.devices() > 1 ? r.memory().touched_elsewhere(r.number()) : 0;
  r.memory().show_all();
  if (shown) end_progress();
  const int signal = guard.release();

  // A signal ends a launch as an exhausted budget does; it is no fault of the kernel's.
  const machine::Fault fault =
      signal != 0 && report.fault == machine::Fault::budget ? machine::Fault::none : report.fault;
  record::Writer& record = r.record();
  record.name_kernel(kernel->id, kernel->name);
  record.launch({.kernel = kernel->id,
                 .grid = config.grid,
                 .block = config.block,
                 .dynamic_shared_bytes = config.dynamic_shared_bytes,
                 .seconds = report.seconds,
                 .device = r.number(),
                 .peer_bytes = 32 * peer_sectors,
                 .fault = machine::name_of(machine::kFaults, fault),
                 .interrupted = signal != 0,
                 .counters = report.counters,
                 .lines = &report.lines,
                 .time = report.time.get()});
  if (r.check() != nullptr) r.check()->launched(report);
  for (const auto& d : report.diagnostics) record.diagnostic(d);
  if (signal != 0) raise_default(signal);
  // `coalesce check` adds up what launches have found, and prints it.
  if (const Config& settings = cudart::config(); !settings.check || settings.record.empty())
    for (const auto& d : report.diagnostics) show(d);
  if (report.fault != machine::Fault::none) r.fail(error_of(report.fault));
  ran.work = std::move(report.work);
  ran.instructions = report.counters.instructions;
  return cudaSuccess;
}

namespace {

// <<<...>>> leaves its configuration here for the launch stub that follows; nested because arguments may launch too. A
// list that needs no destructor: static objects' destructors may launch when a thread's own objects are gone.
struct Configuration {
  Launch launch;
  std::unique_ptr<Configuration> outer;
  std::vector<uint8_t> arguments = {};  // of the interface before 9.2, which takes them one by one
};
thread_local Configuration* innermost = nullptr;

void push(const Launch& launch) { innermost = new Configuration{launch, std::unique_ptr<Configuration>(innermost)}; }

std::unique_ptr<Configuration> pop() {
  std::unique_ptr<Configuration> top(innermost);
  if (top) innermost = top->outer.release();
  return top;
}

}  // namespace

COALESCE_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  push({grid, block, shared, stream});
  return 0;
}

COALESCE_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const std::unique_ptr<Configuration> top = pop();
  if (!top) return note(cudaErrorMissingConfiguration);
  by_chevrons = true;
  *grid = top->launch.grid;
  *block = top->launch.block;
  *shared = top->launch.dynamic_shared;
  *static_cast<cudaStream_t*>(stream) = top->launch.stream;
  return cudaSuccess;
}

COALESCE_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                          cudaStream_t stream) {
  return launch_call(function, {grid, block, shared, stream}, arguments);
}
COALESCE_API cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                               size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, of_thread(stream));
}

COALESCE_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                            cudaStream_t stream) {
  return launch_call(kernel, {grid, block, shared, stream}, arguments);
}
COALESCE_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                                 size_t shared, cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared, of_thread(stream));
}

COALESCE_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                     size_t shared, cudaStream_t stream) {
  return call([&](Runtime& r) { return launch(r, function, {grid, block, shared, stream, true}, arguments); });
}
COALESCE_API cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                                          size_t shared, cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, of_thread(stream));
}

Launch launch_of(const cudaLaunchConfig_t& config) {
  Launch l{config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& a = config.attrs[i];
    if (a.id == cudaLaunchAttributeCooperative)
      l.cooperative = a.value.cooperative != 0;
    else if (a.id == cudaLaunchAttributeClusterDimension)
      l.cluster = dim3{a.value.clusterDim[0], a.value.clusterDim[1], a.value.clusterDim[2]};
    else  // about caches, priorities and overlap
      l.hints.push_back(a);
  }
  return l;
}

COALESCE_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr || (config->attrs == nullptr && config->numAttrs != 0)) return note(cudaErrorInvalidValue);
  const Launch l = launch_of(*config);
  return call([&](Runtime& r) { return launch(r, function, l, arguments); });
}
COALESCE_API cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function,
                                                  void** arguments) {
  if (config == nullptr) return note(cudaErrorInvalidValue);
  cudaLaunchConfig_t mine = *config;
  mine.stream = of_thread(mine.stream);
  return cudaLaunchKernelExC(&mine, function, arguments);
}

COALESCE_API cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  push({grid, block, shared, stream});
  return cudaSuccess;
}

COALESCE_API cudaError_t cudaSetupArgument(const void* argument, size_t size, size_t offset) {
  if (size > 32768 || offset > 32768) return note(cudaErrorInvalidValue);  // no launch takes more than 32 KiB
  if (!innermost) return note(cudaErrorMissingConfiguration);
  std::vector<uint8_t>& arguments = innermost->arguments;
  if (arguments.size() < offset + size) arguments.resize(offset + size);
  std::memcpy(arguments.data() + offset, argument, size);
  return cudaSuccess;
}

COALESCE_API cudaError_t cudaLaunch(const void* function) {
  const std::unique_ptr<Configuration> top = pop();
  if (!top) return note(cudaErrorMissingConfiguration);
  return call([&](Runtime& r) { return launch(r, function, top->launch, nullptr, top->arguments); });
}
COALESCE_ALIAS(cudaLaunch_ptsz, cudaLaunch);

}  // namespace coalesce::cudart
