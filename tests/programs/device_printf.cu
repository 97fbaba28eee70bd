// printf in kernels: one thread, so the order is known. The expected text is this program's own output below.
// expected-output: thread 3 of block 1: -7 4000000000 1.500 x text 9007199254740993 0x2a 100%
// expected-output: second line
#include "check.h"

__global__ void speak() {
  if (blockIdx.x == 1 && threadIdx.x == 3) {
    printf("thread %d of block %d: %d %u %.3f %c %s %lld 0x%x %d%%\n", threadIdx.x, blockIdx.x, -7, 4000000000u, 1.5,
           'x', "text", 9007199254740993ll, 42, 100);
    printf("second line\n");
  }
}

int main() {
  speak<<<2, 32>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}
