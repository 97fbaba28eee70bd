// Prints what a GPU's driver and runtime answer to PTX for each architecture: tests/truth/ptx_targets.txt.
// nvcc -std=c++17 -arch=sm_90 ptx_targets_probe.cu -o probe && ./probe > ptx_targets.txt
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "driver_functions.h"

namespace {

struct Target {
  const char *name, *version;
};
// The oldest version of PTX that has each, so that a driver refuses none for its version.
constexpr Target kTargets[] = {{"sm_80", "7.0"},  {"sm_89", "7.8"},   {"sm_90", "7.8"},   {"sm_90a", "8.0"},
                               {"sm_100", "8.6"}, {"sm_100a", "8.6"}, {"sm_100f", "8.8"}, {"sm_103", "8.8"},
                               {"sm_110", "9.0"}, {"sm_120", "8.7"},  {"sm_120a", "8.7"}, {"sm_121", "8.8"},
                               {"sm_999", "9.0"}};

std::string ptx_for(const Target& target, const char* name) {
  return std::string(".version ") + target.version + "\n.target " + target.name +
         "\n.address_size 64\n.visible .entry " + name +
         "(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 7;\nret;\n}\n";
}

struct Asker {
  const Target& target;
  void say(const std::string& entry, int code) {
    std::printf("%s %s %s %d\n", target.name, target.version, entry.c_str(), code);
  }
  void module(const std::string& entry, CUresult code, const CUmodule& module) {
    say(entry, code);
    if (code == CUDA_SUCCESS) CU(cuModuleUnload)(module);
  }
  void library(const std::string& entry, CUresult code, const CUlibrary& library) {
    say(entry, code);
    if (code != CUDA_SUCCESS) return;
    CUkernel kernel;
    say(entry + ".GetKernel", CU(cuLibraryGetKernel)(&kernel, library, "k"));
    CU(cuLibraryUnload)(library);
  }
  void link(const std::string& entry, std::string text) {
    std::string old = ptx_for(kTargets[0], "other");
    CUlinkState link;
    CU(cuLinkCreate)(0, nullptr, nullptr, &link);
    const auto add = [&](const char* what, std::string& with) {
      say(entry + what,
          CU(cuLinkAddData)(link, CU_JIT_INPUT_PTX, with.data(), with.size() + 1, "text", 0, nullptr, nullptr));
    };
    if (entry == "cuLink(behind)") add(".AddOld", old);
    add(".Add", text);
    if (entry == "cuLink(before)") add(".AddOld", old);
    void* image = nullptr;
    size_t bytes = 0;
    const CUresult complete = CU(cuLinkComplete)(link, &image, &bytes);
    say(entry + ".Complete", complete);
    CUmodule loaded;
    if (complete == CUDA_SUCCESS) module(entry + ".Load", CU(cuModuleLoadData)(&loaded, image), loaded);
    CU(cuLinkDestroy)(link);
  }
};

}  // namespace

int main() {
  cudaFree(nullptr);
  for (const Target& target : kTargets) {
    Asker ask{target};
    const std::string text = ptx_for(target, "k");
    std::ofstream("ptx_targets.ptx") << text;
    CUmodule m;
    CUlibrary l;
    ask.module("cuModuleLoadData", CU(cuModuleLoadData)(&m, text.c_str()), m);
    ask.module("cuModuleLoadDataEx", CU(cuModuleLoadDataEx)(&m, text.c_str(), 0, nullptr, nullptr), m);
    ask.module("cuModuleLoad", CU(cuModuleLoad)(&m, "ptx_targets.ptx"), m);
    ask.library("cuLibraryLoadData", CU(cuLibraryLoadData)(&l, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                l);
    ask.library("cuLibraryLoadFromFile",
                CU(cuLibraryLoadFromFile)(&l, "ptx_targets.ptx", nullptr, nullptr, 0, nullptr, nullptr, 0), l);
    for (const char* order : {"cuLink", "cuLink(behind)", "cuLink(before)"}) ask.link(order, text);
    cudaLibrary_t library;
    const cudaError_t loaded = cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    ask.say("cudaLibraryLoadData", loaded);
    if (loaded != cudaSuccess) continue;
    cudaKernel_t kernel;
    ask.say("cudaLibraryLoadData.GetKernel", cudaLibraryGetKernel(&kernel, library, "k"));
    cudaLibraryUnload(library);
    cudaGetLastError();
  }
}
