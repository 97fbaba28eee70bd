// A lock taken by every thread, lanes of one warp included: lanes must be able to advance apart.
#include "check.h"

__device__ int lock = 0;

__global__ void add_locked(volatile int* value) {
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      *value = *value + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

__global__ void hand_over(volatile int* flag, int* out) {  // lane 1 waits for lane 0 of its own warp
  if (threadIdx.x == 1) {
    while (*flag == 0) {}
    *out = 5;
  } else if (threadIdx.x == 0) {
    *flag = 1;
  }
}

int main() {
  int* value = upload(std::vector<int>(3, 0));
  add_locked<<<5, 40>>>(value);
  hand_over<<<1, 32>>>(value + 1, value + 2);
  EXPECT((download(value, 3) == std::vector<int>{200, 1, 5}));
}
