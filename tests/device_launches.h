// PTX that launches kernels from kernels, as nvcc writes it.
#pragma once

#include <string>

namespace coalesce::test {

inline const std::string kDeviceRuntimeDeclarations =
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 a, .param .align 4 .b8 b[12], "
    ".param .align 4 .b8 c[12], .param .b32 d);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n"
    ".extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);\n";

// Launches `kernel` with the parameters (u64 %rd1, u32 %r1, u32 %r2), `grid` x 1 x 1 blocks of `block` threads. Then
// %rd62 is 0 if there was no buffer, and %r62 the launch's result.
inline std::string device_launch(const std::string& kernel, const std::string& grid, const std::string& block,
                                 const std::string& stream, const std::string& shared = "0") {
  return "{\n.reg .pred %p;\nmov.u64 %rd63, " + kernel +
         ";\n.param .b64 a;\nst.param.b64 [a], %rd63;\n"
         ".param .align 4 .b8 b[12];\nst.param.b32 [b+0], " +
         grid + ";\nst.param.b32 [b+4], 1;\nst.param.b32 [b+8], 1;\n.param .align 4 .b8 c[12];\nst.param.b32 [c+0], " +
         block + ";\nst.param.b32 [c+4], 1;\nst.param.b32 [c+8], 1;\n.param .b32 d;\nst.param.b32 [d], " + shared +
         ";\n.param .b64 r;\ncall.uni (r), __cudaCDP2GetParameterBufferV2, (a, b, c, d);\nld.param.b64 %rd62, [r];\n"
         "setp.eq.s64 %p, %rd62, 0;\n@%p bra NONE;\nst.u64 [%rd62], %rd1;\nst.u32 [%rd62+8], %r1;\n"
         "st.u32 [%rd62+12], %r2;\n{\n.param .b64 e;\nst.param.b64 [e], %rd62;\n.param .b64 f;\nst.param.b64 [f], " +
         stream +
         ";\n.param .b32 g;\ncall.uni (g), __cudaCDP2LaunchDeviceV2, (e, f);\nld.param.b32 %r62, [g];\n}\nNONE:\n}\n";
}

inline const std::string kGetLastError =
    "{\n.param .b32 g;\ncall.uni (g), __cudaCDP2GetLastError, ();\nld.param.b32 %r61, [g];\n}\n";

}  // namespace coalesce::test
