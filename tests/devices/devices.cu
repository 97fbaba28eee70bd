// Three devices: `coalesce run --devices 3 devices.cu`; with an argument one that faults. Errors and values are CUDA's.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "../check.h"

constexpr int kCount = 256, kBytes = kCount * sizeof(int);

__device__ int variable;  // one on each device
__global__ void fill(int* data, int value) { data[threadIdx.x] = value + static_cast<int>(threadIdx.x); }
__global__ void copy(int* to, const int* from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void raise() { ++variable; }

static bool holds(const int* data, int value) {
  int host[kCount];
  OK(cudaMemcpy(host, data, kBytes, cudaMemcpyDefault));
  for (int i = 0; i < kCount; ++i)
    if (host[i] != value + i) return false;
  return true;
}

int main(int count, char**) {
  int devices = 0, device = -1, can = -1;
  OK(cudaGetDeviceCount(&devices));
  CHECK(devices == 3);
  CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice && cudaSetDevice(-1) == cudaErrorInvalidDevice);
  OK(cudaGetDevice(&device));
  CHECK(device == 0);
  int* data[3];
  size_t free_before[3], free_now, total;
  cudaStream_t streams[3];
  for (int d = 0; d < 3; ++d) {
    cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, d));
    CHECK(p.pciBusID == d + 1);
    OK(cudaSetDevice(d));
    OK(cudaMemGetInfo(&free_before[d], &total));
    OK(cudaMalloc(&data[d], kBytes));
    OK(cudaStreamCreate(&streams[d]));
    fill<<<1, kCount, 0, streams[d]>>>(data[d], 1000 * d);
    for (int i = 0; i <= d; ++i) raise<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, data[d]));
    CHECK(a.device == d && a.type == cudaMemoryTypeDevice);
  }
  for (int d = 0; d < 3; ++d) {
    OK(cudaSetDevice(d));
    OK(cudaMemGetInfo(&free_now, &total));
    CHECK(free_before[d] - free_now < (1 << 20) && free_now < free_before[d]);
    int value = 0;
    OK(cudaMemcpyFromSymbol(&value, variable, sizeof value));
    CHECK(value == d + 1);
    CHECK(holds(data[d], 1000 * d));
  }
  // A thread begins with device 0, whatever the others chose.
  std::thread([&] {
    OK(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(cudaSetDevice(1));
  }).join();
  OK(cudaGetDevice(&device));
  CHECK(device == 2);
  // Streams and events are a device's own.
  OK(cudaSetDevice(0));
  fill<<<1, kCount, 0, streams[1]>>>(data[0], 1);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  cudaEvent_t here, there;
  OK(cudaEventCreate(&here));
  OK(cudaEventRecord(here, streams[0]));
  CHECK(cudaEventRecord(here, streams[1]) == cudaErrorInvalidResourceHandle);
  OK(cudaStreamWaitEvent(streams[1], here, 0));
  OK(cudaStreamSynchronize(streams[1]));
  OK(cudaSetDevice(1));
  OK(cudaEventCreate(&there));
  OK(cudaEventRecord(there, streams[1]));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, here, there) == cudaErrorInvalidResourceHandle);
  OK(cudaSetDevice(0));
  // Peers.
  OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  OK(cudaDeviceCanAccessPeer(&can, 1, 1));
  CHECK(can == 0);
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 3) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
  CHECK(cudaDeviceEnablePeerAccess(1, 1) == cudaErrorInvalidValue);
  CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
  OK(cudaDeviceEnablePeerAccess(1, 0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
  cudaGetLastError();
  // Copies between devices need no access: 2 copies of 1 KiB.
  OK(cudaMemcpyPeer(data[2], 2, data[1], 1, kBytes));
  CHECK(holds(data[2], 1000));
  OK(cudaMemcpyPeerAsync(data[2], 2, data[0], 0, kBytes, streams[0]));
  CHECK(holds(data[2], 0));
  CHECK(cudaMemcpyPeer(data[2], 3, data[1], 1, kBytes) == cudaErrorInvalidDevice);
  // Kernels of device 0 read memory of device 1: 32 sectors.
  copy<<<1, kCount>>>(data[0], data[1]);
  OK(cudaDeviceSynchronize());
  CHECK(holds(data[0], 1000));
  // Managed memory is everybody's; memory of a pool its own device's, until others get access.
  int *managed = nullptr, *pooled = nullptr;
  OK(cudaMallocManaged(&managed, kBytes));
  OK(cudaSetDevice(2));
  fill<<<1, kCount>>>(managed, 7);
  OK(cudaDeviceSynchronize());
  CHECK(managed[5] == 12);
  cudaMemPool_t pool;
  OK(cudaDeviceGetDefaultMemPool(&pool, 1));
  OK(cudaSetDevice(1));
  OK(cudaMallocAsync(reinterpret_cast<void**>(&pooled), kBytes, streams[1]));
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = 0;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  OK(cudaMemPoolSetAccess(pool, &access, 1));
  OK(cudaSetDevice(0));
  fill<<<1, kCount>>>(pooled, 50);  // 32 sectors of device 1
  OK(cudaDeviceSynchronize());
  CHECK(holds(pooled, 50));
  if (count > 1) {
    OK(cudaDeviceDisablePeerAccess(1));
    copy<<<1, kCount>>>(data[0], data[1]);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(cudaMalloc(&data[0], 4) == cudaErrorIllegalAddress);  // the context of device 0 has ended
    OK(cudaSetDevice(1));
    fill<<<1, kCount>>>(data[1], 5);
    OK(cudaDeviceSynchronize());
    CHECK(holds(data[1], 5));
  }
  // A device's reset ends what is its own, and nothing of the others.
  if (count == 1) {
    OK(cudaSetDevice(1));
    OK(cudaDeviceReset());
    CHECK(cudaStreamQuery(streams[1]) == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventQuery(there) == cudaErrorInvalidResourceHandle);
    OK(cudaMemcpyFromSymbol(&device, variable, sizeof device));
    CHECK(device == 0);  // loaded anew
    OK(cudaSetDevice(0));
    OK(cudaStreamQuery(streams[0]));
    OK(cudaEventQuery(here));
    CHECK(holds(data[0], 1000));
    CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
    CHECK(cudaFree(data[1]) == cudaErrorInvalidValue);
  }
  std::puts("ok");
}
