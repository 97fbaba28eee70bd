// Tiled matrix product; small whole numbers, so float is exact in any order.
#include "check.h"

constexpr int kTile = 16;

__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    as[threadIdx.y][threadIdx.x] = row < n && k0 + threadIdx.x < n ? a[row * n + k0 + threadIdx.x] : 0;
    bs[threadIdx.y][threadIdx.x] = column < n && k0 + threadIdx.y < n ? b[(k0 + threadIdx.y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

int main() {
  const int n = 50;
  std::vector<float> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  float *da = upload(a), *db = upload(b), *dc = upload(a);
  multiply<<<dim3(4, 4), dim3(kTile, kTile)>>>(da, db, dc, n);
  const std::vector<float> c = download(dc, n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      EXPECT(c[i * n + j] == sum);
    }
}
