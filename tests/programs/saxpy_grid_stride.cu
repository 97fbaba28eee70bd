// y = a x + y with a grid that is smaller than the data.
#include <cmath>

#include "check.h"

__global__ void saxpy(size_t n, float a, const float* __restrict__ x, float* __restrict__ y) {
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    y[i] = a * x[i] + y[i];
}

int main() {
  const size_t n = 77777;
  std::vector<float> x(n), y(n);
  for (size_t i = 0; i < n; ++i) x[i] = float(i % 97) / 3, y[i] = float(i % 31) * 1.1f;
  float *dx = upload(x), *dy = upload(y);
  saxpy<<<13, 192>>>(n, 2.7f, dx, dy);
  const std::vector<float> got = download(dy, n);
  for (size_t i = 0; i < n; ++i) EXPECT(got[i] == std::fma(2.7f, x[i], y[i]));  // both compilers contract
}
