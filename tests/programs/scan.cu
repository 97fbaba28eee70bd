// Exclusive prefix sum of one block: Hillis-Steele over shared memory, double-buffered.
#include "check.h"

__global__ void scan(const int* in, int* out, int n) {
  extern __shared__ int buffer[];
  int *from = buffer, *to = buffer + blockDim.x;
  const int t = threadIdx.x;
  from[t] = t > 0 && t < n ? in[t - 1] : 0;
  __syncthreads();
  for (int step = 1; step < int(blockDim.x); step *= 2) {
    to[t] = from[t] + (t >= step ? from[t - step] : 0);
    __syncthreads();
    int* swap = from;
    from = to;
    to = swap;
  }
  if (t < n) out[t] = from[t];
}

int main() {
  for (int n : {1, 100, 512, 1024}) {
    std::vector<int> in(n), expected(n);
    int sum = 0;
    for (int i = 0; i < n; ++i) in[i] = i * 31 % 17 - 8, expected[i] = sum, sum += in[i];
    int *din = upload(in), *dout = upload(in);
    scan<<<1, 1024, 2 * 1024 * sizeof(int)>>>(din, dout, n);
    EXPECT(download(dout, n) == expected);
  }
}
