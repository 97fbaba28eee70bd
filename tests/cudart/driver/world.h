// One living and one destroyed handle of every kind, and arguments made of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/cudart/driver/driver_api.h"
#include "tests/cudart/driver/signatures.h"

namespace coalesce::cudart {

extern "C" {
CUresult cuGraphCreate(cudaGraph_t*, unsigned);
CUresult cuGraphDestroy(cudaGraph_t);
CUresult cuGraphAddEmptyNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t);
CUresult cuGraphDestroyNode(cudaGraphNode_t);
CUresult cuMemPoolCreate(cudaMemPool_t*, const cudaMemPoolProps*);
CUresult cuMemPoolDestroy(cudaMemPool_t);
CUresult cuTexObjectCreate(unsigned long long*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*, const void*);
CUresult cuTexObjectDestroy(unsigned long long);
CUresult cuSurfObjectCreate(unsigned long long*, const CUDA_RESOURCE_DESC*);
CUresult cuSurfObjectDestroy(unsigned long long);
CUresult cuIpcGetMemHandle(cudaIpcHandle*, CUdeviceptr);
}

inline size_t does_nothing(void*) { return 0; }

class World {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(Kind::last_handle) + 1;
  static constexpr size_t kBytes = 4096;  // of the allocation

  // The primary context is current, and has this world's handles.
  World() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&primary_, 0), CUDA_SUCCESS);
    enter();
    make(dead_);
    make(live_);  // before the others end, so that it is not in their place
    destroy(dead_);
    set(dead_, Kind::device, 77);
  }
  ~World() {
    destroy(live_);
    while (cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS) {}
    while (cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS) {}  // calls under test may have retained it, too
    cuDevicePrimaryCtxReset_v2(0);
    cudaGetLastError();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void enter() {
    while (cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS) {}
    cuCtxPushCurrent_v2(primary_);
    // Pointers point to zeros, so counts in structures are 0.
    std::memset(scratch_, 0, sizeof scratch_);
    for (void*& p : pointers_) p = scratch_;
  }

  const Argument& live(Kind kind) const { return live_[static_cast<size_t>(kind)]; }
  const Argument& dead(Kind kind) const { return dead_[static_cast<size_t>(kind)]; }

  // An argument of a call that means well.
  Argument good(const Parameter& p) {
    if (is_handle(p.kind)) return live(p.kind);
    if (p.kind == Kind::nodes) return list_of(live(Kind::node));
    if (p.kind == Kind::callback) return pointer(reinterpret_cast<const void*>(&does_nothing));
    if (p.kind == Kind::place) return place(p);
    return Argument::of(number(p));
  }
  Argument list_of(const Argument& node) {
    nodes_ = node.words[0];
    return pointer(&nodes_);
  }
  static Argument pointer(const void* p) { return Argument::of(reinterpret_cast<uint64_t>(p)); }

 private:
  using Handles = std::array<Argument, kKinds>;

  Argument place(const Parameter& p) {
    if (p.name == "parameters") {  // of `scale`
      address_ = live(Kind::address).words[0];
      pointers_[0] = &address_;
      return pointer(pointers_);
    }
    if (p.name == "extra") return Argument::of(0);
    if (p.name == "image") return pointer(kPtx);
    if (p.name == "path") return pointer("/nowhere");
    if (p.type == "const char*") return pointer("scale");
    if (p.type == "void**") return pointer(pointers_);
    return pointer(scratch_);
  }
  static uint64_t number(const Parameter& p) {
    const auto says = [&](const char* word) { return p.name.find(word) != std::string::npos; };
    if (p.type == "cudaMemLocation") return 1;  // {on a device, number 0}
    if (says("flags") || says("option") || says("type") || says("shared")) return 0;
    return p.type == "size_t" ? 4 : 1;
  }

  static void set(Handles& h, Kind kind, uint64_t word) { h[static_cast<size_t>(kind)] = Argument::of(word); }
  template <typename T>
  static void set(Handles& h, Kind kind, T* handle) {
    set(h, kind, reinterpret_cast<uint64_t>(handle));
  }
  template <typename T>
  static T get(const Handles& h, Kind kind) {
    return reinterpret_cast<T>(h[static_cast<size_t>(kind)].words[0]);
  }

  void make(Handles& h) {
    CUcontext context = nullptr;
    EXPECT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    cuCtxPopCurrent_v2(nullptr);
    set(h, Kind::context, context);
    set(h, Kind::device, uint64_t{0});
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    set(h, Kind::stream, stream);
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, cudaEventInterprocess | cudaEventDisableTiming), CUDA_SUCCESS);
    set(h, Kind::event, event);
    cudaLibrary_t library = nullptr;
    cudaKernel_t function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&library, kPtx), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&function, library, "scale"), CUDA_SUCCESS);
    set(h, Kind::library, library);
    set(h, Kind::function, function);
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    set(h, Kind::graph, graph);
    set(h, Kind::node, node);
    set(h, Kind::exec, exec);
    cudaMemPool_t pool = nullptr;
    cudaMemPoolProps properties{};
    properties.allocType = 1;
    properties.location = {1, 0};
    EXPECT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    set(h, Kind::pool, pool);
    CUlinkState link = nullptr;
    EXPECT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), CUDA_SUCCESS);
    set(h, Kind::link, link);
    const CUmemAllocationProp p{1, 0, {1, 0}, nullptr, {}};
    CUmemGenericAllocationHandle memory = 0;
    EXPECT_EQ(cuMemCreate(&memory, 2 << 20, &p, 0), CUDA_SUCCESS);
    set(h, Kind::memory, memory);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, kBytes), CUDA_SUCCESS);
    set(h, Kind::address, address);
    cudaIpcHandle ipc{};
    EXPECT_EQ(cuIpcGetMemHandle(&ipc, address), CUDA_SUCCESS);
    Argument& by_value = h[static_cast<size_t>(Kind::ipc)];
    by_value.by_value = true;
    std::memcpy(by_value.words.data(), &ipc, sizeof ipc);
    cudaArray* array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR d{4, 4, 0x20, 1};  // floats
    EXPECT_EQ(cuArrayCreate_v2(&array, &d), CUDA_SUCCESS);
    set(h, Kind::array, array);
    CUDA_RESOURCE_DESC resource{};
    resource.res.array.hArray = array;
    const CUDA_TEXTURE_DESC how{};
    unsigned long long texture = 0, surface = 0;
    EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &how, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
    set(h, Kind::texture, texture);
    set(h, Kind::surface, surface);
  }

  // Handles that are gone already stay so.
  static void destroy(const Handles& h) {
    cuSurfObjectDestroy(h[static_cast<size_t>(Kind::surface)].words[0]);
    cuTexObjectDestroy(h[static_cast<size_t>(Kind::texture)].words[0]);
    cuArrayDestroy(get<cudaArray*>(h, Kind::array));
    cuMemFree_v2(h[static_cast<size_t>(Kind::address)].words[0]);
    cuMemRelease(h[static_cast<size_t>(Kind::memory)].words[0]);
    cuLinkDestroy(get<CUlinkState>(h, Kind::link));
    cuMemPoolDestroy(get<cudaMemPool_t>(h, Kind::pool));
    cuGraphExecDestroy(get<cudaGraphExec_t>(h, Kind::exec));
    cuGraphDestroyNode(get<cudaGraphNode_t>(h, Kind::node));
    cuGraphDestroy(get<cudaGraph_t>(h, Kind::graph));
    cuModuleUnload(get<cudaLibrary_t>(h, Kind::library));
    cuEventDestroy_v2(get<cudaEvent_t>(h, Kind::event));
    cuStreamDestroy_v2(get<cudaStream_t>(h, Kind::stream));
    cuCtxDestroy_v2(get<CUcontext>(h, Kind::context));
  }

  CUcontext primary_ = nullptr;
  Handles live_, dead_;
  uint64_t nodes_ = 0, address_ = 0;
  void* pointers_[8192];
  alignas(16) char scratch_[65536];
};

}  // namespace coalesce::cudart
