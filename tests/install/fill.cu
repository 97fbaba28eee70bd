// 1024 threads store one int each, neighbours side by side: 1024 * 4 bytes / 32 bytes a sector = 128 sectors.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void fill(int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * i;
}

int main(int argc, char** argv) {
  constexpr int n = 1024;
  static int host[n];
  int* device = nullptr;
  if (cudaMalloc(&device, sizeof(host)) != cudaSuccess) return 10;
  fill<<<n / 256, 256>>>(device);
  if (cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost) != cudaSuccess) return 11;
  for (int i = 0; i < n; ++i) {
    if (host[i] != 2 * i) return 12;
  }
  std::printf("filled %d, told '%s'\n", n, argc > 1 ? argv[1] : "nothing");
  return cudaFree(device) == cudaSuccess ? 7 : 13;  // 7: the exit code must come through too
}
