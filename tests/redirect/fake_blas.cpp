// Multiplies and solves by the fake cuBLAS and judges the results by their definition. All numbers are small integers,
// so results are exact. Prints what is wrong first, or "right".
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
int cublasCreate_v2(void**);
int cublasDestroy_v2(void*);
int cublasSetStream_v2(void*, void*);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                   float*, int);
int cublasSgemv_v2(void*, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);
int cublasStrsm_v2(void*, int, int, int, int, int, int, const float*, const float*, int, float*, int);
}

namespace {

using Numbers = std::vector<float>;
constexpr int kMost = 7, kPitch = kMost + 2;
constexpr float kAlpha = 2, kBeta = -3, kOne = 1;

Numbers made(int seed) {
  Numbers v(kPitch * kPitch * 2);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed) * 5) % 11) - 5;
  return v;
}
float at(const Numbers& v, int of, int i, int j) { return v[of != 0 ? j + i * kPitch : i + j * kPitch]; }
void judge(const char* what, int status, const Numbers& is, const Numbers& should) {
  if (status == 0 && is == should) return;
  std::printf("%s: status %d\n", what, status);
  std::exit(1);
}

}  // namespace

int main(int words, char** word) {
  const bool by_name = words > 1;  // as Python does
  decltype(&cublasSgemm_v2) found = nullptr;
  if (by_name) {
    void* at_name = dlsym(dlopen(word[1], RTLD_NOW), "cublasSgemm_v2");
    std::memcpy(&found, &at_name, sizeof found);
  }
  const auto multiply = [&](auto... all) { return by_name ? found(all...) : cublasSgemm_v2(all...); };
  void* handle = nullptr;
  cublasCreate_v2(&handle);
  const Numbers a = made(1), b = made(2), c = made(3);
  int stream = 0;
  for (int of_a = 0; of_a < 2; ++of_a)
    for (int of_b = 0; of_b < 2; ++of_b)
      for (int m = 0; m <= kMost; ++m)
        for (int n = 0; n <= kMost; ++n) {
          if (n == 3) cublasSetStream_v2(handle, m % 2 != 0 ? &stream : nullptr);  // takes the workspace away
          Numbers is = c, should = c;
          for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
              float sum = 0;
              for (int t = 0; t < 5; ++t) sum += at(a, of_a, i, t) * at(b, of_b, t, j);
              float& to = should[i + j * kPitch];
              to = kAlpha * sum + kBeta * to;
            }
          judge("product",
                multiply(handle, of_a, of_b, m, n, 5, &kAlpha, a.data(), kPitch, b.data(), kPitch, &kBeta, is.data(),
                         kPitch),
                is, should);
        }
  for (int of_a = 0; of_a < 2; ++of_a)
    for (int m = 1; m <= kMost; ++m) {
      Numbers is = c, should = c;
      const int n = 6, results = of_a != 0 ? n : m, terms = of_a != 0 ? m : n;
      for (int i = 0; i < results; ++i) {
        float sum = 0;
        for (int t = 0; t < terms; ++t) sum += at(a, of_a, i, t) * b[2 * t];
        float& to = should[3 * i];
        to = kAlpha * sum + kBeta * to;
      }
      judge("vector", cublasSgemv_v2(handle, of_a, m, n, &kAlpha, a.data(), kPitch, b.data(), 2, &kBeta, is.data(), 3),
            is, should);
    }
  Numbers triangle = a, solution = c, is = c;
  for (int i = 0; i < kMost; ++i) triangle[i + i * kPitch] = 1;
  for (int j = 0; j < kMost; ++j)
    for (int i = 0; i < kMost; ++i) {
      float& to = is[i + j * kPitch];
      for (int t = 0; t < i; ++t) to += triangle[i + t * kPitch] * solution[t + j * kPitch];
    }
  judge("solution", cublasStrsm_v2(handle, 0, 0, 0, 0, kMost, kMost, &kOne, triangle.data(), kPitch, is.data(), kPitch),
        is, solution);
  cublasDestroy_v2(handle);
  std::puts("right");
}
