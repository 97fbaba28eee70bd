// NVRTC's interface: what programs were compiled against. tests/nvrtc compares it with NVIDIA's header where there is
// one.
#pragma once

#include <cstddef>

namespace coalesce::nvrtc {

enum Result : int {
#define X(name, value) name = value,
#include "nvrtc/errors.def"
#undef X
};

struct Program;

// Asked while a program is compiled; anything but 0 cancels.
using FlowCallback = int (*)(void* payload, void* reserved);

}  // namespace coalesce::nvrtc

extern "C" {
using coalesce_nvrtc_program = coalesce::nvrtc::Program*;
const char* nvrtcGetErrorString(coalesce::nvrtc::Result result);
coalesce::nvrtc::Result nvrtcVersion(int* major, int* minor);
coalesce::nvrtc::Result nvrtcGetNumSupportedArchs(int* count);
coalesce::nvrtc::Result nvrtcGetSupportedArchs(int* architectures);
coalesce::nvrtc::Result nvrtcCreateProgram(coalesce_nvrtc_program* program, const char* source, const char* name,
                                           int headers, const char* const* texts, const char* const* names);
coalesce::nvrtc::Result nvrtcDestroyProgram(coalesce_nvrtc_program* program);
coalesce::nvrtc::Result nvrtcCompileProgram(coalesce_nvrtc_program program, int count, const char* const* options);
coalesce::nvrtc::Result nvrtcGetPTXSize(coalesce_nvrtc_program program, size_t* bytes);
coalesce::nvrtc::Result nvrtcGetPTX(coalesce_nvrtc_program program, char* to);
coalesce::nvrtc::Result nvrtcGetCUBINSize(coalesce_nvrtc_program program, size_t* bytes);
coalesce::nvrtc::Result nvrtcGetCUBIN(coalesce_nvrtc_program program, char* to);
coalesce::nvrtc::Result nvrtcGetNVVMSize(coalesce_nvrtc_program program, size_t* bytes);
coalesce::nvrtc::Result nvrtcGetNVVM(coalesce_nvrtc_program program, char* to);
coalesce::nvrtc::Result nvrtcGetLTOIRSize(coalesce_nvrtc_program program, size_t* bytes);
coalesce::nvrtc::Result nvrtcGetLTOIR(coalesce_nvrtc_program program, char* to);
coalesce::nvrtc::Result nvrtcGetOptiXIRSize(coalesce_nvrtc_program program, size_t* bytes);
coalesce::nvrtc::Result nvrtcGetOptiXIR(coalesce_nvrtc_program program, char* to);
coalesce::nvrtc::Result nvrtcGetProgramLogSize(coalesce_nvrtc_program program, size_t* bytes);
coalesce::nvrtc::Result nvrtcGetProgramLog(coalesce_nvrtc_program program, char* to);
coalesce::nvrtc::Result nvrtcAddNameExpression(coalesce_nvrtc_program program, const char* expression);
coalesce::nvrtc::Result nvrtcGetLoweredName(coalesce_nvrtc_program program, const char* expression, const char** name);
coalesce::nvrtc::Result nvrtcGetPCHHeapSize(size_t* bytes);
coalesce::nvrtc::Result nvrtcSetPCHHeapSize(size_t bytes);
coalesce::nvrtc::Result nvrtcGetPCHCreateStatus(coalesce_nvrtc_program program);
coalesce::nvrtc::Result nvrtcGetPCHHeapSizeRequired(coalesce_nvrtc_program program, size_t* bytes);
coalesce::nvrtc::Result nvrtcSetFlowCallback(coalesce_nvrtc_program program, coalesce::nvrtc::FlowCallback callback,
                                             void* payload);
}
