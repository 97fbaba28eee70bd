// Integer and floating-point arithmetic against the host's, bit for bit where IEEE decides.
#include <cmath>
#include <cstring>

#include "check.h"

__global__ void integers(const int* a, const int* b, long long* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const int x = a[i], y = b[i];
  const unsigned int u = x, v = y;
  long long* o = out + 12 * i;
  o[0] = x / y, o[1] = x % y, o[2] = u / v, o[3] = u % v;
  o[4] = (long long)x * y, o[5] = __mulhi(x, y), o[6] = __umulhi(u, v), o[7] = x >> (y & 31);
  o[8] = __popc(u) + 100 * __clz(x) + 10000 * __ffs(x), o[9] = __brev(u), o[10] = max(x, y) - (long long)min(x, y);
  o[11] = ((long long)x << 20) / y;
}

__global__ void reals(const double* a, const double* b, double* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const double x = a[i], y = b[i];
  double* o = out + 8 * i;
  o[0] = __dadd_rn(x, y), o[1] = __dmul_rn(x, y), o[2] = x / y, o[3] = sqrt(fabs(x)), o[4] = fma(x, y, 1.0);
  o[5] = float(x) / float(y), o[6] = sqrtf(fabsf(float(x))), o[7] = floor(x) + 1000 * rint(y);
}

int main() {
  const std::vector<int> a = {7, -7, 1, 0x7fffffff, -2147483647, 123456789, -5, 0},
                         b = {2, 2, -3, 7, 1000, -987, -1, 9};
  const int n = int(a.size());
  int *da = upload(a), *db = upload(b);
  long long* out = upload(std::vector<long long>(12 * n, 0));
  integers<<<1, 32>>>(da, db, out, n);
  const std::vector<long long> r = download(out, 12 * n);
  for (int i = 0; i < n; ++i) {
    const int x = a[i], y = b[i];
    const unsigned int u = x, v = y;
    const long long* o = &r[12 * i];
    EXPECT(o[0] == x / y && o[1] == x % y && o[2] == u / v && o[3] == u % v);
    EXPECT(o[4] == (long long)x * y && o[5] == ((long long)x * y >> 32) &&
           o[6] == (long long)((unsigned long long)u * v >> 32));
    EXPECT(o[7] == x >> (y & 31));
    int bits = 0, lead = 32, first = 0;
    unsigned int reversed = 0;
    for (int k = 0; k < 32; ++k)
      if (u >> k & 1) ++bits, lead = 31 - k, first = first ? first : k + 1, reversed |= 1u << (31 - k);
    EXPECT(o[8] == bits + 100 * lead + 10000 * first && o[9] == (long long)reversed);
    EXPECT(o[10] == (x > y ? (long long)x - y : (long long)y - x) && o[11] == ((long long)x * 1048576) / y);
  }
  const std::vector<double> x = {1.0, -2.5, 3e300, 1e-310, 0.1, 12345.678}, y = {3.0, 0.7, 7e200, 3.3, 0.3, -1e-5};
  double *dx = upload(x), *dy = upload(y), *dr = upload(std::vector<double>(8 * x.size(), 0));
  reals<<<1, 32>>>(dx, dy, dr, int(x.size()));
  const std::vector<double> q = download(dr, 8 * x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double want[8] = {x[i] + y[i],
                            x[i] * y[i],
                            x[i] / y[i],
                            std::sqrt(std::fabs(x[i])),
                            std::fma(x[i], y[i], 1.0),
                            float(x[i]) / float(y[i]),
                            sqrtf(std::fabs(float(x[i]))),
                            std::fma(1000.0, std::rint(y[i]), std::floor(x[i]))};
    for (int k = 0; k < 8; ++k)
      EXPECT(std::memcmp(&want[k], &q[8 * i + k], 8) == 0 || want[k] == q[8 * i + k] ||
             (std::isnan(want[k]) && std::isnan(q[8 * i + k])));
  }
}
