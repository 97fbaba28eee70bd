// The exported functions of libnvrtc.so. A library for each version of CUDA, which differ in what they call themselves.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>

#include "nvrtc/abi.h"
#include "nvrtc/program.h"

#define NVRTC_API extern "C" __attribute__((visibility("default")))

using namespace coalesce::nvrtc;

namespace {

// The programs that exist: a handle that is none of them gets an error, as NVRTC's documents say.
std::mutex programs_mutex;
std::set<Program*>& programs() {
  static auto* all = new std::set<Program*>;
  return *all;
}

bool exists(Program* program) {
  const std::lock_guard lock(programs_mutex);
  return programs().contains(program);
}

// Runs `work` on the program; no exception leaves this library.
template <typename Work>
Result with(Program* program, const Work& work) {
  if (!exists(program)) return NVRTC_ERROR_INVALID_PROGRAM;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return NVRTC_ERROR_INTERNAL_ERROR;
  }
}

// The outputs that a program may have: the machine reads PTX only, and our driver takes it wherever it takes a cubin.
const std::string& ptx_of(const Program& program) { return program.ptx; }
const std::string& log_of(const Program& program) { return program.log; }
const std::string* machine_code_of(const Program& program) { return program.machine_code ? &program.ptx : nullptr; }
// Formats that the options which ask for them do not make: of no size, as NVRTC says of what was not asked for.
const std::string* none_of(const Program&) { return nullptr; }

const std::string* pointer(const std::string& text) { return &text; }
const std::string* pointer(const std::string* text) { return text; }

template <typename Of>
Result give_size(Program* program, size_t* bytes, Of of) {
  return with(program, [&] {
    if (bytes == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    const std::string* text = pointer(of(*program));
    *bytes = text != nullptr ? text->size() + 1 : 0;
    return NVRTC_SUCCESS;
  });
}

// `to` has room for what give_size() said.
template <typename Of>
Result give(Program* program, char* to, Of of) {
  return with(program, [&] {
    if (to == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    if (const std::string* text = pointer(of(*program))) std::memcpy(to, text->c_str(), text->size() + 1);
    return NVRTC_SUCCESS;
  });
}

size_t pch_bytes = 0;

}  // namespace

NVRTC_API const char* nvrtcGetErrorString(Result result) {
  switch (result) {
#define X(name, value) \
  case name:           \
    return #name;
#include "nvrtc/errors.def"
#undef X
  }
  return "NVRTC_ERROR unknown";
}

NVRTC_API Result nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = COALESCE_NVRTC_VERSION / 1000;
  *minor = COALESCE_NVRTC_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}

NVRTC_API Result nvrtcGetNumSupportedArchs(int* count) {
  if (count == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *count = static_cast<int>(architectures().size());
  return NVRTC_SUCCESS;
}

NVRTC_API Result nvrtcGetSupportedArchs(int* to) {
  if (to == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::copy(architectures().begin(), architectures().end(), to);
  return NVRTC_SUCCESS;
}

NVRTC_API Result nvrtcCreateProgram(coalesce_nvrtc_program* program, const char* source, const char* name, int headers,
                                    const char* const* texts, const char* const* names) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (source == nullptr || headers < 0 || (headers > 0 && (texts == nullptr || names == nullptr)))
    return NVRTC_ERROR_INVALID_INPUT;
  try {
    auto made = std::make_unique<Program>();
    made->source = source;
    made->name = name != nullptr && *name != '\0' ? name : "default_program";
    for (int i = 0; i < headers; ++i) {
      if (texts[i] == nullptr || names[i] == nullptr) return NVRTC_ERROR_INVALID_INPUT;
      made->headers.emplace_back(names[i], texts[i]);
    }
    const std::lock_guard lock(programs_mutex);
    programs().insert(made.get());
    *program = made.release();
  } catch (const std::bad_alloc&) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  }
  return NVRTC_SUCCESS;
}

NVRTC_API Result nvrtcDestroyProgram(coalesce_nvrtc_program* program) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  {
    const std::lock_guard lock(programs_mutex);
    if (programs().erase(*program) == 0) return NVRTC_ERROR_INVALID_PROGRAM;
  }
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

NVRTC_API Result nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  return with(program, [&] {
    return count < 0 || (count > 0 && options == nullptr) ? NVRTC_ERROR_INVALID_INPUT
                                                          : compile(*program, count, options);
  });
}

#define FORMAT(name, of)                                                                                           \
  NVRTC_API Result nvrtcGet##name##Size(Program* program, size_t* bytes) { return give_size(program, bytes, of); } \
  NVRTC_API Result nvrtcGet##name(Program* program, char* to) { return give(program, to, of); }
FORMAT(PTX, ptx_of)
FORMAT(ProgramLog, log_of)
FORMAT(CUBIN, machine_code_of)
FORMAT(NVVM, none_of)
FORMAT(LTOIR, none_of)
FORMAT(OptiXIR, none_of)
#undef FORMAT

NVRTC_API Result nvrtcAddNameExpression(Program* program, const char* expression) {
  return with(program, [&] {
    if (expression == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    if (program->compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    auto& all = program->expressions;
    if (std::find(all.begin(), all.end(), expression) == all.end()) all.emplace_back(expression);
    return NVRTC_SUCCESS;
  });
}

NVRTC_API Result nvrtcGetLoweredName(Program* program, const char* expression, const char** name) {
  return with(program, [&] {
    if (expression == nullptr || name == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    if (!program->compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    const auto found = program->lowered.find(expression);
    if (found == program->lowered.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    *name = found->second.c_str();
    return NVRTC_SUCCESS;
  });
}

// Precompiled headers are accepted and not made.
NVRTC_API Result nvrtcGetPCHHeapSize(size_t* bytes) {
  if (bytes == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *bytes = pch_bytes;
  return NVRTC_SUCCESS;
}
NVRTC_API Result nvrtcSetPCHHeapSize(size_t bytes) {
  pch_bytes = bytes;
  return NVRTC_SUCCESS;
}
NVRTC_API Result nvrtcGetPCHCreateStatus(Program* program) {
  return with(program, [] { return NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED; });
}
NVRTC_API Result nvrtcGetPCHHeapSizeRequired(Program* program, size_t* bytes) {
  return give_size(program, bytes, none_of);
}

NVRTC_API Result nvrtcSetFlowCallback(Program* program, FlowCallback callback, void* payload) {
  return with(program, [&] {
    program->callback = callback;
    program->payload = payload;
    return NVRTC_SUCCESS;
  });
}
