// Function templates over types and operations, functors and lambdas inside kernels.
#include "check.h"

template <class T>
struct Plus {
  __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct Larger {
  __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <class T, int kBlock, class F>
__global__ void reduce(const T* in, T* out, F f) {
  __shared__ T s[kBlock];
  s[threadIdx.x] = in[blockIdx.x * kBlock + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (int(threadIdx.x) < stride) s[threadIdx.x] = f(s[threadIdx.x], s[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

template <class T, int kBlock, class F>
void run(F f) {
  std::vector<T> in(kBlock * 3);
  for (size_t i = 0; i < in.size(); ++i) in[i] = T((i * 37) % 101);
  T *din = upload(in), *dout = upload(std::vector<T>(3, T(0)));
  reduce<T, kBlock><<<3, kBlock>>>(din, dout, f);
  const std::vector<T> out = download(dout, 3);
  for (int b = 0; b < 3; ++b) {
    T expected = in[b * kBlock];
    for (int i = 1; i < kBlock; ++i) expected = f(expected, in[b * kBlock + i]);
    EXPECT(out[b] == expected);
  }
}

int main() {
  run<int, 64>(Plus<int>());
  run<float, 128>(Plus<float>());
  run<double, 256>(Larger<double>());
  run<unsigned char, 32>(Larger<unsigned char>());
  run<long long, 512>(Plus<long long>());
}
