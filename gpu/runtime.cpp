#include "gpu/runtime.h"

#include <dlfcn.h>

namespace coalesce::gpu {
namespace {

// Numbers of cudaDeviceAttr.
constexpr int kMultiprocessors = 16, kL2Bytes = 38, kMajor = 75, kMinor = 76;

int attribute(int which, int device) {
  int value = 0;
  runtime().cudaDeviceGetAttribute(&value, which, device);
  return value;
}

}  // namespace

void* next_symbol(const char* name) { return dlsym(RTLD_NEXT, name); }

const Runtime& runtime() {
  static const Runtime loaded = [] {
    Runtime r;
#define COALESCE_LOAD(name, result, parameters) r.name = reinterpret_cast<decltype(r.name)>(next_symbol(#name));
    COALESCE_RUNTIME(COALESCE_LOAD)
#undef COALESCE_LOAD
    return r;
  }();
  return loaded;
}

const Driver* driver() {
  static const Driver* const loaded = []() -> const Driver* {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return nullptr;
    static Driver d;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    const bool all = load(d.cuCtxGetCurrent, "cuCtxGetCurrent") && load(d.cuDeviceGetName, "cuDeviceGetName") &&
                     load(d.cuModuleLoadData, "cuModuleLoadData") &&
                     load(d.cuModuleGetFunction, "cuModuleGetFunction") && load(d.cuLaunchKernel, "cuLaunchKernel");
    return all ? &d : nullptr;
  }();
  return loaded;
}

DeviceFacts device_facts() {
  DeviceFacts facts;
  runtime().cudaGetDevice(&facts.index);
  facts.major = attribute(kMajor, facts.index);
  facts.minor = attribute(kMinor, facts.index);
  facts.multiprocessors = attribute(kMultiprocessors, facts.index);
  facts.l2_bytes = static_cast<size_t>(attribute(kL2Bytes, facts.index));
  char name[256] = "";
  if (driver()) driver()->cuDeviceGetName(name, sizeof name, facts.index);
  facts.name = name;
  return facts;
}

}  // namespace coalesce::gpu
