// A matrix of 1024 x 1024 floats, transposed in three ways.   coalesce run examples/transpose.cu
#include <cstdio>
#include <vector>
constexpr int kN = 1024, kTile = 32;

// Reads along rows, writes down columns: the lanes of a store are 4096 bytes apart.
__global__ void transpose_naive(const float* in, float* out) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  out[x * kN + y] = in[y * kN + x];
}

// Turns a tile over in shared memory. `Width` is the length of a tile's row in words.
template <int Width>
__device__ void through_tile(const float* in, float* out) {
  __shared__ float tile[kTile][Width];
  const int x = blockIdx.x * kTile, y = blockIdx.y * kTile;
  tile[threadIdx.y][threadIdx.x] = in[(y + threadIdx.y) * kN + x + threadIdx.x];
  __syncthreads();
  out[(x + threadIdx.y) * kN + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

// Both sides run along rows, but the 32 lanes that read a column of the tile meet in one bank.
__global__ void transpose_shared(const float* in, float* out) { through_tile<kTile>(in, out); }

// One unused word at the end of each row moves the rows to different banks.
__global__ void transpose_padded(const float* in, float* out) { through_tile<kTile + 1>(in, out); }

int main() {
  std::vector<float> in(kN * kN), out(kN * kN);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  float *device_in = nullptr, *device_out = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&device_in), in.size() * sizeof(float));
  cudaMalloc(reinterpret_cast<void**>(&device_out), in.size() * sizeof(float));
  cudaMemcpy(device_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  for (void (*kernel)(const float*, float*) : {transpose_naive, transpose_shared, transpose_padded}) {
    cudaMemset(device_out, 0, in.size() * sizeof(float));
    kernel<<<dim3(kN / kTile, kN / kTile), dim3(kTile, kTile)>>>(device_in, device_out);
    cudaMemcpy(out.data(), device_out, in.size() * sizeof(float), cudaMemcpyDeviceToHost);
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) return std::fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
    for (int y = 0; y < kN; ++y)
      for (int x = 0; x < kN; ++x)
        if (out[x * kN + y] != in[y * kN + x]) return std::fprintf(stderr, "wrong result at %d, %d\n", x, y), 1;
  }
  std::printf("three transposes, all right\n");
  cudaFree(device_in);
  cudaFree(device_out);
}
