// The interface of libcoalesce_native.so: the compiler behind two C functions. native/tier/library.h loads the library
// when the first kernel is compiled and shares structs with it, so both must be of one build.
#pragma once

#include "native/compile.h"

namespace coalesce::native {

struct Request {
  const machine::Code* code = nullptr;
  Target target;
  CompileOptions options;
  Object object;      // the result
  std::string error;  // why there is none
};

// Never throws.
using CompileFunction = void (*)(Request*);
inline constexpr const char* kCompileSymbol = "coalesce_native_compile";

}  // namespace coalesce::native
