// Linking at run time. What is added is kept as text; the module is linked when it is loaded (ptx/link.h).
#include <fstream>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cudart/core/fatbin.h"
#include "cudart/core/image.h"
#include "cudart/core/jit_options.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {

struct LinkState {
  JitOptions options;
  std::vector<std::string> ptx;
  std::string image;               // once complete
  CUresult failed = CUDA_SUCCESS;  // what completing it gives
  bool said = false;               // the client's buffer says what was refused
};

namespace {

// The module of a link to which nothing was added.
constexpr char kNothing[] = ".version 7.0\n.target sm_50\n.address_size 64\n";

enum Input { cubin = 0, ptx = 1, fatbinary = 2, object = 3, library = 4, nvvm = 5 };

struct Links {
  std::unordered_map<CUlinkState, std::unique_ptr<LinkState>> all;
};

template <typename Body>
CUresult with(CUlinkState state, Body&& body) {
  const CUresult ready = current_context();
  if (ready != CUDA_SUCCESS) return ready;
  const std::lock_guard lock(runtime().mutex);
  return held<Links>().all.contains(state) ? body(*state) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult refuse(LinkState& state, const std::string& what) {
  state.said = true;
  state.options.error(what);
  std::fprintf(stderr, "coalesce: error: cuLink: %s\n", what.c_str());
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

// Leaves out an input that the device cannot take, as an H100's driver does: the link goes on without it. Of a fat
// binary's contents, which are for several devices, that driver says nothing.
CUresult leave_out(LinkState& state, int type, const std::string& name, const Image& image) {
  state.said = true;
  state.options.error(image.problem);
  std::fprintf(stderr, "coalesce: error: cuLink: '%s': %s\ncoalesce: hint: %s\n", name.c_str(), image.problem.c_str(),
               image.hint.c_str());
  return type == fatbinary ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

CUresult add(LinkState& state, int type, const void* data, size_t bytes, const std::string& name) {
  if (!state.image.empty()) return CUDA_ERROR_INVALID_VALUE;
  switch (type) {
    case ptx:
    case cubin:
    case fatbinary:
    case object: {
      const machine::Device& d = *runtime().device();
      try {
        Image image = read_image(data, bytes, d.major, d.minor);
        if (image.newer || (image.ptx.empty() && type == fatbinary)) return leave_out(state, type, name, image);
        if (image.ptx.empty()) return state.failed = refuse(state, "'" + name + "': " + image.problem);
        for (std::string& text : image.ptx) state.ptx.push_back(std::move(text));
      } catch (const FatbinError& e) {
        state.options.error(e.what());
        return CUDA_ERROR_INVALID_IMAGE;
      }
      return CUDA_SUCCESS;
    }
    case library:
      // NVIDIA's device library: what of it kernels call, the machine has.
      if (name.find("cudadevrt") != std::string::npos) return CUDA_SUCCESS;
      return refuse(state, "'" + name + "' is a library of machine code");
    default:
      return refuse(state, "'" + name + "' is intermediate code that only NVIDIA's compiler reads");
  }
}

}  // namespace

COALESCE_API CUresult cuLinkCreate_v2(unsigned count, const int* options, void** values, CUlinkState* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult ready = current_context();
  if (ready != CUDA_SUCCESS) return ready;
  const std::lock_guard lock(runtime().mutex);
  auto made = std::make_unique<LinkState>();
  made->options = {count, options, values};
  *out = made.get();
  held<Links>().all[*out] = std::move(made);
  return CUDA_SUCCESS;
}
COALESCE_ALIAS(cuLinkCreate, cuLinkCreate_v2);

COALESCE_API CUresult cuLinkAddData_v2(CUlinkState state, int type, void* data, size_t bytes, const char* name,
                                       unsigned, const int*, void**) {
  if (data == nullptr || bytes < sizeof(uint32_t)) return CUDA_ERROR_INVALID_VALUE;
  return with(state, [&](LinkState& s) { return add(s, type, data, bytes, name != nullptr ? name : "data"); });
}
COALESCE_ALIAS(cuLinkAddData, cuLinkAddData_v2);

COALESCE_API CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char* path, unsigned, const int*, void**) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with(state, [&](LinkState& s) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    const std::string content(std::istreambuf_iterator<char>(file), {});
    if (content.size() < sizeof(uint32_t)) return CUDA_ERROR_INVALID_IMAGE;
    return add(s, type, content.data(), content.size(), path);
  });
}
COALESCE_ALIAS(cuLinkAddFile, cuLinkAddFile_v2);

// The image belongs to the state.
COALESCE_API CUresult cuLinkComplete(CUlinkState state, void** out, size_t* bytes) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with(state, [&](LinkState& s) {
    if (s.failed != CUDA_SUCCESS) return s.failed;
    if (s.ptx.empty()) s.ptx.emplace_back(kNothing);
    s.image = linked_image(s.ptx, s.options.most_registers());
    if (!s.said) s.options.error("");
    *out = s.image.data();
    if (bytes != nullptr) *bytes = s.image.size();
    return CUDA_SUCCESS;
  });
}

COALESCE_API CUresult cuLinkDestroy(CUlinkState state) {
  return with(state, [&](LinkState&) {
    held<Links>().all.erase(state);
    return CUDA_SUCCESS;
  });
}

}  // namespace coalesce::cudart
