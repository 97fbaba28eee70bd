// Bitonic sort of one block's 1024 keys in shared memory.
#include <algorithm>

#include "check.h"

__global__ void sort(unsigned int* keys) {
  __shared__ unsigned int s[1024];
  const unsigned int t = threadIdx.x;
  s[t] = keys[t];
  __syncthreads();
  for (unsigned int size = 2; size <= 1024; size *= 2)
    for (unsigned int stride = size / 2; stride > 0; stride /= 2) {
      const unsigned int other = t ^ stride;
      if (other > t) {
        const bool up = (t & size) == 0;
        if ((s[t] > s[other]) == up) {
          const unsigned int swap = s[t];
          s[t] = s[other];
          s[other] = swap;
        }
      }
      __syncthreads();
    }
  keys[t] = s[t];
}

int main() {
  std::vector<unsigned int> keys(1024);
  unsigned int seed = 5;
  for (auto& k : keys) k = seed = seed * 1664525 + 1013904223;
  unsigned int* d = upload(keys);
  sort<<<1, 1024>>>(d);
  std::sort(keys.begin(), keys.end());
  EXPECT(download(d, 1024) == keys);
}
