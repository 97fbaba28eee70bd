// A histogram of --n bytes in 256 bins, first in shared memory: for check_cost.sh. Exit code 1: a sum is wrong.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void count(const unsigned char* in, size_t n, unsigned* bins) {
  __shared__ unsigned own[256];
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x) own[k] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1u);
  __syncthreads();
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], own[k]);
}

int main(int argc, char** argv) {
  const size_t n = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 1u << 20;
  std::vector<unsigned char> in(n);
  for (size_t i = 0; i < n; ++i) in[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  unsigned char* data = nullptr;
  unsigned *bins = nullptr, host[256], sum = 0;
  cudaMalloc(&data, n);
  cudaMalloc(&bins, sizeof host);
  cudaMemcpy(data, in.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(bins, 0, sizeof host);
  count<<<256, 256>>>(data, n, bins);
  cudaMemcpy(host, bins, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(data);
  cudaFree(bins);
  for (const unsigned b : host) sum += b;
  if (sum != n) std::fprintf(stderr, "wrong sum\n");
  return sum == n ? 0 : 1;
}
