// Copies of tensors on a GPU (tensors.h): what each leaves in shared or global memory, what the driver says to each
// description of a tensor.
//   nvcc -std=c++17 -arch=sm_90a -O1 -o tensors_probe tests/hardware/tensors_probe.cu -lcuda
//   tensors_probe ptx < CASES > cases.ptx; ptxas -arch=sm_90a cases.ptx -o cases.cubin
//   tensors_probe run cases.cubin FIRST DUMP < CASES     a line each: the case, the driver's answer, a digest of what
//                                                          it leaves, whether its bytes have come; stops at a fault
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "tensors.h"

using namespace tensors;

#define CHECK(call)                                                                                     \
  if (auto e = (call); e != 0) {                                                                        \
    std::printf("%s: error %d (line %d)\n", #call, static_cast<int>(e), __LINE__), std::fflush(stdout); \
    std::exit(1);                                                                                       \
  }

CUresult encode(const Case& c, CUtensorMap* map, CUdeviceptr memory) {
  void* const base = reinterpret_cast<void*>(memory + c.base);
  const auto type = static_cast<CUtensorMapDataType>(c.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(c.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(c.swizzle);
  const auto l2 = static_cast<CUtensorMapL2promotion>(c.l2);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(c.fill);
  const auto* dims = reinterpret_cast<const cuuint64_t*>(c.dims.data());
  static const cuuint64_t none[1] = {};  // the driver refuses a null pointer also where there are no strides
  const auto* strides = c.strides.empty() ? none : reinterpret_cast<const cuuint64_t*>(c.strides.data());
  if (!c.im2col)
    return cuTensorMapEncodeTiled(map, type, c.rank, base, dims, strides, c.box.data(), c.steps.data(), interleave,
                                  swizzle, l2, fill);
  return cuTensorMapEncodeIm2col(map, type, c.rank, base, dims, strides, c.lower.data(), c.upper.data(), c.channels,
                                 c.pixels, c.steps.data(), interleave, swizzle, l2, fill);
}

int main(int count, char** words) {
  std::vector<Case> cases;
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty() && line[0] != '#') cases.push_back(parse(line));
  if (count > 1 && std::string(words[1]) == "ptx") {
    std::fputs(module_text(cases).c_str(), stdout);
    return 0;
  }
  const size_t first = std::strtoul(words[3], nullptr, 10);
  std::FILE* dump = count > 4 && *words[4] ? std::fopen(words[4], "ab") : nullptr;
  CHECK(cuInit(0));
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoad(&module, words[2]));
  CUdeviceptr memory, in, out;
  CHECK(cuMemAlloc(&memory, kGlobal));
  CHECK(cuMemAlloc(&in, kTile));
  CHECK(cuMemAlloc(&out, 4 * kOut));
  for (size_t k = first; k < cases.size(); ++k) {
    const Case& c = cases[k];
    std::printf("%zu %s : ", k, c.text.c_str());
    alignas(64) CUtensorMap map;
    std::memset(&map, 0, sizeof map);
    map.opaque[0] = memory + c.base + (c.plain() ? static_cast<uint32_t>(c.at[0]) * c.width() : 0);
    const CUresult answer = c.plain() ? CUDA_SUCCESS : encode(c, &map, memory);
    std::printf("encode %d", static_cast<int>(answer));
    std::fflush(stdout);
    if (answer != 0 || !c.runs) {
      std::printf("\n");
      continue;
    }
    std::vector<uint8_t> global = bytes_of(c, kGlobal, 1), tile = bytes_of(c, kTile, 2), result(4 * kOut, 0);
    CHECK(cuMemcpyHtoD(memory, global.data(), kGlobal));
    CHECK(cuMemcpyHtoD(in, tile.data(), kTile));
    CHECK(cuMemsetD8(out, 0, 4 * kOut));
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, c.kernel().c_str()));
    uint32_t to = c.to, bytes = c.bytes(), mask = c.mask, at[5] = {};
    uint16_t offsets[3] = {};
    for (size_t i = 0; i < c.at.size(); ++i) at[i] = static_cast<uint32_t>(c.at[i]);
    for (size_t i = 0; i < c.offsets.size(); ++i) offsets[i] = static_cast<uint16_t>(c.offsets[i]);
    void* arguments[] = {&map,   &in,    &out,   &to,    &bytes,      &mask,       &at[0],
                         &at[1], &at[2], &at[3], &at[4], &offsets[0], &offsets[1], &offsets[2]};
    CUlaunchConfig config{};
    config.gridDimX = c.blocks();
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = kThreads;
    config.sharedMemBytes = kShared;
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = c.blocks();
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
    CHECK(cuLaunchKernelEx(&config, function, arguments, nullptr));
    if (const CUresult fault = cuCtxSynchronize(); fault != 0) {
      std::printf(" fault %d\n", static_cast<int>(fault));
      std::fflush(stdout);
      return 2;
    }
    CHECK(cuMemcpyDtoH(result.data(), out, 4 * kOut));
    CHECK(cuMemcpyDtoH(global.data(), memory, kGlobal));
    uint32_t all = 1;
    for (uint32_t b = 0; b < c.blocks(); ++b) all &= result[b * kOut + kTile];
    std::printf(" tile %016llx memory %016llx %s", (unsigned long long)digest(result.data(), c.blocks() * kOut),
                (unsigned long long)digest(global.data(), kGlobal), all ? "all" : "not-all");
    if (k % 16 == 0) {
      std::printf(" map");
      for (const auto q : map.opaque) std::printf(" %llx", (unsigned long long)q);
    }
    std::printf("\n");
    if (dump) {
      const uint32_t head[2] = {static_cast<uint32_t>(k), c.loads() ? c.blocks() * kOut : 16384};
      std::fwrite(head, 1, 8, dump);
      std::fwrite(c.loads() ? result.data() : global.data(), 1, head[1], dump);
      std::fflush(dump);
    }
  }
  return 0;
}
