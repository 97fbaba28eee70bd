// Two arrays of different types carved out of one dynamic shared allocation, more of it than without opting in.
#include "check.h"

extern __shared__ __align__(16) unsigned char raw[];

__global__ void mix(const double* in, double* out, int n) {
  double* values = reinterpret_cast<double*>(raw);
  int* order = reinterpret_cast<int*>(values + n);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    values[i] = in[i];
    order[i] = n - 1 - i;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = values[order[i]];
}

int main() {
  const int n = 5000;  // 60,000 bytes
  std::vector<double> in(n);
  for (int i = 0; i < n; ++i) in[i] = i * 1.5;
  double *din = upload(in), *dout = upload(in);
  const int bytes = n * int(sizeof(double) + sizeof(int));
  CHECK(cudaFuncSetAttribute(mix, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  mix<<<1, 256, bytes>>>(din, dout, n);
  const std::vector<double> out = download(dout, n);
  for (int i = 0; i < n; ++i) EXPECT(out[i] == in[n - 1 - i]);
}
