// Kernels that call functions, as PTX text.
#pragma once

#include <string>
#include <vector>

#include "harness.h"

namespace coalesce::machine::test {

inline const std::string kRegisters =
    ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n.reg .f32 %f<8>;\n.reg .f64 "
    "%fd<8>;\n";

// A function of one 32-bit argument (in %r1) that returns %r2.
inline std::string function(const std::string& name, const std::string& body, const std::string& local = "") {
  return ".func (.param .b32 result) " + name + "(.param .b32 x)\n{\n" + local + kRegisters +
         "ld.param.b32 %r1, [x];\n" + body + "st.param.b32 [result], %r2;\nret;\n}\n";
}
inline std::string declaration(const std::string& name) {
  return ".func (.param .b32 result) " + name + "(.param .b32 x)\n;\n";
}
inline std::string call(const std::string& name, const std::string& to, const std::string& argument) {
  return "{\n.param .b32 a;\n.param .b32 v;\nst.param.b32 [a], " + argument + ";\ncall.uni (v), " + name +
         ", (a);\nld.param.b32 " + to + ", [v];\n}\n";
}
// out[i] = f(in[i]).
inline std::string map_kernel(const std::string& functions, const std::string& body) {
  return module(functions + ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" + kRegisters +
                "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nmov.u32 %r20, %ctaid.x;\nmov.u32 %r21, "
                "%ntid.x;\nmov.u32 %r22, %tid.x;\nmad.lo.u32 %r23, %r20, %r21, %r22;\nmad.wide.u32 %rd3, %r23, 4, "
                "%rd1;\nmad.wide.u32 %rd4, %r23, 4, %rd2;\nld.global.u32 %r1, [%rd4];\n" +
                body + "st.global.u32 [%rd3], %r2;\nret;\n}\n");
}

inline std::vector<uint32_t> numbers(uint32_t n, uint32_t modulo) {
  std::vector<uint32_t> v(n);
  for (uint32_t i = 0; i < n; ++i) v[i] = i * 7 % modulo;
  return v;
}

inline Ran run_map(const std::string& functions, const std::string& body, const std::vector<uint32_t>& in,
                   uint32_t blocks = 2) {
  Shape shape;
  shape.grid = {blocks, 1, 1};
  shape.block = {static_cast<uint32_t>(in.size()) / blocks, 1, 1};
  return run(map_kernel(functions, body), {zeros<uint32_t>(in.size()), buffer(in)}, shape);
}

}  // namespace coalesce::machine::test
