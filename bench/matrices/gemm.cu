// C = A B^T of halves, summed in single precision by mma.m16n8k16: tiles in shared memory, read by ldmatrix.
//   gemm N [REPETITIONS]     prints the quickest launch's seconds of the processor; exit code 1 if a sum is wrong
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

constexpr int kTile = 128, kDepth = 32, kWarps = 4;

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// A block makes 128 x 128 sums, a warp 64 x 64 of them.
__global__ void __launch_bounds__(32 * kWarps) multiply(const __half* a, const __half* b, float* c, int n) {
  __shared__ __align__(16) __half left[kTile][kDepth + 8], right[kTile][kDepth + 8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp % 2 * 64, column = warp / 2 * 64;
  float sums[4][8][4] = {};
  for (int from = 0; from < n; from += kDepth) {
    __syncthreads();
    for (int i = threadIdx.x; i < kTile * kDepth / 8; i += blockDim.x) {
      const int r = i / (kDepth / 8), k = i % (kDepth / 8) * 8;
      *reinterpret_cast<uint4*>(&left[r][k]) =
          *reinterpret_cast<const uint4*>(&a[(size_t(blockIdx.y) * kTile + r) * n + from + k]);
      *reinterpret_cast<uint4*>(&right[r][k]) =
          *reinterpret_cast<const uint4*>(&b[(size_t(blockIdx.x) * kTile + r) * n + from + k]);
    }
    __syncthreads();
    for (int k = 0; k < kDepth; k += 16) {
      unsigned x[4][4], y[8][2];
      for (int i = 0; i < 4; ++i)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                     : "r"(shared_address(&left[row + 16 * i + lane % 16][k + lane / 16 * 8])));
      for (int j = 0; j < 8; j += 2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(y[j][0]), "=r"(y[j][1]), "=r"(y[j + 1][0]), "=r"(y[j + 1][1])
                     : "r"(shared_address(&right[column + 8 * j + lane % 8 + lane / 16 * 8][k + lane / 8 % 2 * 8])));
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j)
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
              "{%0,%1,%2,%3};"
              : "+f"(sums[i][j][0]), "+f"(sums[i][j][1]), "+f"(sums[i][j][2]), "+f"(sums[i][j][3])
              : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j][0]), "r"(y[j][1]));
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      for (int e = 0; e < 4; ++e)
        c[(size_t(blockIdx.y) * kTile + row + 16 * i + lane / 4 + e / 2 * 8) * n + blockIdx.x * kTile + column + 8 * j +
          lane % 4 * 2 + e % 2] = sums[i][j][e];
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1024, repetitions = argc > 2 ? std::atoi(argv[2]) : 1;
  if (n <= 0 || n % kTile) return std::fprintf(stderr, "N is a multiple of %d\n", kTile), 2;
  std::vector<__half> a(size_t(n) * n), b(a.size());
  std::vector<float> c(a.size());
  unsigned state = 1;
  const auto next = [&] {
    return state = state * 1664525 + 1013904223, static_cast<float>(state >> 8) / (1 << 23) - 1;
  };
  for (auto& x : a) x = __float2half(next());
  for (auto& x : b) x = __float2half(next());
  __half *left, *right;
  float* sums;
  cudaMalloc(&left, a.size() * 2), cudaMalloc(&right, a.size() * 2), cudaMalloc(&sums, a.size() * 4);
  cudaMemcpy(left, a.data(), a.size() * 2, cudaMemcpyHostToDevice);
  cudaMemcpy(right, b.data(), a.size() * 2, cudaMemcpyHostToDevice);
  double least = 1e30;
  for (int i = 0; i < repetitions; ++i) {
    const std::clock_t start = std::clock();
    multiply<<<dim3(n / kTile, n / kTile), 32 * kWarps>>>(left, right, sums, n);
    if (const cudaError_t e = cudaDeviceSynchronize()) return std::fprintf(stderr, "%s\n", cudaGetErrorString(e)), 1;
    least = std::fmin(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  cudaMemcpy(c.data(), sums, c.size() * 4, cudaMemcpyDeviceToHost);
  for (int s = 0; s < 1000; ++s) {  // n terms below 1, each cut off by less than 2^-23 of a partial sum below n
    const int i = static_cast<int>((state = state * 1664525 + 1013904223) >> 8) % n,
              j = static_cast<int>(state >> 20) % n;
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += double(__half2float(a[size_t(i) * n + k])) * __half2float(b[size_t(j) * n + k]);
    if (std::fabs(sum - c[size_t(i) * n + j]) > double(n) * n * 0x1p-23)
      return std::fprintf(stderr, "row %d, column %d: %.9g, not %.9g\n", i, j, c[size_t(i) * n + j], sum), 1;
  }
  std::printf("%.6f\n", least);
}
