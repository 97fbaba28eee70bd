// Early exits, nested branches, loops whose trip counts differ by lane, break and continue.
#include "check.h"

__host__ __device__ inline int walk(int t) {
  int sum = 0;
  for (int i = 0; i < t % 11; ++i) {
    if (i == 2 && t % 3 == 0) continue;
    if (i > 6 && t % 2) break;
    for (int k = i; k < t % 5; ++k) sum += k * t;
    if (t & 1) {
      sum += t & 2 ? 7 : -3;
    } else if (t & 4) {
      sum ^= i;
    }
  }
  return sum;
}

__global__ void kernel(int* out, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  if (t % 13 == 5) {
    out[t] = -1;
    return;
  }
  int v = walk(t);
  while (v > 100) v -= v / 3;
  out[t] = v;
}

int main() {
  const int n = 777;
  int* d = upload(std::vector<int>(n, 0));
  kernel<<<(n + 127) / 128, 128>>>(d, n);
  const std::vector<int> out = download(d, n);
  for (int t = 0; t < n; ++t) {
    int v = walk(t);
    while (v > 100) v -= v / 3;
    EXPECT(out[t] == (t % 13 == 5 ? -1 : v));
  }
}
