// Prints what a GPU's driver answers to fat binaries in links at run time: tests/truth/link_inputs.txt.
// nvcc -std=c++17 -arch=sm_90 link_inputs_probe.cu -o probe && ./probe > link_inputs.txt
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "driver_functions.h"
#include "fat_binaries.h"

namespace {

// The kernels of a module that was loaded.
void say_kernels(const std::string& what, CUresult loaded, CUmodule module) {
  std::printf("%s.Load %d\n", what.c_str(), loaded);
  if (loaded != CUDA_SUCCESS) return;
  for (const char* kernel : {"k", "other"}) {
    CUfunction found;
    std::printf("%s.%s %d\n", what.c_str(), kernel, CU(cuModuleGetFunction)(&found, module, kernel));
  }
  CU(cuModuleUnload)(module);
}

void link(const std::string& name, std::string image, const std::string& order) {
  std::string other = link_inputs::other_text();
  const std::string what = name + " cuLink" + order;
  CUlinkState state;
  CU(cuLinkCreate)(0, nullptr, nullptr, &state);
  const auto add = [&](const char* which, CUjitInputType type, std::string& with) {
    std::printf("%s.%s %d\n", what.c_str(), which,
                CU(cuLinkAddData)(state, type, with.data(), with.size(), "input", 0, nullptr, nullptr));
  };
  if (order == "(behind)") add("AddOther", CU_JIT_INPUT_PTX, other);
  add("Add", CU_JIT_INPUT_FATBINARY, image);
  if (order == "(before)") add("AddOther", CU_JIT_INPUT_PTX, other);
  void* made = nullptr;
  size_t bytes = 0;
  const CUresult complete = CU(cuLinkComplete)(state, &made, &bytes);
  std::printf("%s.Complete %d\n", what.c_str(), complete);
  CUmodule module = nullptr;
  if (complete == CUDA_SUCCESS) {
    const CUresult loaded = CU(cuModuleLoadData)(&module, made);
    say_kernels(what, loaded, module);
  }
  CU(cuLinkDestroy)(state);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const auto& [name, image] : link_inputs::inputs())
    for (const char* order : {"module", "", "(behind)", "(before)"}) {
      // In a process of its own: drivers end some.
      const pid_t child = fork();
      if (child != 0) {
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) std::printf("# %s %s: ended by %d\n", name.c_str(), order, status);
        continue;
      }
      cudaFree(nullptr);
      if (std::string(order) != "module") {
        link(name, image, order);
      } else {
        CUmodule module = nullptr;
        const CUresult loaded = CU(cuModuleLoadData)(&module, image.data());
        say_kernels(name + " cuModule", loaded, module);
      }
      std::fflush(stdout);
      _exit(0);
    }
}
