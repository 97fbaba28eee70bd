// A product of a tutorial of CuTe's against the host's, which adds in f64. Numbers are quarters of small integers,
// whose products and sums are exact in f32.
#pragma once

#include <cmath>
#include <cstdio>
#include <vector>

// run(a, its pitch, b, its pitch, c, its pitch): c = a b, m x n x k. N: a lies by columns; b: by rows. T: the other
// way.
template <class T, class C, class Scale, class Gemm>
int verify(Gemm run, int m, int n, int k, char ta, char tb, double tolerance) {
  std::vector<T> a(size_t(m) * k), b(size_t(n) * k);
  std::vector<C> c(size_t(m) * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = T(float(int(i * 7 % 13) - 6) * 0.25f);
  for (size_t i = 0; i < b.size(); ++i) b[i] = T(float(int(i * 5 % 11) - 5) * 0.25f);
  for (size_t i = 0; i < c.size(); ++i) c[i] = C(float(int(i % 5) - 2));
  T *da, *db;
  C* dc;
  cudaMalloc(&da, a.size() * sizeof(T)), cudaMalloc(&db, b.size() * sizeof(T)), cudaMalloc(&dc, c.size() * sizeof(C));
  cudaMemcpy(da, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(dc, c.data(), c.size() * sizeof(C), cudaMemcpyHostToDevice);
  const int lda = ta == 'N' ? m : k, ldb = tb == 'N' ? k : n;
  run(da, lda, db, ldb, dc, m);
  const cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) return std::printf("error %s\n", cudaGetErrorString(e)), 1;
  cudaMemcpy(c.data(), dc, c.size() * sizeof(C), cudaMemcpyDeviceToHost);
  long bad = 0;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double s = 0;
      for (int l = 0; l < k; ++l)
        s += double(float(ta == 'N' ? a[i + size_t(l) * lda] : a[l + size_t(i) * lda])) *
             double(float(tb == 'N' ? b[l + size_t(j) * ldb] : b[j + size_t(l) * ldb]));
      const double got = double(float(c[i + size_t(j) * m]));
      if (!(std::fabs(got - s) <= tolerance * (1 + std::fabs(s))) && bad++ < 3)
        std::printf("(%d,%d) %g, not %g\n", i, j, got, s);
    }
  std::printf("%c%c %d x %d x %d: %ld of %ld wrong\n", ta, tb, m, n, k, bad, long(m) * n);
  return bad != 0;
}
