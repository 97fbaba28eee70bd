// Prints what the runtime returns for calls during a capture: the mode, the call, its code, the code of the capture's
// end. nvcc -arch=sm_90 capture_codes.cu && ./a.out: part of tests/truth/error_codes.txt.
#include <cstdio>

static cudaStream_t s, other, blocking;
static cudaGraph_t g;

#define DURING(call)                                             \
  for (int mode = 0; mode < 3; ++mode) {                         \
    cudaGetLastError();                                          \
    cudaStreamBeginCapture(s, (cudaStreamCaptureMode)mode);      \
    const int code = (int)(call);                                \
    const int end = (int)cudaStreamEndCapture(s, &g);            \
    std::printf("mode %d %s\t%d\t%d\n", mode, #call, code, end); \
  }

__global__ void nothing() {}
__device__ int variable[8];

int main() {
  cudaFree(0);
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaStreamCreate(&blocking);
  void *p = nullptr, *q = nullptr, *h = nullptr, *out = nullptr;
  cudaMalloc(&p, 1 << 20);
  cudaMallocHost(&h, 4096);
  char host[4096];
  size_t z, z2;
  cudaEvent_t e, e2, e3;
  cudaEventCreate(&e);
  cudaEventCreate(&e2);
  cudaEventRecord(e2, other);
  cudaStreamSynchronize(other);
  cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
  cudaArray_t arr;
  cudaStream_t s3;
  cudaFuncAttributes fa;
  cudaPointerAttributes pa;
  cudaDeviceProp prop;
  cudaPitchedPtr pp;
  float ms;
  int i;
  DURING(cudaMalloc(&out, 64));
  DURING(cudaFree(nullptr));
  cudaMalloc(&q, 64);
  DURING(cudaFree(q));
  DURING(cudaMallocHost(&out, 64));
  DURING(cudaHostAlloc(&out, 64, 0));
  DURING(cudaFreeHost(nullptr));
  DURING(cudaMallocManaged(&out, 64));
  DURING(cudaMallocPitch(&out, &z, 64, 4));
  DURING(cudaMalloc3D(&pp, make_cudaExtent(4, 4, 4)));
  DURING(cudaMallocArray(&arr, &d, 16, 16));
  DURING(cudaHostRegister(host, 64, 0));
  DURING(cudaMallocAsync(&out, 64, other));
  DURING(cudaMallocAsync(&out, 64, s));
  DURING(cudaMemGetInfo(&z, &z2));
  DURING(cudaEventQuery(e));
  DURING(cudaEventQuery(e2));
  DURING(cudaEventSynchronize(e2));
  DURING(cudaEventElapsedTime(&ms, e2, e2));
  DURING(cudaStreamQuery(other));
  DURING(cudaStreamQuery(s));
  DURING(cudaStreamQuery(nullptr));
  DURING(cudaStreamSynchronize(other));
  DURING(cudaStreamSynchronize(nullptr));
  DURING(cudaStreamSynchronize(blocking));
  DURING(cudaDeviceSynchronize());
  DURING(cudaStreamCreate(&s3));
  DURING(cudaStreamCreateWithFlags(&s3, cudaStreamNonBlocking));
  DURING(cudaEventCreate(&e3));
  DURING(cudaFuncGetAttributes(&fa, nothing));
  DURING(cudaPointerGetAttributes(&pa, p));
  DURING(cudaGetDeviceProperties(&prop, 0));
  DURING(cudaMemcpy(p, host, 4, cudaMemcpyHostToDevice));
  DURING(cudaMemcpy(p, h, 4, cudaMemcpyHostToDevice));
  DURING(cudaMemcpyAsync(p, h, 4, cudaMemcpyHostToDevice, other));
  DURING(cudaMemcpyAsync(p, host, 4, cudaMemcpyHostToDevice, s));
  DURING(cudaMemcpyAsync(p, h, 4, cudaMemcpyHostToDevice, nullptr));
  DURING(cudaMemset(p, 0, 4));
  DURING(cudaMemsetAsync(p, 0, 4, other));
  DURING(cudaMemcpyToSymbol(variable, host, 4));
  DURING((nothing<<<1, 1, 0, other>>>(), cudaPeekAtLastError()));
  DURING((nothing<<<1, 1>>>(), cudaPeekAtLastError()));
  DURING((nothing<<<1, 1, 0, blocking>>>(), cudaPeekAtLastError()));
  DURING((nothing<<<1, 1025, 0, s>>>(), cudaPeekAtLastError()));
  DURING(cudaGetSymbolAddress(&out, variable));
  DURING(cudaDeviceSetLimit(cudaLimitStackSize, 1024));
  DURING(cudaEventRecord(e, other));
  DURING(cudaStreamWaitEvent(other, e2));
  DURING(cudaStreamWaitEvent(s, e2));
  DURING(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  DURING(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&i, nothing, 32, 0));
}
