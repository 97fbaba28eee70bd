// The device's properties: cudaDeviceProp and the attributes, from the one table of devices.
#include "cudart/api/properties.h"

#include <cstring>

#include "cudart/core/runtime.h"

namespace coalesce::cudart {
namespace {

using machine::Device;

// Limits of textures and surfaces, equal for every device of the table.
constexpr int k1D = 131072, k2D[2] = {131072, 65536}, k3D = 16384, kLayered = 32768, kLayers = 2048;
constexpr int kConstantBytes = 65536, kMaxPitch = 0x7fff'ffff;

int is_data_centre(const Device& d) { return d.name.starts_with("NVIDIA GeForce") || d.major == 6 ? 0 : 1; }
int copy_engines(const Device& d) { return is_data_centre(d) != 0 ? 3 : 2; }
// Single precision operations per double precision one, by compute capability (CUDA programming guide, throughputs).
int double_ratio(const Device& d) {
  switch (10 * d.major + d.minor) {
    case 70:
    case 80:
    case 90:
      return 2;
    case 86:
    case 89:
      return 64;
    default:
      return 32;
  }
}

template <typename T>
void fill(T& p, const Device& d) {
  std::memset(&p, 0, sizeof p);
  d.name.copy(p.name, sizeof p.name - 1);
  d.key.copy(p.uuid.bytes, sizeof p.uuid.bytes);  // some number of its own, the same in every run
  p.totalGlobalMem = d.memory_bytes;
  p.sharedMemPerBlock = d.shared_per_block;
  p.regsPerBlock = static_cast<int>(d.registers_per_block);
  p.warpSize = 32;
  p.memPitch = kMaxPitch;
  p.maxThreadsPerBlock = static_cast<int>(d.threads_per_block);
  constexpr int block[3] = {1024, 1024, 64}, grid[3] = {0x7fff'ffff, 65535, 65535};
  std::memcpy(p.maxThreadsDim, block, sizeof block);
  std::memcpy(p.maxGridSize, grid, sizeof grid);
  p.totalConstMem = kConstantBytes;
  p.major = static_cast<int>(d.major);
  p.minor = static_cast<int>(d.minor);
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = static_cast<int>(d.multiprocessors);
  p.canMapHostMemory = 1;
  p.maxTexture1D = k1D;
  p.maxTexture1DMipmap = p.maxTextureCubemap = p.maxSurfaceCubemap = kLayered;
  p.maxSurface1D = kLayered;
  std::memcpy(p.maxTexture2D, k2D, sizeof k2D);
  std::memcpy(p.maxSurface2D, k2D, sizeof k2D);
  for (int i = 0; i < 2; ++i) {
    p.maxTexture2DMipmap[i] = p.maxTexture2DGather[i] = kLayered;
    p.maxTexture2DLayered[i] = p.maxSurface2DLayered[i] = kLayered;
  }
  p.maxTexture2DLayered[2] = p.maxSurface2DLayered[2] = kLayers;
  p.maxTexture1DLayered[0] = p.maxSurface1DLayered[0] = kLayered;
  p.maxTexture1DLayered[1] = p.maxSurface1DLayered[1] = kLayers;
  p.maxTextureCubemapLayered[0] = p.maxSurfaceCubemapLayered[0] = kLayered;
  p.maxTextureCubemapLayered[1] = p.maxSurfaceCubemapLayered[1] = kLayers - 2;
  p.maxTexture2DLinear[0] = k1D;
  p.maxTexture2DLinear[1] = 65000;
  p.maxTexture2DLinear[2] = 2097120;
  for (int i = 0; i < 3; ++i) p.maxTexture3D[i] = p.maxSurface3D[i] = k3D;
  p.maxTexture3DAlt[0] = p.maxTexture3DAlt[1] = 8192;
  p.maxTexture3DAlt[2] = 32768;
  p.concurrentKernels = 1;
  p.ECCEnabled = is_data_centre(d);
  p.pciBusID = 1;
  p.asyncEngineCount = copy_engines(d);
  p.unifiedAddressing = 1;
  p.memoryBusWidth = static_cast<int>(d.memory_bus_bits);
  p.l2CacheSize = static_cast<int>(d.l2_bytes);
  p.maxThreadsPerMultiProcessor = static_cast<int>(d.threads_per_multiprocessor);
  p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = d.shared_per_multiprocessor;
  p.regsPerMultiprocessor = static_cast<int>(d.registers_per_multiprocessor);
  p.managedMemory = p.concurrentManagedAccess = p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = d.shared_per_block_optin;
  p.maxBlocksPerMultiProcessor = static_cast<int>(d.blocks_per_multiprocessor);
  p.reservedSharedMemPerBlock = d.shared_reserved_per_block;
  if constexpr (requires { p.clockRate; }) {
    p.clockRate = static_cast<int>(d.clock_khz);
    p.memoryClockRate = static_cast<int>(d.memory_clock_khz);
    p.deviceOverlap = p.cooperativeMultiDeviceLaunch = 1;
    p.maxTexture1DLinear = 1 << 28;
    p.singleToDoublePrecisionPerfRatio = double_ratio(d);
  }
  if constexpr (requires { p.hostRegisterSupported; }) {
    p.hostRegisterSupported = p.memoryPoolsSupported = 1;
    p.clusterLaunch = d.major >= 9;
  }
  if constexpr (requires { p.deviceNumaId; }) p.deviceNumaId = p.hostNumaId = -1;
}

template <typename T>
cudaError_t get(T* properties, int device) {
  if (properties == nullptr) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (!r.is_device(device)) return cudaErrorInvalidDevice;
    fill(*properties, *r.device());
    properties->pciBusID += device;
    properties->uuid.bytes[15] = static_cast<char>(device);
    return cudaSuccess;
  });
}

// cudaDeviceGetAttribute, from the fields above. 12's layout has all of them.
struct Attribute {
  int number;
  int (*value)(const Properties12& p);
};
#define FIELD(number, member) {number, [](const Properties12& p) { return static_cast<int>(p.member); }}
#define FIXED(number, constant) {number, [](const Properties12&) { return static_cast<int>(constant); }}
constexpr Attribute kAttributes[] = {
    FIELD(1, maxThreadsPerBlock),
    FIELD(2, maxThreadsDim[0]),
    FIELD(3, maxThreadsDim[1]),
    FIELD(4, maxThreadsDim[2]),
    FIELD(5, maxGridSize[0]),
    FIELD(6, maxGridSize[1]),
    FIELD(7, maxGridSize[2]),
    FIELD(8, sharedMemPerBlock),
    FIELD(9, totalConstMem),
    FIELD(10, warpSize),
    FIELD(11, memPitch),
    FIELD(12, regsPerBlock),
    FIELD(13, clockRate),
    FIELD(14, textureAlignment),
    FIELD(15, deviceOverlap),
    FIELD(16, multiProcessorCount),
    FIELD(17, kernelExecTimeoutEnabled),
    FIELD(18, integrated),
    FIELD(19, canMapHostMemory),
    FIELD(20, computeMode),
    FIELD(21, maxTexture1D),
    FIELD(22, maxTexture2D[0]),
    FIELD(23, maxTexture2D[1]),
    FIELD(24, maxTexture3D[0]),
    FIELD(25, maxTexture3D[1]),
    FIELD(26, maxTexture3D[2]),
    FIELD(27, maxTexture2DLayered[0]),
    FIELD(28, maxTexture2DLayered[1]),
    FIELD(29, maxTexture2DLayered[2]),
    FIELD(30, surfaceAlignment),
    FIELD(31, concurrentKernels),
    FIELD(32, ECCEnabled),
    FIELD(33, pciBusID),
    FIELD(34, pciDeviceID),
    FIELD(35, tccDriver),
    FIELD(36, memoryClockRate),
    FIELD(37, memoryBusWidth),
    FIELD(38, l2CacheSize),
    FIELD(39, maxThreadsPerMultiProcessor),
    FIELD(40, asyncEngineCount),
    FIELD(41, unifiedAddressing),
    FIELD(42, maxTexture1DLayered[0]),
    FIELD(43, maxTexture1DLayered[1]),
    FIELD(45, maxTexture2DGather[0]),
    FIELD(46, maxTexture2DGather[1]),
    FIELD(47, maxTexture3DAlt[0]),
    FIELD(48, maxTexture3DAlt[1]),
    FIELD(49, maxTexture3DAlt[2]),
    FIELD(50, pciDomainID),
    FIELD(51, texturePitchAlignment),
    FIELD(52, maxTextureCubemap),
    FIELD(53, maxTextureCubemapLayered[0]),
    FIELD(54, maxTextureCubemapLayered[1]),
    FIELD(55, maxSurface1D),
    FIELD(56, maxSurface2D[0]),
    FIELD(57, maxSurface2D[1]),
    FIELD(58, maxSurface3D[0]),
    FIELD(59, maxSurface3D[1]),
    FIELD(60, maxSurface3D[2]),
    FIELD(61, maxSurface1DLayered[0]),
    FIELD(62, maxSurface1DLayered[1]),
    FIELD(63, maxSurface2DLayered[0]),
    FIELD(64, maxSurface2DLayered[1]),
    FIELD(65, maxSurface2DLayered[2]),
    FIELD(66, maxSurfaceCubemap),
    FIELD(67, maxSurfaceCubemapLayered[0]),
    FIELD(68, maxSurfaceCubemapLayered[1]),
    FIELD(69, maxTexture1DLinear),
    FIELD(70, maxTexture2DLinear[0]),
    FIELD(71, maxTexture2DLinear[1]),
    FIELD(72, maxTexture2DLinear[2]),
    FIELD(73, maxTexture2DMipmap[0]),
    FIELD(74, maxTexture2DMipmap[1]),
    FIELD(75, major),
    FIELD(76, minor),
    FIELD(77, maxTexture1DMipmap),
    FIELD(78, streamPrioritiesSupported),
    FIELD(79, globalL1CacheSupported),
    FIELD(80, localL1CacheSupported),
    FIELD(81, sharedMemPerMultiprocessor),
    FIELD(82, regsPerMultiprocessor),
    FIELD(83, managedMemory),
    FIELD(84, isMultiGpuBoard),
    FIELD(85, multiGpuBoardGroupID),
    FIELD(86, hostNativeAtomicSupported),
    FIELD(87, singleToDoublePrecisionPerfRatio),
    FIELD(88, pageableMemoryAccess),
    FIELD(89, concurrentManagedAccess),
    FIELD(90, computePreemptionSupported),
    FIELD(91, canUseHostPointerForRegisteredMem),
    FIXED(92, 0),
    FIXED(93, 0),
    FIXED(94, 0),
    FIELD(95, cooperativeLaunch),
    FIELD(96, cooperativeMultiDeviceLaunch),
    FIELD(97, sharedMemPerBlockOptin),
    FIXED(98, 0),
    FIELD(99, hostRegisterSupported),
    FIELD(100, pageableMemoryAccessUsesHostPageTables),
    FIELD(101, directManagedMemAccessFromHost),
    FIELD(106, maxBlocksPerMultiProcessor),
    FIELD(108, persistingL2CacheMaxSize),
    FIELD(109, accessPolicyMaxWindowSize),
    FIELD(111, reservedSharedMemPerBlock),
    FIELD(112, sparseCudaArraySupported),
    FIELD(113, hostRegisterReadOnlySupported),
    FIELD(114, timelineSemaphoreInteropSupported),
    FIELD(115, memoryPoolsSupported),
    FIELD(116, gpuDirectRDMASupported),
    FIELD(117, gpuDirectRDMAFlushWritesOptions),
    FIELD(118, gpuDirectRDMAWritesOrdering),
    FIELD(119, memoryPoolSupportedHandleTypes),
    FIELD(120, clusterLaunch),
    FIELD(121, deferredMappingCudaArraySupported),
    FIELD(125, ipcEventSupported),
    FIXED(126, 1),
    FIXED(130, 0),
    FIXED(131, -1),
    FIXED(133, 0),
    FIXED(134, -1),
    FIXED(135, 0),
    FIXED(138, 0),
    FIXED(139, 0),
    FIXED(140, 0),
    FIXED(142, 0),
    FIXED(143, 0),
    FIXED(144, 0),
    FIXED(147, 0),
};
#undef FIELD
#undef FIXED

}  // namespace

cudaError_t get_properties(Properties11* properties, int device) { return get(properties, device); }
cudaError_t get_properties(Properties12* properties, int device) { return get(properties, device); }
cudaError_t get_properties(Properties13* properties, int device) { return get(properties, device); }

COALESCE_API cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (value == nullptr) return note(cudaErrorInvalidValue);
  return query([&](Runtime& r) {
    if (!r.is_device(device)) return cudaErrorInvalidDevice;
    Properties12 properties;
    fill(properties, *r.device());
    properties.pciBusID += device;
    for (const Attribute& a : kAttributes) {
      if (a.number != attribute) continue;
      *value = a.value(properties);
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

}  // namespace coalesce::cudart
