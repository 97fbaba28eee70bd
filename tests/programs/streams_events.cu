// Streams, events, asynchronous copies from pinned memory, queries, errors that come and go.
#include "check.h"

__global__ void triple(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 3;
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  EXPECT(devices >= 1);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.warpSize == 32 && properties.multiProcessorCount > 0 && properties.maxThreadsPerBlock == 1024 &&
         properties.major > 0);

  const int n = 10000;
  int *host = nullptr, *data = nullptr;
  CHECK(cudaMallocHost(&host, n * sizeof(int)));
  CHECK(cudaMalloc(&data, n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaStream_t first, second;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t start, copied, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(start, first));
  CHECK(cudaMemcpyAsync(data, host, n * sizeof(int), cudaMemcpyHostToDevice, first));
  CHECK(cudaEventRecord(copied, first));
  CHECK(cudaStreamWaitEvent(second, copied, 0));
  triple<<<(n + 255) / 256, 256, 0, second>>>(data, n);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaMemcpyAsync(host, data, n * sizeof(int), cudaMemcpyDeviceToHost, first));
  CHECK(cudaEventRecord(end, first));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds >= 0);
  CHECK(cudaStreamQuery(first));
  for (int i = 0; i < n; ++i) EXPECT(host[i] == 3 * i);

  triple<<<1, 2048>>>(data, n);  // more threads than a block may have
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
  EXPECT(cudaMalloc(&data, size_t(1) << 60) == cudaErrorMemoryAllocation &&
         cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(copied));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaFreeHost(host));
}
