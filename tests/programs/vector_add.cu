// Sum of two vectors with a bounds test; the last block is partly idle.
#include "check.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  for (int n : {1, 31, 32, 1000, 100003}) {
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; ++i) a[i] = i * 0.5f, b[i] = i - 7.25f;
    float *da = upload(a), *db = upload(b), *dc = upload(a);
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    const std::vector<float> c = download(dc, n);
    for (int i = 0; i < n; ++i) EXPECT(c[i] == a[i] + b[i]);
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
  }
}
