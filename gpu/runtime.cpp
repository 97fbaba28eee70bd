#include "gpu/runtime.h"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

namespace coalesce::gpu {
namespace {

// Numbers of CUdevice_attribute.
constexpr int kMultiprocessors = 16, kL2Bytes = 38, kMajor = 75, kMinor = 76;

int attribute(int which, int device) {
  int value = 0;
  driver()->cuDeviceGetAttribute(&value, which, device);
  return value;
}

// A shared runtime that is loaded, wherever its names are seen.
void* loaded_runtime() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        const std::string_view name = info->dlpi_name ? info->dlpi_name : "";
        if (!name.substr(name.rfind('/') + 1).starts_with("libcudart.so")) return 0;
        *static_cast<std::string*>(found) = name;
        return 1;
      },
      &path);
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

void* driver_library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

}  // namespace

void* next_symbol(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  void* runtime = loaded_runtime();
  return runtime ? dlsym(runtime, name) : nullptr;
}

void* driver_symbol(const char* name) { return driver_library() ? dlsym(driver_library(), name) : nullptr; }

const Driver* driver() {
  static const Driver* const loaded = []() -> const Driver* {
    static Driver d;
    bool all = true;
#define COALESCE_LOAD(name, parameters)                              \
  d.name = reinterpret_cast<decltype(d.name)>(driver_symbol(#name)); \
  all = all && d.name;
    COALESCE_DRIVER(COALESCE_LOAD)
#undef COALESCE_LOAD
    d.cuFuncGetName = reinterpret_cast<decltype(d.cuFuncGetName)>(driver_symbol("cuFuncGetName"));
    d.cuKernelGetName = reinterpret_cast<decltype(d.cuKernelGetName)>(driver_symbol("cuKernelGetName"));
    return all ? &d : nullptr;
  }();
  return loaded;
}

void* current_context() {
  void* context = nullptr;
  return driver() && driver()->cuCtxGetCurrent(&context) == 0 ? context : nullptr;
}

DeviceFacts device_facts() {
  DeviceFacts facts;
  driver()->cuCtxGetDevice(&facts.index);
  facts.major = attribute(kMajor, facts.index);
  facts.minor = attribute(kMinor, facts.index);
  facts.multiprocessors = attribute(kMultiprocessors, facts.index);
  facts.l2_bytes = static_cast<size_t>(attribute(kL2Bytes, facts.index));
  char name[256] = "";
  driver()->cuDeviceGetName(name, sizeof name, facts.index);
  facts.name = name;
  return facts;
}

}  // namespace coalesce::gpu
