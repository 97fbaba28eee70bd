// How often each byte value occurs, counted in global memory and counted in shared memory first.
//
//   coalesce run examples/histogram.cu
#include <cstdio>
#include <vector>
constexpr int kBins = 256;

// Every byte is an atomic on global memory; lanes with equal bytes wait for one another.
__global__ void histogram_global(const unsigned char* data, int n, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[data[i]], 1u);
}

// A block counts in shared memory, and adds each bin to global memory once.
__global__ void histogram_shared(const unsigned char* data, int n, unsigned* bins) {
  __shared__ unsigned own[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], own[b]);
}

int main() {
  std::vector<unsigned char> data(1 << 20);
  std::vector<unsigned> expected(kBins), bins(kBins);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<unsigned char>((i * 2654435761u >> 13) % 40);  // few values: lanes of a warp often meet
    ++expected[data[i]];
  }
  unsigned char* device_data = nullptr;
  unsigned* device_bins = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&device_data), data.size());
  cudaMalloc(reinterpret_cast<void**>(&device_bins), kBins * sizeof(unsigned));
  cudaMemcpy(device_data, data.data(), data.size(), cudaMemcpyHostToDevice);
  for (void (*kernel)(const unsigned char*, int, unsigned*) : {histogram_global, histogram_shared}) {
    cudaMemset(device_bins, 0, kBins * sizeof(unsigned));
    kernel<<<64, 256>>>(device_data, static_cast<int>(data.size()), device_bins);
    cudaMemcpy(bins.data(), device_bins, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost);
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) return std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
    if (bins != expected) return std::fprintf(stderr, "wrong result\n"), 1;
  }
  std::printf("two histograms, all right\n");
  cudaFree(device_data);
  cudaFree(device_bins);
}
