// Functions (a CUfunction and a CUkernel are the same handle): attributes, occupancy, launches.
#include <algorithm>
#include <vector>

#include "cudart/api/launch.h"
#include "cudart/api/multi_device.h"
#include "cudart/api/occupancy.h"
#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {
namespace {

// CUfunction_attribute's values; the rest can be set as well and has the runtime's numbers.
enum Attribute {
  max_threads = 0,
  shared_bytes,
  const_bytes,
  local_bytes,
  registers,
  ptx_version,
  binary_version,
  cache_mode,
  max_dynamic_shared,
  carveout,
  last_attribute = 15
};

CUresult launch_kernel(cudaKernel_t function, const Launch& l, void** parameters, void** extra) {
  if (extra != nullptr && extra[0] == nullptr) extra = nullptr;  // CU_LAUNCH_PARAM_END: it says nothing
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return in_context([&] {
    return call([&](Runtime& r) {
      std::vector<uint8_t> packed;
      if (extra != nullptr) {
        if (const cudaError_t error = from_extra(extra, packed); error != cudaSuccess) return error;
      }
      return launch(r, function, l, parameters, packed);
    });
  });
}

using SharedOfBlock = size_t (*)(int block_threads);

CUresult best_size(int* grid, int* block, cudaKernel_t function, SharedOfBlock shared_of, size_t shared, int limit,
                   unsigned flags) {
  if (grid == nullptr || block == nullptr || limit < 0 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  machine::KernelInfo info;
  const CUresult result = in_context([&] {
    return with_kernel(function, [&](Runtime& r, const Kernel& kernel) {
      r.registry().know_machine_code(kernel);
      info = *kernel.info;
      return cudaSuccess;
    });
  });
  if (result != CUDA_SUCCESS) return result;
  const machine::Device& device = *runtime().device();
  const BestBlock best = best_block(  // without the lock: the program's function may call us
      device, info,
      [&](uint32_t threads) { return shared_of != nullptr ? shared_of(static_cast<int>(threads)) : shared; },
      static_cast<uint32_t>(limit));
  *block = static_cast<int>(best.threads);
  *grid = static_cast<int>(best.blocks * device.multiprocessors);
  return CUDA_SUCCESS;
}

cudaLaunchConfig_t runtime_config(const CUlaunchConfig& c) {
  return {{c.gridDimX, c.gridDimY, c.gridDimZ},
          {c.blockDimX, c.blockDimY, c.blockDimZ},
          c.sharedMemBytes,
          c.hStream,
          c.attrs,
          c.numAttrs};
}

}  // namespace

COALESCE_API CUresult cuFuncGetAttribute(int* value, int attribute, cudaKernel_t function) {
  if (value == nullptr || attribute < 0 || attribute > last_attribute) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes a{};
  const CUresult result = in_context([&] { return cudaFuncGetAttributes(&a, function); });
  if (result != CUDA_SUCCESS) return result;
  const int values[] = {a.maxThreadsPerBlock,
                        static_cast<int>(a.sharedSizeBytes),
                        static_cast<int>(a.constSizeBytes),
                        static_cast<int>(a.localSizeBytes),
                        a.numRegs,
                        a.ptxVersion,
                        a.binaryVersion,
                        a.cacheModeCA,
                        a.maxDynamicSharedSizeBytes,
                        a.preferredShmemCarveout,
                        a.cluster[0],
                        a.cluster[1],
                        a.cluster[2],
                        a.cluster[3],
                        a.cluster[5],
                        a.cluster[4]};
  *value = values[attribute];
  return CUDA_SUCCESS;
}
COALESCE_API CUresult cuKernelGetAttribute(int* value, int attribute, cudaKernel_t kernel, CUdevice device) {
  return !runtime().is_device(device) ? CUDA_ERROR_INVALID_DEVICE : cuFuncGetAttribute(value, attribute, kernel);
}
COALESCE_API CUresult cuFuncSetAttribute(cudaKernel_t function, cudaFuncAttribute attribute, int value) {
  return in_context([&] { return cudaFuncSetAttribute(function, attribute, value); });
}
COALESCE_API CUresult cuKernelSetAttribute(cudaFuncAttribute attribute, int value, cudaKernel_t kernel,
                                           CUdevice device) {
  return !runtime().is_device(device) ? CUDA_ERROR_INVALID_DEVICE : cuFuncSetAttribute(kernel, attribute, value);
}
COALESCE_API CUresult cuFuncSetCacheConfig(cudaKernel_t function, int preference) {
  return in_context([&] { return cudaFuncSetCacheConfig(function, preference); });
}
COALESCE_API CUresult cuKernelSetCacheConfig(cudaKernel_t kernel, int preference, CUdevice device) {
  return !runtime().is_device(device) ? CUDA_ERROR_INVALID_DEVICE : cuFuncSetCacheConfig(kernel, preference);
}
COALESCE_API CUresult cuFuncSetSharedMemConfig(cudaKernel_t function, int config) {
  return in_context([&] { return cudaFuncSetSharedMemConfig(function, config); });
}
COALESCE_API CUresult cuFuncGetName(const char** name, cudaKernel_t function) {
  return in_context([&] { return cudaFuncGetName(name, function); });
}
COALESCE_ALIAS(cuKernelGetName, cuFuncGetName);
COALESCE_API CUresult cuFuncGetParamInfo(cudaKernel_t function, size_t index, size_t* offset, size_t* bytes) {
  return in_context([&] { return cudaFuncGetParamInfo(function, index, offset, bytes); });
}
COALESCE_ALIAS(cuKernelGetParamInfo, cuFuncGetParamInfo);
COALESCE_API CUresult cuKernelGetFunction(cudaKernel_t* function, cudaKernel_t kernel) {
  const char* name = nullptr;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuFuncGetName(&name, kernel);  // whether it is one
  if (result == CUDA_SUCCESS) *function = kernel;
  return result;
}
COALESCE_API CUresult cuFuncLoad(cudaKernel_t function) {
  const char* name = nullptr;
  return cuFuncGetName(&name, function);
}
COALESCE_API CUresult cuFuncIsLoaded(int* state, cudaKernel_t function) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = 1;
  return cuFuncLoad(function);
}

