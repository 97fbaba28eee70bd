// Modules and libraries: the same thing here, a runtime's library whose content we own.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "cudart/api/library.h"
#include "cudart/core/fatbin.h"
#include "cudart/core/image.h"
#include "cudart/core/jit_options.h"
#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {
namespace {

// CUmoduleLoadingMode: eager. Decoding waits for the first launch all the same.
constexpr int kEager = 1;

CUresult load(cudaLibrary_t* out, const void* image, size_t bytes, Refuse when, const JitOptions& options) {
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string problem;
  const CUresult result = in_context([&] {
    return call([&](Runtime& r) {
      try {
        return load_library(r, out, copy_image(image, bytes), options.most_registers(), when, problem);
      } catch (const FatbinError& e) {
        problem = e.what();
        std::fprintf(stderr, "coalesce: error: %s: %s\n", program_invocation_name, e.what());
        return cudaErrorInvalidKernelImage;
      }
    });
  });
  options.error(problem);
  return result;
}

CUresult load_file(cudaLibrary_t* out, const char* path, Refuse when, const JitOptions& options) {
  if (out == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult ready = current_context(); ready != CUDA_SUCCESS) return ready;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string content(std::istreambuf_iterator<char>(file), {});
  if (content.size() < sizeof(uint32_t)) return CUDA_ERROR_INVALID_IMAGE;
  return load(out, content.data(), content.size(), when, options);
}

// A kernel's name is known, but no variable's.
CUresult find_variable(CUdeviceptr* address, size_t* bytes, cudaLibrary_t library, const char* name) {
  if ((address == nullptr && bytes == nullptr) || (name != nullptr && *name == '\0')) return CUDA_ERROR_INVALID_VALUE;
  void* at = nullptr;
  const CUresult result = in_context([&] {
    const cudaError_t error = cudaLibraryGetGlobal(&at, bytes, library, name);
    return error == cudaErrorSymbolNotFound ? cudaLibraryGetManaged(&at, bytes, library, name) : error;
  });
  cudaKernel_t kernel = nullptr;
  if (result == CUDA_ERROR_NOT_FOUND &&
      in_context([&] { return cudaLibraryGetKernel(&kernel, library, name); }) == CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS && address != nullptr) *address = reinterpret_cast<uintptr_t>(at);
  return result;
}

}  // namespace

COALESCE_API CUresult cuModuleLoadData(cudaLibrary_t* module, const void* image) {
  return load(module, image, 0, Refuse::now, {});
}
COALESCE_ALIAS(cuModuleLoadFatBinary, cuModuleLoadData);
COALESCE_API CUresult cuModuleLoadDataEx(cudaLibrary_t* module, const void* image, unsigned count, const int* options,
                                         void** values) {
  if (count != 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return load(module, image, 0, Refuse::now, {count, options, values});
}
COALESCE_API CUresult cuModuleLoad(cudaLibrary_t* module, const char* path) {
  return load_file(module, path, Refuse::now, {});
}
COALESCE_API CUresult cuModuleUnload(cudaLibrary_t module) {
  return after_init([&] { return cudaLibraryUnload(module); });
}
COALESCE_API CUresult cuModuleGetFunction(cudaKernel_t* function, cudaLibrary_t module, const char* name) {
  return in_context([&] { return cudaLibraryGetKernel(function, module, name); });
}
COALESCE_API CUresult cuModuleGetFunctionCount(unsigned* count, cudaLibrary_t module) {
  return in_context([&] { return cudaLibraryGetKernelCount(count, module); });
}
COALESCE_API CUresult cuModuleEnumerateFunctions(cudaKernel_t* functions, unsigned room, cudaLibrary_t module) {
  return in_context([&] { return cudaLibraryEnumerateKernels(functions, room, module); });
}
COALESCE_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, cudaLibrary_t module,
                                           const char* name) {
  return find_variable(address, bytes, module, name);
}
COALESCE_API CUresult cuModuleGetLoadingMode(int* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = kEager;
  return initialised();
}

// Options of the library itself (the last three arguments) say how long the caller keeps the image; we copy it.
COALESCE_API CUresult cuLibraryLoadData(cudaLibrary_t* library, const void* image, const int* options, void** values,
                                        unsigned count, const int*, void**, unsigned) {
  return load(library, image, 0, Refuse::when_used, {count, options, values});
}
COALESCE_API CUresult cuLibraryLoadFromFile(cudaLibrary_t* library, const char* path, const int* options, void** values,
                                            unsigned count, const int*, void**, unsigned) {
  return load_file(library, path, Refuse::when_used, {count, options, values});
}
COALESCE_API CUresult cuLibraryUnload(cudaLibrary_t library) { return cuModuleUnload(library); }
COALESCE_API CUresult cuLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return cuModuleGetFunction(kernel, library, name);
}
COALESCE_API CUresult cuLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return cuModuleGetFunctionCount(count, library);
}
COALESCE_API CUresult cuLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned room, cudaLibrary_t library) {
  return cuModuleEnumerateFunctions(kernels, room, library);
}
COALESCE_API CUresult cuLibraryGetModule(cudaLibrary_t* module, cudaLibrary_t library) {
  unsigned count = 0;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuModuleGetFunctionCount(&count, library);  // whether there is such a library
  if (result == CUDA_SUCCESS) *module = library;
  return result;
}
COALESCE_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return find_variable(address, bytes, library, name);
}
COALESCE_API CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, cudaLibrary_t library,
                                          const char* name) {
  void* at = nullptr;
  const CUresult result = in_context([&] { return cudaLibraryGetManaged(&at, bytes, library, name); });
  if (result == CUDA_SUCCESS && address != nullptr) *address = reinterpret_cast<uintptr_t>(at);
  return result;
}

}  // namespace coalesce::cudart
