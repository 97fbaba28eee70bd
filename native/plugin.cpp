#include "native/plugin.h"

#include <exception>

extern "C" __attribute__((visibility("default"))) void coalesce_native_compile(coalesce::native::Request* request) {
  using namespace coalesce::native;
  try {
    const Target target = request->cpu.empty() ? host_target() : named_target(request->cpu);
    request->object = compile(*request->code, target, request->options);
  } catch (const std::exception& e) {
    request->error = e.what();
  }
}