COALESCE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, cudaKernel_t function,
                                                                           int threads, size_t shared, unsigned flags) {
  return in_context(
      [&] { return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, flags); });
}
COALESCE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, cudaKernel_t function, int threads,
                                                                  size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
COALESCE_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, cudaKernel_t function,
                                                                SharedOfBlock shared_of, size_t shared, int limit,
                                                                unsigned flags) {
  return best_size(grid, block, function, shared_of, shared, limit, flags);
}
COALESCE_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, cudaKernel_t function,
                                                       SharedOfBlock shared_of, size_t shared, int limit) {
  return best_size(grid, block, function, shared_of, shared, limit, 0);
}
COALESCE_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, cudaKernel_t function, int blocks,
                                                              int threads) {
  return in_context([&] { return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads); });
}
COALESCE_API CUresult cuOccupancyMaxActiveClusters(int* clusters, cudaKernel_t function, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = runtime_config(*config);
  return in_context([&] { return cudaOccupancyMaxActiveClusters(clusters, function, &same); });
}
COALESCE_API CUresult cuOccupancyMaxPotentialClusterSize(int* size, cudaKernel_t function,
                                                         const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = runtime_config(*config);
  return in_context([&] { return cudaOccupancyMaxPotentialClusterSize(size, function, &same); });
}

COALESCE_API CUresult cuLaunchKernel(cudaKernel_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                     unsigned by, unsigned bz, unsigned shared, cudaStream_t stream, void** parameters,
                                     void** extra) {
  return launch_kernel(function, {{gx, gy, gz}, {bx, by, bz}, shared, stream}, parameters, extra);
}
COALESCE_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);
COALESCE_API CUresult cuLaunchCooperativeKernel(cudaKernel_t function, unsigned gx, unsigned gy, unsigned gz,
                                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                                cudaStream_t stream, void** parameters) {
  return launch_kernel(function, {{gx, gy, gz}, {bx, by, bz}, shared, stream, true}, parameters, nullptr);
}
COALESCE_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);
COALESCE_API CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned count, unsigned flags) {
  if (list == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return in_context([&] {
    return call([&](Runtime& r) {
      std::vector<DeviceLaunch> launches;
      if (count > r.devices()) return cudaErrorInvalidValue;  // the list is not read further than there may be launches
      for (unsigned i = 0; i < count; ++i) {
        const CUDA_LAUNCH_PARAMS& one = list[i];
        launches.push_back({one.function,
                            {{one.gridDimX, one.gridDimY, one.gridDimZ},
                             {one.blockDimX, one.blockDimY, one.blockDimZ},
                             one.sharedMemBytes,
                             one.hStream,
                             true},
                            one.kernelParams});
      }
      return launch_on_devices(r, launches, flags);
    });
  });
}
COALESCE_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, cudaKernel_t function, void** parameters,
                                       void** extra) {
  if (config == nullptr || (config->attrs == nullptr && config->numAttrs != 0)) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = runtime_config(*config);
  const Launch l = launch_of(same);
  return launch_kernel(function, l, parameters, extra);
}
COALESCE_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);
COALESCE_API CUresult cuLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return in_context([&] { return cudaLaunchHostFunc(stream, function, data); });
}
COALESCE_ALIAS(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

}  // namespace coalesce::cudart
