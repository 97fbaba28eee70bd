// Stencil of radius 3 with a halo in shared memory.
#include "check.h"

constexpr int kRadius = 3, kBlock = 128;

__global__ void stencil(const int* in, int* out, int n) {
  __shared__ int s[kBlock + 2 * kRadius];
  const int g = blockIdx.x * kBlock + threadIdx.x, l = threadIdx.x + kRadius;
  auto at = [&](int i) { return i >= 0 && i < n ? in[i] : 0; };
  s[l] = at(g);
  if (threadIdx.x < kRadius) {
    s[l - kRadius] = at(g - kRadius);
    s[l + kBlock] = at(g + kBlock);
  }
  __syncthreads();
  int sum = 0;
  for (int d = -kRadius; d <= kRadius; ++d) sum += s[l + d];
  if (g < n) out[g] = sum;
}

int main() {
  const int n = 1000;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = i * i % 101;
  int *din = upload(in), *dout = upload(in);
  stencil<<<(n + kBlock - 1) / kBlock, kBlock>>>(din, dout, n);
  const std::vector<int> out = download(dout, n);
  for (int i = 0; i < n; ++i) {
    int sum = 0;
    for (int d = -kRadius; d <= kRadius; ++d) sum += i + d >= 0 && i + d < n ? in[i + d] : 0;
    EXPECT(out[i] == sum);
  }
}
