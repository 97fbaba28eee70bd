#include "native/plugin.h"

#include <exception>

extern "C" __attribute__((visibility("default"))) void coalesce_native_compile(coalesce::native::Request* request) {
  using namespace coalesce::native;
  try {
    request->object = compile(*request->code, request->target, request->options);
  } catch (const std::exception& e) {
    request->error = e.what();
  }
}
