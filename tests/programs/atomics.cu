// Every atomic operation and type, in global and shared memory, under contention.
#include "check.h"

__global__ void kernel(int* i, unsigned int* u, unsigned long long* l, float* f, double* d) {
  __shared__ int s;
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd(&i[0], t), atomicSub(&i[1], 1), atomicMin(&i[2], 50 - t), atomicMax(&i[3], t), atomicExch(&i[4], t);
  atomicAnd(&u[0], ~(1u << (t % 32))), atomicOr(&u[1], 1u << (t % 32)), atomicXor(&u[2], t), atomicInc(&u[3], 9),
      atomicDec(&u[4], 9);
  atomicMin(&u[5], 4000000000u - t), atomicMax(&u[6], 4000000000u + t);
  atomicAdd(&l[0], 1ull << 33), atomicMax(&l[1], 1ull * t << 32), atomicExch(&l[2], 5ull);
  atomicAdd(f, 0.5f), atomicAdd(d, 0.25);
  int seen = i[5];  // maximum by compare-and-swap
  while (seen < t * 3) {
    const int before = atomicCAS(&i[5], seen, t * 3);
    if (before == seen) break;
    seen = before;
  }
  unsigned long long old = l[3], assumed;
  do {
    assumed = old;
    old = atomicCAS(&l[3], assumed, assumed + 2);
  } while (old != assumed);
  atomicAdd(&s, 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&i[6], s);
  atomicAdd_block(&i[7], 1), atomicAdd_system(&i[8], 1);
}

int main() {
  int* i = upload(std::vector<int>(9, 0));
  unsigned int* u = upload(std::vector<unsigned int>{~0u, 0, 0, 0, 0, ~0u, 0});
  unsigned long long* l = upload(std::vector<unsigned long long>(4, 0));
  float* f = upload(std::vector<float>(1, 0));
  double* d = upload(std::vector<double>(1, 0));
  const int n = 4 * 96;
  kernel<<<4, 96>>>(i, u, l, f, d);
  const std::vector<int> vi = download(i, 9);
  EXPECT(vi[0] == n * (n - 1) / 2 && vi[1] == -n && vi[2] == 50 - (n - 1) && vi[3] == n - 1 && vi[4] >= 0 && vi[4] < n);
  EXPECT(vi[5] == 3 * (n - 1) && vi[6] == n && vi[7] == n && vi[8] == n);
  unsigned int x = 0;
  for (int t = 0; t < n; ++t) x ^= t;
  const std::vector<unsigned int> vu = download(u, 7);
  EXPECT(vu[0] == 0 && vu[1] == ~0u && vu[2] == x && vu[3] == n % 10 && vu[4] == (10 - n % 10) % 10);
  EXPECT(vu[5] == 4000000000u - (n - 1) && vu[6] == 4000000000u + (n - 1));
  const std::vector<unsigned long long> vl = download(l, 4);
  EXPECT(vl[0] == (1ull << 33) * n && vl[1] == (unsigned long long)(n - 1) << 32 && vl[2] == 5 && vl[3] == 2ull * n);
  EXPECT(download(f, 1)[0] == 0.5f * n && download(d, 1)[0] == 0.25 * n);
}
