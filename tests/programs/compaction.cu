// Keeps the odd values, in order within a warp: ballot, popc of the lanes below, one atomic a warp. And votes and
// matches.
#include <algorithm>

#include "check.h"

__global__ void keep_odd(const int* in, int n, int* out, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const bool keep = i < n && in[i] % 2 != 0;
  const unsigned int kept = __ballot_sync(0xffffffffu, keep);
  int base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(kept));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (keep) out[base + __popc(kept & ((1u << lane) - 1))] = in[i];
}

__global__ void votes(unsigned int* out) {
  const int t = threadIdx.x;
  if (t == 0)
    for (int i = 0; i < 8; ++i) out[i] = 0;
  __syncwarp();
  const unsigned int any = __any_sync(~0u, t == 7), all = __all_sync(~0u, t < 32), none = __all_sync(~0u, t < 31);
  const unsigned int same = __match_any_sync(~0u, t / 3);
  if (t == 4) out[0] = any, out[1] = all, out[2] = none, out[3] = same;
  if (t % 2) {
    const unsigned int active = __activemask();
    if (t == 1) out[4] = active & 0x55555555u;  // none of the even lanes
  }
  out[5 + (t >> 5)] = __syncthreads_count(t % 3 == 0);
}

int main() {
  const int n = 3001;
  std::vector<int> in(n), expected;
  for (int i = 0; i < n; ++i) {
    in[i] = i * 7 % 1000;
    if (in[i] % 2) expected.push_back(in[i]);
  }
  int *din = upload(in), *dout = upload(in), *count = upload(std::vector<int>(1, 0));
  keep_odd<<<(n + 255) / 256, 256>>>(din, n, dout, count);
  EXPECT(download(count, 1)[0] == int(expected.size()));
  std::vector<int> got = download(dout, expected.size());
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  EXPECT(got == expected);

  unsigned int* d = upload(std::vector<unsigned int>(8, 9));
  votes<<<1, 32>>>(d);
  const std::vector<unsigned int> v = download(d, 8);
  EXPECT(v[0] == 1 && v[1] == 1 && v[2] == 0 && v[3] == 0x38 && v[4] == 0 && v[5] == 11);
}
