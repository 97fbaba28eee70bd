// Its assertion fails, as it expects.
#include <cassert>
#include <cstdio>

__global__ void refuse() { assert(threadIdx.x < 8); }

int main() {
  refuse<<<1, 32>>>();
  return cudaDeviceSynchronize() == cudaErrorAssert ? 0 : 1;
}
