// __managed__ variables: host and kernels see one variable, initial values included, also before the first call of
// CUDA.
#include "check.h"

struct Pair {
  int x;
  double y;
};

__managed__ int counter = 3;
__device__ __managed__ float table[4] = {1, 2, 3, 4};
__managed__ Pair pair;
static __managed__ int* list;
__device__ int only_here = 5;

__global__ void work() {
  atomicAdd(&counter, only_here);
  if (threadIdx.x < 4) table[threadIdx.x] *= 2;
  if (threadIdx.x == 0) pair = {counter < 100, pair.y + 0.5};
  list[threadIdx.x] = threadIdx.x;
}

int main() {
  EXPECT(counter == 3 && table[2] == 3);
  counter = 10;
  pair.y = 2;
  CHECK(cudaMallocManaged(&list, 32 * sizeof(int)));
  work<<<1, 32>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT(counter == 10 + 32 * 5);
  for (int i = 0; i < 4; ++i) EXPECT(table[i] == 2 * (i + 1));
  EXPECT(pair.x == 0 && pair.y == 2.5);
  EXPECT(list[31] == 31);

  int copy = 0;
  CHECK(cudaMemcpyFromSymbol(&copy, counter, sizeof copy));
  EXPECT(copy == counter);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, &counter));
  EXPECT(attributes.type == cudaMemoryTypeManaged);
}
