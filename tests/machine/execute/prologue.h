// Kernels of one block in which thread i leaves %r10 in out[i]; %r1 is its number, %rd1 out, %rd3 the place.
#pragma once

#include <string>

#include "harness.h"

namespace coalesce::machine::test {

inline const std::string kPrologue =
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";
inline const std::string kStore = "st.global.u32 [%rd3], %r10;\n";

inline std::string with_prologue(const std::string& body) {
  return kernel(".param .u64 out", kPrologue + body + kStore);
}
inline Shape threads(uint32_t n) {
  Shape s;
  s.block = {n, 1, 1};
  return s;
}

}  // namespace coalesce::machine::test
