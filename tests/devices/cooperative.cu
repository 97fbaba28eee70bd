// A cooperative launch on three devices: `coalesce run --devices 3 cooperative.cu`. CUDA 13 has the call no longer.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>

#include "../check.h"

constexpr int kBlocks = 8, kThreads = 64, kCount = kBlocks * kThreads;

// Each element becomes the sum over its grid, twice: wrong if one block passes the grid's barrier before another.
__global__ void sums(int* data, int* other) {
  const auto grid = cooperative_groups::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 2; ++round) {
    int sum = 0;
    for (int k = 0; k < kCount; ++k) sum += data[k];
    other[i] = sum;
    grid.sync();
    data[i] = other[i];
    grid.sync();
  }
}
__global__ void nothing(int*, int*) {}

int main() {
  cudaStream_t stream[3];
  int *data[3], *other[3];
  void* arguments[3][2];
  cudaLaunchParams list[3];
  for (int d = 0; d < 3; ++d) {
    OK(cudaSetDevice(d));
    OK(cudaStreamCreate(&stream[d]));
    OK(cudaMalloc(&data[d], kCount * sizeof(int)));
    OK(cudaMalloc(&other[d], kCount * sizeof(int)));
    int host[kCount];
    for (int& one : host) one = d + 1;
    OK(cudaMemcpy(data[d], host, sizeof host, cudaMemcpyHostToDevice));
    arguments[d][0] = &data[d];
    arguments[d][1] = &other[d];
    list[d] = {reinterpret_cast<void*>(sums), dim3(kBlocks), dim3(kThreads), arguments[d], 0, stream[d]};
  }
  int device = -1;
  // All is checked before anything runs.
  const auto refused = [&](auto change, cudaError_t error, unsigned count = 3) {
    cudaLaunchParams changed[3] = {list[0], list[1], list[2]};
    change(changed);
    CHECK(cudaLaunchCooperativeKernelMultiDevice(changed, count) == error);
    CHECK(cudaGetLastError() == error);
  };
  refused([](cudaLaunchParams*) {}, cudaErrorInvalidValue, 0);
  refused([](cudaLaunchParams*) {}, cudaErrorInvalidValue, 4);
  refused([](cudaLaunchParams* l) { l[2].gridDim.x = 1; }, cudaErrorInvalidValue);
  refused([](cudaLaunchParams* l) { l[1].sharedMem = 16; }, cudaErrorInvalidValue);
  refused([](cudaLaunchParams* l) { l[2].func = reinterpret_cast<void*>(nothing); }, cudaErrorInvalidValue);
  refused([](cudaLaunchParams* l) { l[2].stream = l[1].stream; }, cudaErrorInvalidResourceHandle);
  refused([](cudaLaunchParams* l) { l[0].stream = nullptr; }, cudaErrorInvalidResourceHandle);
  refused(
      [](cudaLaunchParams* l) {
        for (int d = 0; d < 3; ++d) l[d].gridDim.x = 1 << 20;
      },
      cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaLaunchCooperativeKernelMultiDevice(nullptr, 1) == cudaErrorInvalidValue &&
        cudaGetLastError() != cudaSuccess);
  CHECK(cudaLaunchCooperativeKernelMultiDevice(list, 3, 4) == cudaErrorInvalidValue &&
        cudaGetLastError() != cudaSuccess);
  OK(cudaLaunchCooperativeKernelMultiDevice(list, 3, cudaCooperativeLaunchMultiDeviceNoPreSync));
  OK(cudaGetDevice(&device));
  CHECK(device == 2);
  for (int d = 0; d < 3; ++d) {
    OK(cudaStreamSynchronize(stream[d]));
    int host[kCount];
    OK(cudaMemcpy(host, data[d], sizeof host, cudaMemcpyDefault));
    for (const int one : host) CHECK(one == (d + 1) * kCount * kCount);
  }
  int supported = 0;
  OK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeMultiDeviceLaunch, 1));
  CHECK(supported == 1);
  std::puts("ok");
}
