// A local array with indices known only at run time: it lives in local memory.
#include "check.h"

__global__ void insertion_sort(const int* in, int* out, int n) {
  int keys[24];
  const int* mine = in + threadIdx.x * n;
  for (int i = 0; i < n; ++i) {
    int k = i;
    for (; k > 0 && keys[k - 1] > mine[i]; --k) keys[k] = keys[k - 1];
    keys[k] = mine[i];
  }
  for (int i = 0; i < n; ++i) out[threadIdx.x * n + i] = keys[i];
}

int main() {
  const int n = 20, threads = 70;
  std::vector<int> in(n * threads);
  for (size_t i = 0; i < in.size(); ++i) in[i] = int(i * 7919 % 1009);
  int *din = upload(in), *dout = upload(in);
  insertion_sort<<<1, threads>>>(din, dout, n);
  const std::vector<int> out = download(dout, in.size());
  for (int t = 0; t < threads; ++t) {
    long long before = 0, after = 0;
    for (int i = 0; i < n; ++i) {
      before += in[t * n + i], after += out[t * n + i];
      if (i) EXPECT(out[t * n + i - 1] <= out[t * n + i]);
    }
    EXPECT(before == after);
  }
}
