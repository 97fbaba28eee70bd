// The heap of malloc in kernels and the stack of recursive functions are as large as the program asks for.
#include "check.h"

__global__ void take(size_t bytes, int* got) {
  volatile char* p = static_cast<char*>(malloc(bytes));  // volatile: or the compiler does without the memory
  *got = p != nullptr;
  if (p == nullptr) return;
  p[bytes - 1] = 1;
  *got += p[bytes - 1];
  free(const_cast<char*>(p));
}

// Each call keeps 64 bytes of its own.
__device__ int deep(int n) {
  volatile int own[16];
  own[n % 16] = n;
  return n == 0 ? 0 : deep(n - 1) + (own[n % 16] == n);
}
__global__ void descend(int n, int* out) { out[threadIdx.x] = deep(n); }

int main() {
  int* got = upload(std::vector<int>(32, 0));
  size_t bytes = 0;
  CHECK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
  EXPECT(bytes == 8 << 20);
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  take<<<1, 1>>>(40 << 20, got);
  EXPECT(download(got, 1)[0] == 2);
  take<<<1, 1>>>(80 << 20, got);
  EXPECT(download(got, 1)[0] == 0);
  EXPECT(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 128 << 20) == cudaErrorInvalidValue);  // it is in use
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);

  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 128 << 10));
  CHECK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  EXPECT(bytes == 128 << 10);
  descend<<<1, 32>>>(500, got);
  for (const int calls : download(got, 32)) EXPECT(calls == 500);
}
