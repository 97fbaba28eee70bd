// NVIDIA's driver, as far as a launch takes it. Opened while the program runs: no toolkit is needed.
#pragma once

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace coalesce::machine::test {

using Pointer = unsigned long long;

struct Refused : std::runtime_error {  // the driver's compiler does not take the PTX; the context goes on
  using runtime_error::runtime_error;
};

class Gpu {
 public:
  Gpu() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (!library_) throw std::runtime_error("no libcuda.so.1: this needs NVIDIA's driver");
    call("cuInit", 0u);
    int device = 0;
    call("cuDeviceGet", &device, 0);
    void* context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
  }
  Pointer allocate(std::size_t bytes) {
    Pointer at = 0;
    call("cuMemAlloc_v2", &at, bytes);
    return at;
  }
  void write(Pointer to, const std::vector<uint8_t>& from) { call("cuMemcpyHtoD_v2", to, from.data(), from.size()); }
  void read(std::vector<uint8_t>& to, Pointer from) { call("cuMemcpyDtoH_v2", to.data(), from, to.size()); }
  // Throws Refused where the driver refuses the PTX.
  void* load(const std::string& ptx, bool optimised = true) {
    void* module = nullptr;
    const auto load =
        reinterpret_cast<int (*)(void**, const void*, unsigned, int*, void**)>(address("cuModuleLoadDataEx"));
    int option = 7;         // CU_JIT_OPTIMIZATION_LEVEL
    void* value = nullptr;  // 0
    if (const int code = load(&module, ptx.c_str(), optimised ? 0 : 1, &option, &value); code)
      throw Refused("refused: error " + std::to_string(code));
    return module;
  }
  void unload(void* module) { call("cuModuleUnload", module); }
  // Throws where the kernel faults, and where it takes more than ten seconds.
  void run(void* module, const std::string& kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
           void** arguments) {
    void* function = nullptr;
    call("cuModuleGetFunction", &function, module, kernel.c_str());
    call("cuLaunchKernel", function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0u,
         static_cast<void*>(nullptr), arguments, static_cast<void**>(nullptr));
    const auto query = reinterpret_cast<int (*)(void*)>(address("cuStreamQuery"));
    constexpr int kNotReady = 600;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    int code = 0;
    while ((code = query(nullptr)) == kNotReady)
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("does not end");
    if (code) throw std::runtime_error("cuStreamQuery: error " + std::to_string(code));
  }

 private:
  void* address(const char* name) {
    void* const at = dlsym(library_, name);
    if (!at) throw std::runtime_error(std::string("the driver has no ") + name);
    return at;
  }
  template <class... A>
  void call(const char* name, A... arguments) {
    const int code = reinterpret_cast<int (*)(A...)>(address(name))(arguments...);
    if (code) throw std::runtime_error(std::string(name) + ": error " + std::to_string(code));
  }
  void* library_;
};

}  // namespace coalesce::machine::test
