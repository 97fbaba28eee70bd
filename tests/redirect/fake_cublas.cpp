// Stands for cuBLAS without NVIDIA's private interfaces: single products and solutions fail, the latter behind a change
// of their matrix; batches of two products and more, and solutions in batches, work once there is a workspace.
#include <algorithm>
#include <cstddef>

#define FAKE_API extern "C" __attribute__((visibility("default")))

FAKE_API int __cudaRegisterFatBinary();

namespace {

struct Context {
  void* workspace = nullptr;
};
constexpr int kOk = 0, kNoWorkspace = 14, kFailed = 13, kRefused = 15;

// The mark of device code.
__attribute__((section(".nv_fatbin"), used)) const char fat_binary[16] = "";

}  // namespace

FAKE_API int cublasCreate_v2(void** handle) {
  if (__cudaRegisterFatBinary() == 0) return kFailed;
  *handle = new Context;
  return kOk;
}
FAKE_API int cublasDestroy_v2(void* handle) {
  delete static_cast<Context*>(handle);
  return kOk;
}
FAKE_API int cublasSetStream_v2(void* handle, void*) {
  static_cast<Context*>(handle)->workspace = nullptr;
  return kOk;
}
FAKE_API int cublasSetWorkspace_v2(void* handle, void* memory, size_t bytes) {
  std::fill_n(static_cast<char*>(memory), bytes, 'w');
  static_cast<Context*>(handle)->workspace = memory;
  return kOk;
}
FAKE_API int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                            const float*, float*, int) {
  return kRefused;
}
FAKE_API int cublasSgemv_v2(void*, int, int, int, const float*, const float*, int, const float*, int, const float*,
                            float*, int) {
  return kRefused;
}
FAKE_API int cublasStrsm_v2(void*, int, int, int, int, int, int, const float*, const float*, int, float* b, int) {
  *b += 1;
  return kFailed;
}
FAKE_API int cublasSgemmStridedBatched(void* handle, int of_a, int of_b, int rows, int columns, int terms,
                                       const float* alpha, const float* a, int pitch_a, long long next_a,
                                       const float* b, int pitch_b, long long next_b, const float* beta, float* c,
                                       int pitch_c, long long next_c, int count) {
  if (count < 2) return kRefused;
  if (static_cast<Context*>(handle)->workspace == nullptr) return kNoWorkspace;
  for (int k = 0; k < count; ++k, a += next_a, b += next_b, c += next_c)
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) {
        float sum = 0;
        for (int t = 0; t < terms; ++t)
          sum += (of_a != 0 ? a[t + i * pitch_a] : a[i + t * pitch_a]) *
                 (of_b != 0 ? b[j + t * pitch_b] : b[t + j * pitch_b]);
        c[i + j * pitch_c] = *alpha * sum + *beta * c[i + j * pitch_c];
      }
  return kOk;
}
// Lower triangles on the left, as they are.
FAKE_API int cublasStrsmBatched(void* handle, int, int, int, int, int rows, int columns, const float* alpha,
                                const float* const* a, int pitch_a, float* const* b, int pitch_b, int count) {
  if (static_cast<Context*>(handle)->workspace == nullptr) return kNoWorkspace;
  for (int k = 0; k < count; ++k)
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) {
        float rest = *alpha * b[k][i + j * pitch_b];
        for (int t = 0; t < i; ++t) rest -= a[k][i + t * pitch_a] * b[k][t + j * pitch_b];
        b[k][i + j * pitch_b] = rest / a[k][i + i * pitch_a];
      }
  return kOk;
}
