// Modules that programs load at run time: PTX text or fat binaries, in memory or in files.
#include "cudart/api/library.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>

#include "cudart/core/jit_options.h"
#include "cudart/core/registry.h"

namespace coalesce::cudart {

struct Library {
  Module* module;
  std::string content;  // empty: the image belongs to the program
};

namespace {

struct Libraries {
  std::unordered_map<cudaLibrary_t, std::unique_ptr<Library>> all;
};
auto& libraries() { return held<Libraries>().all; }

// Whether a driver's compiler, or its search for code that fits, gives this error.
bool is_of_the_compiler(cudaError_t error) {
  return error == cudaErrorInvalidPtx || error == cudaErrorUnsupportedPtxVersion ||
         error == cudaErrorNoKernelImageForDevice;
}

cudaError_t load(Runtime& r, cudaLibrary_t* library, const void* image, size_t bytes, uint32_t most_registers,
                 Refuse when, std::unique_ptr<Library> made, std::string& problem) {
  made->module = r.registry().add_module(image, bytes);
  made->module->most_registers = most_registers;
  if (const cudaError_t error = r.registry().load(*made->module); error != cudaSuccess) {
    problem = made->module->problem;
    if (when == Refuse::now || !is_of_the_compiler(error)) {
      r.registry().remove(made->module);
      return error;
    }
  }
  *library = made.get();
  libraries()[*library] = std::move(made);
  return cudaSuccess;
}

template <typename Body>
cudaError_t with(cudaLibrary_t library, Body&& body) {
  return call([&](Runtime& r) {
    if (!libraries().contains(library)) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = r.registry().load(*library->module); error != cudaSuccess) return error;
    return body(r, *library->module);
  });
}

cudaError_t variable(void** address, size_t* bytes, cudaLibrary_t library, const char* name, bool managed) {
  if (name == nullptr) return note(cudaErrorInvalidValue);
  return with(library, [&](Runtime&, Module& module) {
    const machine::VariableInfo* info = module.program->variable(name);
    if (info == nullptr || info->managed != managed) return cudaErrorSymbolNotFound;
    if (address != nullptr) *address = reinterpret_cast<void*>(info->address);
    if (bytes != nullptr) *bytes = info->size;
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t load_library(Runtime& r, cudaLibrary_t* library, std::string image, uint32_t most_registers, Refuse when,
                         std::string& problem) {
  auto made = std::make_unique<Library>();
  made->content = std::move(image);
  const std::string& content = made->content;
  return load(r, library, content.data(), content.size(), most_registers, when, std::move(made), problem);
}

// The limit of registers is the one option that matters to the machine.
COALESCE_API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image, int* options, void** values,
                                             unsigned count, int*, void**, unsigned) {
  if (library == nullptr || image == nullptr) return note(cudaErrorInvalidValue);
  const uint32_t most = JitOptions(count, options, values).most_registers();
  std::string problem;
  return call([&](Runtime& r) {
    return load(r, library, image, 0, most, Refuse::when_used, std::make_unique<Library>(), problem);
  });
}

COALESCE_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, int* options, void** values,
                                                 unsigned count, int*, void**, unsigned) {
  if (library == nullptr || path == nullptr) return note(cudaErrorInvalidValue);
  const uint32_t most = JitOptions(count, options, values).most_registers();
  return call([&](Runtime& r) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return cudaErrorFileNotFound;
    std::string content(std::istreambuf_iterator<char>(file), {}), problem;
    if (content.size() < sizeof(uint32_t)) return cudaErrorInvalidKernelImage;
    return load_library(r, library, std::move(content), most, Refuse::when_used, problem);
  });
}

COALESCE_API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return call([&](Runtime& r) {
    const auto at = libraries().find(library);
    if (at == libraries().end()) return cudaErrorInvalidResourceHandle;
    r.registry().remove(at->second->module);
    at->second->module->program.reset();  // gives its variables back
    libraries().erase(at);
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  if (kernel == nullptr || name == nullptr) return note(cudaErrorInvalidValue);
  return with(library, [&](Runtime& r, Module& module) {
    *kernel = r.registry().kernel_named(module, name);
    return *kernel != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
  });
}

COALESCE_API cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  if (count == nullptr) return note(cudaErrorInvalidValue);
  return with(library, [&](Runtime&, Module& module) {
    *count = static_cast<unsigned>(module.program->kernels().size());
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned room, cudaLibrary_t library) {
  if (kernels == nullptr) return note(cudaErrorInvalidValue);
  return with(library, [&](Runtime& r, Module& module) {
    unsigned n = 0;
    for (const std::string& name : module.program->kernels()) {
      if (n < room) kernels[n++] = r.registry().kernel_named(module, name);
    }
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return variable(address, bytes, library, name, false);
}
COALESCE_API cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return variable(address, bytes, library, name, true);
}

}  // namespace coalesce::cudart
