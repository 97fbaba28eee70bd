// Histogram: atomics on a shared array per block, then one global add per bin and block.
#include "check.h"

__global__ void histogram(const unsigned char* data, int n, unsigned int* bins) {
  __shared__ unsigned int local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (local[b]) atomicAdd(&bins[b], local[b]);
}

int main() {
  const int n = 50001;
  std::vector<unsigned char> data(n);
  std::vector<unsigned int> expected(256, 0);
  unsigned int seed = 1;
  for (auto& d : data) seed = seed * 1664525 + 1013904223, d = (seed >> 24) & (seed >> 16), ++expected[d];
  unsigned char* in = upload(data);
  unsigned int* bins = upload(std::vector<unsigned int>(256, 0));
  histogram<<<7, 128>>>(in, n, bins);
  EXPECT(download(bins, 256) == expected);
}
