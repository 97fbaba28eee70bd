// y = a x + y, a grid-stride loop: each load and each store of a warp is one line of 128 bytes.
//
//   coalesce run examples/saxpy.cu [N]
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void saxpy(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
  if (n < 1) return std::fprintf(stderr, "usage: saxpy [N], N from 1\n"), 2;
  const size_t bytes = sizeof(float) * static_cast<size_t>(n);
  std::vector<float> x(static_cast<size_t>(n), 1.0f), y(static_cast<size_t>(n), 2.0f);
  float *device_x = nullptr, *device_y = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&device_x), bytes);
  cudaMalloc(reinterpret_cast<void**>(&device_y), bytes);
  cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice);
  saxpy<<<128, 256>>>(n, 3.0f, device_x, device_y);
  cudaMemcpy(y.data(), device_y, bytes, cudaMemcpyDeviceToHost);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
  for (const float value : y)
    if (value != 5.0f) return std::fprintf(stderr, "wrong result: %f\n", value), 1;
  std::printf("%d elements, all right\n", n);
  cudaFree(device_x);
  cudaFree(device_y);
}
