// Kernels that read textures and surfaces, one thread for each place.
#pragma once

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "api.h"
#include "cudart/api/array.h"

namespace coalesce::cudart {

extern "C" {
cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, cudaChannelFormatKind);
cudaError_t cudaMallocArray(cudaArray**, const cudaChannelFormatDesc*, size_t, size_t, unsigned);
cudaError_t cudaMalloc3DArray(cudaArray**, const cudaChannelFormatDesc*, cudaExtent, unsigned);
cudaError_t cudaFreeArray(cudaArray*);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc*, cudaExtent*, unsigned*, cudaArray*);
cudaError_t cudaMemcpy2DToArray(cudaArray*, size_t, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy2DFromArray(void*, size_t, const cudaArray*, size_t, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyToArray(cudaArray*, size_t, size_t, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaCreateTextureObject(unsigned long long*, const cudaResourceDesc*, const cudaTextureDesc*, const void*);
cudaError_t cudaDestroyTextureObject(unsigned long long);
cudaError_t cudaCreateSurfaceObject(unsigned long long*, const cudaResourceDesc*);
}

// A kernel in which thread t has the coordinates in[4t] to in[4t + 3] in %r1 to %r4 (and %f1 to %f4), does `body`, and
// writes %r5 to %r8 to out[4t] to out[4t + 3].
inline std::string texture_kernel(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n"
         ".reg .b16 %h<9>;\n.reg .b32 %r<12>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<8>;\n"
         "ld.param.u64 %rd1, [t];\nld.param.u64 %rd2, [in];\nld.param.u64 %rd3, [out];\nmov.u32 %r9, %tid.x;\n"
         "mul.wide.u32 %rd4, %r9, 16;\nadd.s64 %rd2, %rd2, %rd4;\nadd.s64 %rd3, %rd3, %rd4;\n"
         "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd2];\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];\n"
         "mov.b32 %r5, 0;\nmov.b32 %r6, 0;\nmov.b32 %r7, 0;\nmov.b32 %r8, 0;\n" +
         body + "\nst.global.v4.b32 [%rd3], {%r5, %r6, %r7, %r8};\nret;\n}\n";
}

class TextureTest : public ::testing::Test {
 protected:
  void TearDown() override {
    cudaDeviceReset();
    cudaGetLastError();
  }

  // An array of floats (or of what `format` says) with these contents, row by row and slice by slice.
  template <class T>
  cudaArray* array(const std::vector<T>& content, cudaExtent extent, unsigned flags = 0,
                   cudaChannelFormatDesc format = {32, 0, 0, 0, 2}) {
    cudaArray* a = nullptr;
    EXPECT_EQ(cudaMalloc3DArray(&a, &format, extent, flags), cudaSuccess);
    const size_t row = extent.width * texel_bytes(format), rows = extent.height ? extent.height : 1;
    cudaMemcpy3DParms p{};
    p.srcPtr = {const_cast<T*>(content.data()), row, row, rows};
    p.dstArray = a;
    p.extent = {extent.width, rows, extent.depth ? extent.depth : 1};
    p.kind = cudaMemcpyHostToDevice;
    EXPECT_EQ(cudaMemcpy3D(&p), cudaSuccess);
    return a;
  }

  static cudaResourceDesc resource(cudaArray* a) {
    cudaResourceDesc r{};
    r.res.array.array = a;
    return r;
  }
  // Modes: 0 wrap, 1 clamp, 2 mirror, 3 border.
  static cudaTextureDesc reading(int mode, bool linear = false, bool normalised = false, bool fractions = false) {
    cudaTextureDesc d{};
    for (int& m : d.addressMode) m = mode;
    d.filterMode = linear;
    d.normalizedCoords = normalised;
    d.readMode = fractions;
    return d;
  }
  static unsigned long long texture(const cudaResourceDesc& r, const cudaTextureDesc& d) {
    unsigned long long t = 0;
    EXPECT_EQ(cudaCreateTextureObject(&t, &r, &d, nullptr), cudaSuccess);
    return t;
  }

  // Runs `body`, one thread for each place.
  template <class Out, class In>
  std::vector<std::array<Out, 4>> run(const std::string& body, unsigned long long handle,
                                      const std::vector<std::array<In, 4>>& places) {
    const std::string text = texture_kernel(body);
    cudaLibrary_t library = nullptr;
    cudaKernel_t k = nullptr;
    EXPECT_EQ(cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    EXPECT_EQ(cudaLibraryGetKernel(&k, library, "k"), cudaSuccess);
    void *in = nullptr, *out = nullptr;
    const size_t bytes = places.size() * 16;
    EXPECT_EQ(cudaMalloc(&in, bytes), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&out, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(in, places.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    void* arguments[] = {&handle, &in, &out};
    EXPECT_EQ(cudaLaunchKernel(k, {}, {static_cast<unsigned>(places.size())}, arguments, 0, nullptr), cudaSuccess);
    std::vector<std::array<Out, 4>> result(places.size());
    error_ = cudaMemcpy(result.data(), out, bytes, cudaMemcpyDeviceToHost);
    return result;
  }
  // The first component at each place.
  std::vector<float> sampled(const std::string& instruction, unsigned long long handle,
                             const std::vector<std::array<float, 4>>& places) {
    std::vector<float> first;
    for (const auto& v : run<float>(instruction, handle, places)) first.push_back(v[0]);
    EXPECT_EQ(error_, cudaSuccess);
    return first;
  }

  cudaError_t error_ = cudaSuccess;
};

inline const std::string k1d = "tex.1d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1}];";
inline const std::string k2d = "tex.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2}];";

inline std::vector<float> ramp(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i);
  return v;
}

}  // namespace coalesce::cudart
