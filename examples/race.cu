// A sum with a race: a barrier is missing between two steps. The result is often right all the same.
//
//   coalesce check examples/race.cu        names both lines and ends with exit code 4
#include <cstdio>
#include <vector>
constexpr int kThreads = 256;

__global__ void sum(const int* in, int* out) {
  __shared__ int partial[kThreads];
  partial[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    // Here a __syncthreads() is missing: the next step reads what other threads may not have written yet.
  }
  if (threadIdx.x == 0) *out = partial[0];
}

int main() {
  const std::vector<int> in(kThreads, 1);
  int *device_in = nullptr, *device_out = nullptr, result = 0;
  cudaMalloc(reinterpret_cast<void**>(&device_in), sizeof(int) * kThreads);
  cudaMalloc(reinterpret_cast<void**>(&device_out), sizeof(int));
  cudaMemcpy(device_in, in.data(), sizeof(int) * kThreads, cudaMemcpyHostToDevice);
  sum<<<1, kThreads>>>(device_in, device_out);
  cudaMemcpy(&result, device_out, sizeof result, cudaMemcpyDeviceToHost);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
  std::printf("%d of %d\n", result, kThreads);
  cudaFree(device_in);
  cudaFree(device_out);
}
