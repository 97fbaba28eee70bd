// Dot product: shuffles in the warp (down, xor, up, idx), one atomic a warp. 64-bit values too.
#include "check.h"

__global__ void dot(const int* a, const int* b, int n, long long* total) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long v = i < n ? (long long)a[i] * b[i] : 0;
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  if (threadIdx.x % 32 == 0) atomicAdd((unsigned long long*)total, (unsigned long long)v);
}

__global__ void shuffles(int* out) {
  const int lane = threadIdx.x;
  out[lane] = __shfl_sync(~0u, lane * 10, 5);
  out[32 + lane] = __shfl_up_sync(~0u, lane, 3);
  out[64 + lane] = __shfl_xor_sync(~0u, lane, 9);
  out[96 + lane] = __shfl_down_sync(~0u, lane, 2, 8);
  out[128 + lane] = int(__shfl_sync(~0u, double(lane) / 4, lane + 1, 16) * 4);
  out[160 + lane] = int(__shfl_up_sync(~0u, float(lane), 1, 4));
}

int main() {
  const int n = 5000;
  std::vector<int> a(n), b(n);
  long long expected = 0;
  for (int i = 0; i < n; ++i) a[i] = i * 1000 - 7, b[i] = 100000 - i, expected += (long long)a[i] * b[i];
  int *da = upload(a), *db = upload(b);
  long long* total = upload(std::vector<long long>(1, 0));
  dot<<<(n + 127) / 128, 128>>>(da, db, n, total);
  EXPECT(download(total, 1)[0] == expected);

  int* out = upload(std::vector<int>(192, 0));
  shuffles<<<1, 32>>>(out);
  const std::vector<int> s = download(out, 192);
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT(s[lane] == 50);
    EXPECT(s[32 + lane] == (lane >= 3 ? lane - 3 : lane));
    EXPECT(s[64 + lane] == (lane ^ 9));
    EXPECT(s[96 + lane] == (lane % 8 + 2 < 8 ? lane + 2 : lane));
    EXPECT(s[128 + lane] == lane / 16 * 16 + (lane + 1) % 16);
    EXPECT(s[160 + lane] == (lane % 4 ? lane - 1 : lane));
  }
}
